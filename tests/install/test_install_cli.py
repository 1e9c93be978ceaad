"""`timeline install`, `uninstall`, `run-hook` and `completions` as a person calls them."""

import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import Run, runner
from timeline.cli.exit import ExitCode

FAKE = Path(__file__).with_name("fake_codex.py")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Give a function that runs the program as its entry point does."""
    return runner(monkeypatch)


@pytest.fixture
def codex_home(home: Path) -> Path:
    """Codex's home with a configuration of its user."""
    folder = home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text('model = "m" # mine\n', encoding="utf-8")
    return folder


def test_a_dry_run_shows_everything_and_changes_nothing(run: Run, codex_home: Path, tmp_path: Path) -> None:
    """The diff of each file is shown, and neither the host's files nor ours are touched."""
    code, out, _ = run("install", "codex", "--dry-run")
    assert code == ExitCode.DONE
    assert "+[mcp_servers.timeline]" in out
    assert f"+++ {codex_home / 'hooks.json'}" in out
    assert ' model = "m" # mine' in out
    assert "status: planned" in out
    assert [path.name for path in codex_home.iterdir()] == ["config.toml"]
    assert not (tmp_path / "timeline").exists()


def test_install_and_uninstall_are_data_too(run: Run, codex_home: Path) -> None:
    """Every answer is one document; a second run says that nothing changed."""
    code, out, _ = run("install", "codex", "--yes", "--json")
    answer = json.loads(out)
    assert (code, answer["status"], answer["scope"]) == (0, "installed", "user")
    assert [file["change"] for file in answer["files"]] == ["change", "create"]
    assert any("/hooks" in note for note in answer["notes"])
    assert json.loads(run("install", "codex", "--yes", "--json")[1])["status"] == "unchanged"
    removed = json.loads(run("uninstall", "codex", "--yes", "--json")[1])
    assert removed["status"] == "uninstalled"
    assert [file["change"] for file in removed["files"]] == ["restore", "remove"]
    assert (codex_home / "config.toml").read_text(encoding="utf-8") == 'model = "m" # mine\n'
    assert json.loads(run("uninstall", "codex", "--yes", "--json")[1])["status"] == "unchanged"


def test_nothing_is_changed_unasked(run: Run, codex_home: Path) -> None:
    """Without a terminal and without --yes the command refuses, and says what to add."""
    code, _, err = run("install", "codex")
    assert code == ExitCode.USAGE
    assert "install-unconfirmed" in err
    assert "--yes" in err
    assert [path.name for path in codex_home.iterdir()] == ["config.toml"]


@pytest.mark.parametrize(
    ("answer", "status"), [(b"y\n", "installed"), (b"n\n", "declined"), (b"\n", "declined")]
)
def test_a_person_is_asked_after_the_changes_were_shown(
    run: Run, codex_home: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes, status: str
) -> None:
    """Only a yes changes anything."""
    monkeypatch.setattr("timeline.cli.install.has_terminal", lambda: True)
    code, out, _ = run("install", "codex", given=answer)
    assert code == ExitCode.DONE
    assert out.index("+[mcp_servers.timeline]") < out.index("Make these changes?")
    assert f"status: {status}" in out
    assert (codex_home / "hooks.json").exists() is (status == "installed")


@pytest.mark.parametrize("host", ["kimi", "king"])
def test_a_host_without_hooks_for_a_project_is_refused(run: Run, host: str) -> None:
    """A server without hooks would refuse every recall."""
    code, _, err = run("install", host, "--project", "--yes")
    assert code == ExitCode.USAGE
    assert "install-scope-unsupported" in err


def test_a_project_gets_its_own_files(run: Run, tmp_path: Path, home: Path) -> None:
    """With --project the files of the project's root change, and none of the user."""
    project = tmp_path / "p"
    (project / ".git").mkdir(parents=True)
    (project / "sub").mkdir()
    assert run("install", "claude", "--project", "--root", str(project / "sub"), "--yes")[0] == ExitCode.DONE
    assert (project / ".mcp.json").is_file()
    assert (project / ".claude" / "settings.json").is_file()
    assert list(home.iterdir()) == []
    assert run("uninstall", "claude", "--project", "--root", str(project), "--yes")[0] == ExitCode.DONE
    assert [path.name for path in project.iterdir()] != []
    assert sorted(path.name for path in project.iterdir()) == [".git", "sub"]


