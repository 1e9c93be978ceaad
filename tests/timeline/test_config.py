"""The owner's configuration is read whole or refused with the field's name."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeline.config import Config, Scope, default_config, load_config, write_default_config
from timeline.errors import ConfigError, ScopeError, UnsafeFileError
from timeline.files import write_atomic
from timeline.limits import RECALL_SECONDS_DEFAULT

SCOPE = '[scope]\ntenant = "local"\nuser = "me"\ntask = "default"\n'
FINE = "version = 1\n" + SCOPE


def load(folder: Path, text: str | bytes) -> Config:
    """Load a configuration with these bytes."""
    path = folder / "config.toml"
    write_atomic(path, text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text)
    return load_config(path)


def test_the_first_configuration_reads_back(tmp_path: Path) -> None:
    """What ``init`` writes is what it meant."""
    path = tmp_path / "config" / "config.toml"
    write_default_config(path, default_config("me"))
    assert load_config(path) == Config(Scope("local", "me", "default"))
    assert path.stat().st_mode & 0o777 == 0o600


def test_claims_are_checked_unless_the_owner_says_no(tmp_path: Path) -> None:
    """By a table of its own."""
    assert load(tmp_path, FINE).check_claims
    assert load(tmp_path, FINE + "[stop_hook]\n").check_claims
    assert not load(tmp_path, FINE + "[stop_hook]\ncheck_claims = false\n").check_claims


def test_a_configuration_that_is_there_is_kept(tmp_path: Path) -> None:
    """``init`` does not overwrite the owner's words, and refuses words it cannot read."""
    load(tmp_path, FINE.replace("default", "mine"))
    tmp_path.chmod(0o700)
    write_default_config(tmp_path / "config.toml", default_config("me"))
    assert load_config(tmp_path / "config.toml").scope.task == "mine"
    write_atomic(tmp_path / "config.toml", b"broken")
    with pytest.raises(ConfigError):
        write_default_config(tmp_path / "config.toml", default_config("me"))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "version"),
        ("version = 2\n" + SCOPE, "version"),
        ('version = "1"\n' + SCOPE, "version"),
        ("version = 1\n", "scope"),
        ("version = 1\n[scope]\n", "tenant, user and task"),
        (FINE.replace('tenant = "local"\n', ""), "tenant"),
        (FINE.replace('user = "me"\n', ""), "user"),
        (FINE.replace('task = "default"\n', ""), "task"),
        (FINE.replace('"me"', "7"), "scope.user"),
        (FINE.replace('"me"', "true"), "scope.user"),
        (FINE + "goal = []\n", "scope.goal"),
        (FINE + 'group = "g"\n', "scope.group"),
        ("extra = 1\n" + FINE, "extra"),
        ("stop_hook = true\n" + FINE, "stop_hook: must be a table"),
        ("stop_hook = { check_claims = 1 }\n" + FINE, "stop_hook.check_claims: must be true or false"),
        (FINE + "[stop_hook]\nblock = true\n", "stop_hook.block"),
        ("scope = 1\nversion = 1\n", "scope"),
        ("recall_seconds = 59\n" + FINE, "recall_seconds"),
        ("recall_seconds = 7776001\n" + FINE, "recall_seconds"),
        ("recall_seconds = true\n" + FINE, "recall_seconds"),
        ("recall_seconds = 100.0\n" + FINE, "recall_seconds"),
        ('recall_seconds = "100"\n' + FINE, "recall_seconds"),
        ("follow_seconds = 59\n" + FINE, "follow_seconds"),
        ("follow_seconds = 172801\n" + FINE, "follow_seconds"),
        ("follow_seconds = false\n" + FINE, "follow_seconds"),
        ("project = 1\n" + FINE, "project"),
        (FINE + "[project]\nx = 1\n", "project.x"),
        (FINE + '[project."/p"]\ntask = 1\n', "project./p.task"),
        (FINE + '[project."/p"]\nroute = "r"\n', "project./p.route"),
    ],
)
def test_a_field_against_the_rules_is_named(tmp_path: Path, text: str, named: str) -> None:
    """Unknown, missing, of another type or out of bounds: refused, with file and field."""
    with pytest.raises(ConfigError) as refused:
        load(tmp_path, text)
    assert named in refused.value.message
    assert "config.toml" in refused.value.message


@pytest.mark.parametrize(
    "content", [b"\xff", b"version = 1\nversion = 1\n", b"[", b"a" * 70_000, b"a = " + b"[" * 5000]
)
def test_what_is_no_configuration_is_refused(tmp_path: Path, content: bytes) -> None:
    """Bad UTF-8, duplicate keys, torn tables, too long, too deep."""
    with pytest.raises(ConfigError):
        load(tmp_path, content)


def test_a_missing_or_unsafe_configuration_is_refused(tmp_path: Path) -> None:
    """Scope is never assumed, nor taken from a file that others may write."""
    with pytest.raises(ConfigError):
        load_config(tmp_path / "none.toml")
    load(tmp_path, FINE)
    (tmp_path / "config.toml").chmod(0o666)
    with pytest.raises(ConfigError) as refused:
        load_config(tmp_path / "config.toml")
    assert isinstance(refused.value.__cause__, UnsafeFileError)


@pytest.mark.requirement("T8")
def test_a_project_has_its_own_scope_and_inherits_the_rest(tmp_path: Path) -> None:
    """The table of exactly this project rules; a folder below it is another project."""
    found = load(tmp_path, FINE + 'goal = "g"\n[project."/p"]\ntask = "release"\n')
    assert found.recall_seconds == RECALL_SECONDS_DEFAULT
    there = found.bind(host="codex", session="s", project="/p")
    assert (there.tenant, there.user, there.task, there.goal) == ("local", "me", "release", "g")
    assert found.bind(host="codex", session="s", project="/p/below").task == "default"


@pytest.mark.requirement("T8")
@pytest.mark.parametrize("field", ["tenant", "user", "task"])
@pytest.mark.parametrize("value", ["", " ", "two words", "-x", "x" * 129, "ä", "a\\n"])
def test_a_scope_of_another_form_binds_nothing(tmp_path: Path, field: str, value: str) -> None:
    """A value that is no identifier is refused when a session would be bound to it."""
    found = load(
        tmp_path,
        f'version = 1\n[scope]\ntenant = "t"\nuser = "u"\ntask = "k"\n[project."/p"]\n{field} = "{value}"\n',
    )
    with pytest.raises(ScopeError, match=field):
        found.bind(host="codex", session="s", project="/p")


@given(content=st.binary(max_size=200))
def test_any_bytes_are_a_configuration_or_a_config_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    """Nothing else leaves the reader."""
    path = tmp_path_factory.getbasetemp() / "any.toml"
    write_atomic(path, content)
    with contextlib.suppress(ConfigError):
        assert isinstance(load_config(path), Config)
