"""Install, then uninstall: every file has the bytes, the mode and the links that it had."""

import os
import stat
from pathlib import Path

import pytest

from tests.install.documents import MOVED, PROGRAM, setup_of, texts_of
from timeline.install.errors import (
    HostFileError,
    HostFileReadOnlyError,
    HostFileSyntaxError,
    HostNameTakenError,
)
from timeline.install.operation import Act, Setup, install, plan_install, plan_uninstall, uninstall
from timeline.install.places import InstallScope

CASES = [
    (host, scope, number, name)
    for host, scope in (
        ("codex", InstallScope.USER),
        ("codex", InstallScope.PROJECT),
        ("claude", InstallScope.USER),
        ("claude", InstallScope.PROJECT),
        ("kimi", InstallScope.USER),
        ("king", InstallScope.USER),
    )
    for number, file in enumerate(setup_of(Path("/x"), host, scope=scope).files)
    for name in texts_of(host, file.path.name)
]


def snapshot(folder: Path) -> dict[str, tuple[int, bytes | str | None]]:
    """Everything below a folder: mode, and bytes or link."""
    found: dict[str, tuple[int, bytes | str | None]] = {}
    for path in sorted(folder.rglob("*")):
        mode = stat.S_IMODE(path.lstat().st_mode)
        content = str(path.readlink()) if path.is_symlink() else None if path.is_dir() else path.read_bytes()
        found[str(path.relative_to(folder))] = (mode, content)
    return found


def write(setup: Setup, number: int, content: bytes, mode: int = 0o644) -> Path:
    """One file of a host as it stood before."""
    path = setup.files[number].path
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
    path.write_bytes(content)
    path.chmod(mode)
    return path


def put_in(setup: Setup) -> None:
    """Install without asking."""
    install(setup, plan_install(setup))


def take_out(setup: Setup) -> None:
    """Uninstall without asking."""
    uninstall(setup, plan_uninstall(setup))


@pytest.mark.parametrize(("host", "scope", "number", "name"), CASES)
def test_an_uninstall_gives_back_every_byte(
    place: Path, host: str, scope: InstallScope, number: int, name: str
) -> None:
    """However a file is written, it is afterwards as it was, and a second installation changes nothing."""
    setup = setup_of(place, host, scope=scope)
    content = texts_of(host, setup.files[number].path.name)[name]
    path = write(setup, number, content, 0o640)
    before = snapshot(place)
    put_in(setup)
    assert path.read_bytes() != content
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    installed = snapshot(place)
    assert [change.act for change in plan_install(setup)] == [Act.NOTHING] * 2
    put_in(setup)
    assert snapshot(place) == installed
    take_out(setup)
    after = snapshot(place)
    assert after.pop("private")[0] == 0o700
    assert after == before


@pytest.mark.parametrize(("host", "scope", "number", "name"), CASES)
def test_a_later_edit_of_the_user_stays(
    place: Path, host: str, scope: InstallScope, number: int, name: str
) -> None:
    """Without its record, only what is ours is spliced out, and all other bytes stay."""
    setup = setup_of(place, host, scope=scope)
    content = texts_of(host, setup.files[number].path.name)[name]
    path = write(setup, number, content)
    put_in(setup)
    for record in setup.records.folder.iterdir():
        record.unlink()
    take_out(setup)
    left = path.read_bytes()
    assert b"/timeline/" not in left
    if name in (
        "empty",
        "space",
        "bare",
        "bare line",
        "tabs",
        "crlf",
    ):  # what was empty is not told from ours
        return
    if path.suffix == ".toml" and not content.endswith(b"\n"):
        content += b"\n"
    assert left.split() == content.split() if name.startswith("inline") else left == content


@pytest.mark.parametrize("host", ["codex", "claude", "kimi", "king"])
def test_what_was_not_there_is_gone_again(place: Path, host: str) -> None:
    """Files and folders that were made are private, and are removed while nobody else uses them."""
    setup = setup_of(place, host)
    before = snapshot(place)
    put_in(setup)
    for file in setup.files:
        assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
        if file.path.parent != place / "home":
            assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700
    take_out(setup)
    after = snapshot(place)
    del after["private"]
    assert after == before


def test_a_folder_that_others_use_by_then_stays(place: Path) -> None:
    """A host that has put a file beside ours keeps its folder."""
    setup = setup_of(place, "codex")
    put_in(setup)
    (place / "home" / ".codex" / "auth.json").write_text("{}", encoding="utf-8")
    take_out(setup)
    assert [path.name for path in (place / "home" / ".codex").iterdir()] == ["auth.json"]


