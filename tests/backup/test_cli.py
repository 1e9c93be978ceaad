"""``timeline backup`` and ``timeline restore`` as a person and a program see them."""

import json
from pathlib import Path

import pytest

from tests.backup.places import Backed, stands_in
from tests.programs import Run, runner, use
from tests.simulators.anchored import Anchored
from tests.simulators.worlds import World
from tests.timeline.cases import Case


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Give a function that runs `timeline` on a world: exit code, standard output, standard error."""
    run = runner(monkeypatch)

    def call(world: World, *arguments: object) -> tuple[int, str, str]:
        use(world, monkeypatch)
        return run(*map(str, arguments))

    return call


def test_a_backup_says_what_it_holds(run: Run, case: Case, tmp_path: Path) -> None:
    """For a person, with a word about the keys; and as data."""
    code, out, _ = run(case.world, "backup", tmp_path / "b.tar")
    assert code == 0
    assert out.split("\n")[0].startswith("backed up 4 leaves and 1 sidecars: ")
    assert "whoever has the file can consent in your name" in out
    code, out, _ = run(case.world, "backup", tmp_path / "c.tar", "--without-keys", "--json")
    answer = json.loads(out)
    assert (code, answer["status"], answer["size"], answer["keys"]) == (0, "backed-up", 4, False)
    assert answer["file"] == str(tmp_path / "c.tar")
    assert answer["authority"] == "context-only"


def test_a_relative_name_is_of_the_working_folder(
    run: Run, case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ways."""
    monkeypatch.chdir(tmp_path)
    assert run(case.world, "backup", "b.tar")[0] == 0
    assert (tmp_path / "b.tar").is_file()
    code, _, err = run(case.world, "backup", "b.tar")
    assert (code, "[backup-file-unusable]" in err) == (1, True)


def test_a_refusal_says_what_to_do(run: Run, backed: Backed, tmp_path: Path) -> None:
    """Nothing shows that it is the newest: the ways out are named, and the exit code is 1."""
    world = backed.place(tmp_path / "place")
    code, out, err = run(world, "restore", backed.file)
    assert (code, out) == (1, "")
    assert "[backup-unverified]" in err
    for way in ("--against FILE", "--unverified"):
        assert way in err
    code, out, _ = run(world, "restore", backed.file, "--unverified")
    assert code == 0
    assert "declared by the owner; nothing shows that it is the newest state" in out
    assert "leaf 4 says so" in out
    assert run(world, "verify", "--deep")[0] == 0
    code, _, err = run(world, "restore", backed.file, "--unverified")
    assert (code, "[state-exists]" in err) == (1, True)


def test_an_older_backup_is_offered_as_a_fork(run: Run, anchored: Anchored, tmp_path: Path) -> None:
    """Recognised, with the exit code 1 and the way out; the fork says what it is, in every command."""
    anchored.put_back("first", "state", "trust", "config", "witness")
    with anchored.served():
        assert run(anchored.world, "backup", tmp_path / "b.tar")[0] == 0
    anchored.put_back("second", "witness")
    world = World(tmp_path / "place", anchored.world.home, anchored.world.clock)
    with anchored.served():
        code, out, err = run(world, "restore", tmp_path / "b.tar", "--unverified")
        assert (code, out) == (1, "")
        assert "[backup-is-older]" in err
        assert "timeline restore FILE --as-fork" in err
        assert stands_in(world) == []
        code, out, _ = run(world, "restore", tmp_path / "b.tar", "--as-fork")
        assert code == 0
        assert out.startswith("declared fork of agent-timeline/")
        assert "1 external anchors; add them with `timeline anchor add`" in out
        assert "`timeline index` reads the transcripts again" in out
        said = out.split(",")[0]
        for command in (["sources"], ["verify"]):
            code, out, _ = run(world, *command)
            assert code == 0
            assert said in out


def test_the_answers_as_data(run: Run, backed: Backed, tmp_path: Path) -> None:
    """One JSON document each."""
    world, other = backed.place(tmp_path / "place"), backed.place(tmp_path / "fork")
    code, out, _ = run(world, "restore", backed.file, "--unverified", "--json")
    answer = json.loads(out)
    assert (code, answer["status"], answer["basis"], answer["leaf"]) == (0, "restored", "unverified", 4)
    code, out, _ = run(other, "restore", backed.file, "--as-fork", "--json")
    answer = json.loads(out)
    assert (code, answer["status"], answer["size"], answer["lost"]) == (0, "forked", 4, [])
    assert answer["newOrigin"] != answer["origin"] == backed.manifest().origin
    _, _, err = run(world, "restore", backed.file, "--json")
    assert json.loads(err)["reason"] == "state-exists"


def test_the_trust_folder_alone(run: Run, case: Case, tmp_path: Path) -> None:
    """It comes back, and the next step is named."""
    assert run(case.world, "backup", tmp_path / "b.tar")[0] == 0
    case.world.locations.trust.rename(tmp_path / "away")
    code, _, err = run(case.world, "restore", tmp_path / "b.tar")
    assert (code, "--trust-only" in err) == (1, True)
    code, out, _ = run(case.world, "restore", tmp_path / "b.tar", "--trust-only")
    assert (code, "timeline anchor recover" in out) == (0, True)


def test_missing_keys_are_a_key_error(run: Run, keyless: Backed, tmp_path: Path) -> None:
    """Exit code 12, and what to give."""
    world = keyless.place(tmp_path / "place")
    code, _, err = run(world, "restore", keyless.file, "--unverified")
    assert code == 12
    assert "[backup-keys-missing]" in err
    assert "--keys FOLDER" in err


@pytest.mark.parametrize(
    "options",
    [
        ("--as-fork", "--trust-only"),
        ("--as-fork", "--unverified"),
        ("--trust-only", "--unverified"),
        ("--as-fork", "--against", "x"),
    ],
)
def test_options_that_contradict_each_other_are_misuse(
    run: Run, backed: Backed, tmp_path: Path, options: tuple[str, ...]
) -> None:
    """Nothing is read then."""
    world = backed.place(tmp_path / "place")
    assert run(world, "restore", tmp_path / "no such file", *options)[0] == 2


def test_an_interrupted_restore_is_said_to_be_completed(run: Run, backed: Backed, tmp_path: Path) -> None:
    """Whatever is given then."""
    world = backed.place(tmp_path / "place")
    assert run(world, "restore", backed.file, "--unverified")[0] == 0
    world.locations.trust.rename(world.folder / "trust.restoring")
    code, out, _ = run(world, "restore", tmp_path / "no such file")
    assert (code, out.startswith("an interrupted restore was completed")) == (0, True)
    assert run(world, "verify")[0] == 0