@pytest.mark.parametrize(
    ("host", "variable", "names"),
    [
        ("codex", "CODEX_HOME", {"config.toml", "hooks.json"}),
        ("claude", "CLAUDE_CONFIG_DIR", {".claude.json", "settings.json"}),
        ("kimi", "KIMI_CODE_HOME", {"config.toml", "mcp.json"}),
        ("king", "BLUN_HOME", {"config.toml", "mcp.json"}),
    ],
)
def test_a_host_that_was_moved_is_found(
    run: Run,
    tmp_path: Path,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    host: str,
    variable: str,
    names: set[str],
) -> None:
    """The host's own variable says where its files are."""
    monkeypatch.setenv(variable, str(tmp_path / "moved"))
    assert run("install", host, "--yes")[0] == ExitCode.DONE
    assert {path.name for path in (tmp_path / "moved").iterdir()} == names
    assert list(home.iterdir()) == []


def test_the_installed_hook_runs_the_real_interpreter(run: Run, codex_home: Path) -> None:
    """The command names files that are there, and says where the owner's folders lie."""
    assert run("install", "codex", "--yes")[0] == ExitCode.DONE
    hooks = json.loads((codex_home / "hooks.json").read_text(encoding="utf-8"))
    command = hooks["hooks"]["SessionStart"][0]["hooks"][0]["command"]
    words = shlex.split(command)
    variables = dict(word.split("=", 1) for word in words if word.startswith(("TIMELINE_", "XDG_")))
    assert variables["TIMELINE_STATE_DIR"] == os.environ["TIMELINE_STATE_DIR"]
    python, *rest = words[len(variables) :]
    assert Path(python).is_file()
    assert rest[:4] == ["-I", "-S", "-E", "-B"]
    assert Path(rest[4]).is_file()
    assert rest[5:] == ["codex", os.environ["TIMELINE_RUNTIME_DIR"]]
    assert "shims" not in python


def test_a_refused_file_is_named_with_the_way_out(run: Run, codex_home: Path) -> None:
    """The error names file, place and rule, and nothing that stands in the file."""
    (codex_home / "hooks.json").write_text('{\n  "secret": 1, // mine\n}', encoding="utf-8")
    code, _, err = run("install", "codex", "--yes")
    assert code == ExitCode.FAILED
    assert "hooks.json: line 2 column" in err
    assert "add this by hand" in err
    assert "secret" not in err
    assert b"timeline" not in (codex_home / "config.toml").read_bytes()


def test_trust_goes_through_the_host(
    run: Run, codex_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --trust the host's app-server is told, and the uninstall takes that out too."""
    fake = tmp_path / "codex"
    fake.write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(FAKE))} "$@"\n', encoding="utf-8"
    )
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("FAKE_CODEX_PLAN", "{}")
    monkeypatch.setenv("CODEX_HOME", str(codex_home))
    answer = json.loads(run("install", "codex", "--yes", "--json", "--trust", "--codex", str(fake))[1])
    assert answer["trustedHooks"] == 6
    assert not any("/hooks" in note for note in answer["notes"])
    assert "trusted_hash" in (codex_home / "config.toml").read_text(encoding="utf-8")
    assert json.loads(run("install", "codex", "--yes", "--json")[1])["status"] == "unchanged"
    assert run("uninstall", "codex", "--yes")[0] == ExitCode.DONE
    assert (codex_home / "config.toml").read_text(encoding="utf-8") == 'model = "m" # mine\n'
    assert run("install", "kimi", "--yes", "--trust")[0] == ExitCode.USAGE


def test_a_plugins_hook_becomes_the_hook(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """`timeline run-hook` is replaced by the interpreter with the file, so that its process is the hook's."""
    seen: list[tuple[str, list[str]]] = []
    monkeypatch.setattr("os.execv", lambda program, words: seen.append((program, words)))
    assert run("run-hook", "codex")[0] == ExitCode.DONE
    ((program, words),) = seen
    assert program == words[0]
    assert Path(words[5]).is_file()
    assert words[6:] == ["codex", os.environ["TIMELINE_RUNTIME_DIR"]]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_are_printed_for_each_shell(run: Run, shell: str) -> None:
    """The script asks the program by the variable that the program hears."""
    code, out, _ = run("completions", shell)
    assert code == ExitCode.DONE
    assert "_TIMELINE_COMPLETE" in out


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_completions_work_in_bash(run: Run, tmp_path: Path) -> None:
    """A shell that has read the script completes a command and its choices."""
    (tmp_path / "script").write_text(run("completions", "bash")[1], encoding="utf-8")
    program = tmp_path / "bin" / "timeline"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c "from timeline.entry import main; main()" "$@"\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    ask = (
        f"source {shlex.quote(str(tmp_path / 'script'))}\n"
        "typed() { COMPREPLY=(); COMP_WORDS=($@); COMP_CWORD=$(($# - 1)); _timeline_completion timeline; }\n"
        "typed timeline uninst; echo ${COMPREPLY[@]}\n"
        "typed timeline install k; echo ${COMPREPLY[@]}\n"
    )
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "--norc", "-c", ask],
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout.split("\n")[:2] == ["uninstall", "kimi king"]