def test_a_link_stays_a_link(place: Path) -> None:
    """The file behind it changes, and comes back; a link to nowhere leads nowhere again."""
    setup = setup_of(place, "codex")
    (place / "dotfiles").mkdir()
    (place / "dotfiles" / "codex.toml").write_bytes(b"a = 1\n")
    folder = place / "home" / ".codex"
    folder.mkdir()
    (folder / "config.toml").symlink_to("../../dotfiles/codex.toml")
    (folder / "hooks.json").symlink_to(place / "dotfiles" / "none" / "hooks.json")
    before = snapshot(place)
    put_in(setup)
    assert (folder / "config.toml").is_symlink()
    assert b"mcp_servers.timeline" in (place / "dotfiles" / "codex.toml").read_bytes()
    assert (place / "dotfiles" / "none" / "hooks.json").is_file()
    take_out(setup)
    after = snapshot(place)
    del after["private"]
    assert after == before


@pytest.mark.parametrize(
    ("spoil", "error"),
    [
        (lambda path: path.chmod(0o444), HostFileReadOnlyError),
        (lambda path: path.parent.chmod(0o555), HostFileReadOnlyError),
        (lambda path: (path.unlink(), path.mkdir()), HostFileError),
        (lambda path: (path.unlink(), path.symlink_to(path.name)), HostFileError),
        (lambda path: (path.unlink(), os.mkfifo(path)), HostFileError),
        (lambda path: path.with_name("second").hardlink_to(path), HostFileError),
        (lambda path: path.write_bytes(b"\xff\xfe{}"), HostFileSyntaxError),
        (lambda path: path.write_bytes(b'{\n  // mine\n  "a": 1\n}'), HostFileSyntaxError),
        (lambda path: path.write_bytes(b'{"a": 1,}'), HostFileSyntaxError),
        (lambda path: path.write_bytes(b'{"a": 1, "a": 2}'), HostFileSyntaxError),
        (lambda path: path.write_bytes(b'{"a": NaN}'), HostFileSyntaxError),
        (lambda path: path.write_bytes(b"[]"), HostFileSyntaxError),
        (lambda path: path.write_bytes(b'{} {"a": 1}'), HostFileSyntaxError),
        (lambda path: path.write_bytes(b'{"hooks": []}'), HostFileSyntaxError),
        (lambda path: path.write_bytes(b'{"hooks": {"PreToolUse": {}}}'), HostFileSyntaxError),
        (lambda path: path.write_bytes(b'{"hooks": {"PreToolUse": null}}'), HostFileSyntaxError),
        (lambda path: path.write_bytes(b'{"a": ' + b"[" * 100_000), HostFileSyntaxError),
    ],
)
def test_what_cannot_be_changed_safely_is_refused(place: Path, spoil: object, error: type[Exception]) -> None:
    """Nothing at all changes where one of the files refuses."""
    setup = setup_of(place, "codex")
    path = write(setup, 1, b'{"a": 1}')
    assert callable(spoil)
    spoil(path)
    folder_mode = stat.S_IMODE(path.parent.stat().st_mode)
    before = snapshot(place) if not stat.S_ISFIFO(path.lstat().st_mode) else {}
    try:
        with pytest.raises(error) as caught:
            plan_install(setup)
        assert str(path) in str(caught.value) or str(path.parent) in str(caught.value)
        if before:
            assert snapshot(place) == before
    finally:
        path.parent.chmod(folder_mode | 0o700)


def test_a_refusal_says_what_to_add_by_hand(place: Path) -> None:
    """Who writes comments into JSON gets the entries to paste."""
    setup = setup_of(place, "codex")
    write(setup, 1, b"{ // mine\n}")
    with pytest.raises(HostFileSyntaxError) as caught:
        plan_install(setup)
    assert "hooks.py" in caught.value.hint
    assert "mine" not in caught.value.hint + str(caught.value)


@pytest.mark.parametrize(
    ("host", "number", "content"),
    [
        ("codex", 0, b'[mcp_servers.timeline]\ncommand = "other"\n'),
        ("codex", 0, b'[mcp_servers.timeline]\nurl = "u"\n'),
        ("codex", 0, b'mcp_servers = { timeline = { command = "x", args = [] } }\n'),
        ("claude", 0, b'{"mcpServers": {"timeline": {"command": "other", "args": ["-I"]}}}'),
        ("kimi", 0, b'{"mcpServers": {"timeline": "x"}}'),
    ],
)
def test_a_foreign_server_of_our_name_is_left_alone(
    place: Path, host: str, number: int, content: bytes
) -> None:
    """Installing refuses, and uninstalling takes out nothing."""
    setup = setup_of(place, host)
    path = write(setup, number, content)
    with pytest.raises(HostNameTakenError):
        plan_install(setup)
    take_out(setup)
    assert path.read_bytes() == content


