"""The four folders: each named by its variable, or the platform's default."""

from pathlib import Path

import pytest

from timeline.errors import ConfigError
from timeline.paths import Locations, find_locations

NAMES = ("state", "trust", "config", "runtime")
ALL = {f"TIMELINE_{name.upper()}_DIR": f"/t/{name}" for name in NAMES}


def test_each_variable_moves_its_folder() -> None:
    """Four variables, four folders."""
    found = find_locations(ALL)
    assert found == Locations(*(Path(f"/t/{name}") for name in NAMES))


def test_files_lie_in_their_folders() -> None:
    """Head and database are state, anchor and pins are trust: restoring one does not restore the other."""
    found = find_locations(ALL)
    assert {found.database.parent, found.head.parent, found.sidecars.parent} == {found.state}
    assert {found.anchor.parent, found.pins.parent} == {found.trust}
    assert found.settings.parent == found.config
    assert found.lock.parent == found.runtime


@pytest.mark.parametrize("variable", sorted(ALL))
@pytest.mark.parametrize("value", ["", "state", "./state", "../state", "~/state", "/a\0b"])
def test_a_variable_that_is_no_absolute_path_is_refused(variable: str, value: str) -> None:
    """An empty or relative folder would depend on where the command was run."""
    with pytest.raises(ConfigError, match=variable):
        find_locations({**ALL, variable: value})


def test_a_path_is_taken_in_its_normal_form() -> None:
    """Dots and doubled slashes name the same folder."""
    assert find_locations({**ALL, "TIMELINE_STATE_DIR": "/t//x/../state/"}).state == Path("/t/state")


def test_defaults_lie_in_the_home_and_apart(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without variables the folders are the user's own; state and trust are different trees."""
    for kind in ("STATE_HOME", "DATA_HOME", "CONFIG_HOME", "CACHE_HOME"):
        monkeypatch.delenv(f"XDG_{kind}")
    found = find_locations({})
    for name in NAMES:
        assert getattr(found, name).is_relative_to(home)
    assert found.trust_is_apart()


def test_the_runtime_folder_is_the_sessions_own_where_there_is_one() -> None:
    """A relative XDG_RUNTIME_DIR is ignored, as its specification says."""
    assert find_locations({"XDG_RUNTIME_DIR": "/run/user/7"}).runtime == Path("/run/user/7/timeline")
    assert find_locations({"XDG_RUNTIME_DIR": "run"}).runtime.is_absolute()


@pytest.mark.parametrize(
    ("state", "trust", "apart"),
    [
        ("/t/state", "/t/trust", True),
        ("/t/state", "/t/state", False),
        ("/t/state", "/t/state/trust", False),
        ("/t/trust/state", "/t/trust", False),
        ("/t/state", "/t/state-trust", True),
    ],
)
def test_trust_inside_the_state_is_not_apart(state: str, trust: str, *, apart: bool) -> None:
    """A name that merely begins alike is another tree."""
    found = find_locations({**ALL, "TIMELINE_STATE_DIR": state, "TIMELINE_TRUST_DIR": trust})
    assert found.trust_is_apart() is apart