@pytest.mark.parametrize("host", ["codex", "claude", "kimi"])
@pytest.mark.parametrize("touched", [False, True])
def test_an_update_replaces_our_part_alone(place: Path, host: str, *, touched: bool) -> None:
    """A program that has moved is called at its new place, and the earlier bytes still come back."""
    old, new = setup_of(place, host), setup_of(place, host, program=MOVED)
    contents = {}
    for number, file in enumerate(old.files):
        name = "two spaces" if file.path.suffix == ".json" else "plain"
        contents[file.path] = texts_of(host, file.path.name)[name]
        write(old, number, contents[file.path])
    put_in(old)
    for file in old.files if touched else ():
        content = file.path.read_bytes()
        added = (b'{"mine": 1,\n', b"{\n") if file.path.suffix == ".json" else (b"mine = 1\n", b"")
        contents[file.path] = added[0] + contents[file.path].removeprefix(added[1])
        file.path.write_bytes(added[0] + content.removeprefix(added[1]))
    put_in(new)
    for file in new.files:
        assert PROGRAM.python.encode() not in file.path.read_bytes()
        assert MOVED.python.encode() in file.path.read_bytes()
    take_out(new)
    assert {path: path.read_bytes() for path in contents} == contents


def test_the_users_changes_of_our_entries_stay(place: Path) -> None:
    """A timeout that somebody has raised, and what the host notes about our server, is no reason to write."""
    setup = setup_of(place, "codex")
    put_in(setup)
    config, hooks = (file.path for file in setup.files)
    hooks.write_text(
        hooks.read_text(encoding="utf-8").replace('"timeout": 3', '"timeout": 9'), encoding="utf-8"
    )
    noted = '\n[mcp_servers.timeline.tools.x]\napproval_mode = "approve"\n'
    config.write_text(config.read_text(encoding="utf-8") + noted, encoding="utf-8")
    assert [change.act for change in plan_install(setup)] == [Act.NOTHING] * 2
    take_out(setup)
    assert not config.exists()
    assert not hooks.exists()


def test_a_hook_of_others_in_our_group_stays(place: Path) -> None:
    """From a group with a second hook only ours goes."""
    setup = setup_of(place, "claude")
    put_in(setup)
    path = setup.files[1].path
    text = path.read_text(encoding="utf-8")
    entry = '{\n            "type": "command",'
    path.write_text(
        text.replace(entry, f'{{"type": "command", "command": "mine"}}, {entry}', 1), encoding="utf-8"
    )
    take_out(setup)
    left = path.read_text(encoding="utf-8")
    assert "mine" in left
    assert "hooks.py" not in left


def test_an_event_that_is_not_heard_any_more_is_left(place: Path) -> None:
    """An entry of ours at another event goes with the next installation."""
    setup = setup_of(place, "codex")
    command = setup.files[1].form.commands(setup.files[1].form.add(""))[0]
    escaped = command.replace("\\", "\\\\").replace('"', '\\"')
    hook = f'{{"hooks": [{{"type": "command", "command": "{escaped}"}}]}}'
    path = write(setup, 1, f'{{"hooks": {{"Gone": [{hook}], "PreToolUse": [{hook}, {hook}]}}}}'.encode())
    put_in(setup)
    left = path.read_text(encoding="utf-8")
    assert "Gone" not in left
    assert left.count("hooks.py") == len(setup.files[1].form.commands(left)) == 6


def test_the_order_of_other_hooks_stays(place: Path) -> None:
    """Codex names a trusted hook by its place in the list: ours comes last, and is replaced where it stands."""
    setup = setup_of(place, "codex")
    path = write(setup, 1, texts_of("codex", "hooks.json")["same event"])
    put_in(setup)
    text = path.read_text(encoding="utf-8")
    late = text.replace("notify-send done", "first", 1)
    path.write_text(late, encoding="utf-8")
    put_in(setup_of(place, "codex", program=MOVED))
    commands = [line for line in path.read_text(encoding="utf-8").split("\n") if '"command": "' in line]
    assert ["first" in commands[0], "notify" in commands[1], "hooks.py" in commands[2]] == [True] * 3


def test_a_copy_is_kept_of_what_holds_no_prompts(place: Path) -> None:
    """The owner finds the earlier bytes beside the record; Claude's state, which holds prompts, is never copied."""
    setup = setup_of(place, "claude")
    write(setup, 0, b'{"projects": {"/p": {"history": ["my secret prompt"]}}}')
    write(setup, 1, b'{"model": "m"}')
    put_in(setup)
    kept = {path.name: path for path in setup.records.folder.iterdir()}
    copies = [path for name, path in kept.items() if name.endswith(".before")]
    assert [path.read_bytes() for path in copies] == [b'{"model": "m"}']
    for path in kept.values():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert b"secret" not in path.read_bytes()
    take_out(setup)
    assert not setup.records.folder.exists()
