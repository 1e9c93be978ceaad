"""The owner's configuration: read and checked once, then a frozen value.

It supplies what stock hosts do not say (tenant, user, task), per project where wanted. It grants nothing: what
is consented to is in the log.
"""

import tomllib
from functools import lru_cache
from pathlib import Path

import msgspec

from timeline.binding import Binding, Route
from timeline.errors import ConfigError, StateIncompleteError, UnsafeFileError
from timeline.files import is_there, make_directory, read_private, write_atomic
from timeline.limits import (
    CONFIG_BYTES_MAX,
    FOLLOW_SECONDS_DEFAULT,
    FOLLOW_SECONDS_MAX,
    FOLLOW_SECONDS_MIN,
    RECALL_SECONDS_DEFAULT,
    RECALL_SECONDS_MAX,
    RECALL_SECONDS_MIN,
)

_TOP = {
    "version",
    "scope",
    "recall_seconds",
    "follow_seconds",
    "strict_formats",
    "cross_provider",
    "stop_hook",
    "project",
}
_SCOPE = {"tenant", "user", "task", "goal"}
_STOP_HOOK = {"check_claims"}


class Scope(msgspec.Struct, frozen=True):
    """The scope fields that hosts do not give."""

    tenant: str
    user: str
    task: str
    goal: str | None = None


class Config(msgspec.Struct, frozen=True):
    """The configuration as it is in force.

    ``strict_formats`` refuses every file of which anything was not understood (ADR 0001). ``cross_provider`` lets a
    search ask a session of another host, where the call asks for it as well (T26). ``check_claims`` lets the hook at
    Stop tell the user which claims of the agent's message captured runs support.
    """

    scope: Scope
    recall_seconds: int = RECALL_SECONDS_DEFAULT
    projects: dict[str, Scope] = msgspec.field(default_factory=dict)
    strict_formats: bool = False
    follow_seconds: int = FOLLOW_SECONDS_DEFAULT
    cross_provider: bool = False
    check_claims: bool = True

    def bind(self, *, host: str, session: str, project: str, route: Route | None = None) -> Binding:
        """The binding of one session of one project.

        Raises:
            ScopeError: a field is not of its form.
        """
        scope = self.projects.get(project, self.scope)
        return Binding(
            host=host,
            session=session,
            user=scope.user,
            tenant=scope.tenant,
            project=project,
            task=scope.task,
            goal=scope.goal,
            route=route,
        )


def default_config(user: str) -> Config:
    """What ``timeline init`` starts with."""
    return Config(Scope(tenant="local", user=user, task="default"))


def load_config(path: Path) -> Config:
    """Read the configuration.

    Raises:
        ConfigError: missing, unsafe, not TOML, or a field is unknown or of another form.
    """
    try:
        content = read_private(path, size_max=CONFIG_BYTES_MAX)
    except (StateIncompleteError, UnsafeFileError) as error:
        raise ConfigError(error.message, hint=error.hint) from error
    return _parse_config(path, content)


@lru_cache(maxsize=4)
def _parse_config(path: Path, content: bytes) -> Config:
    """What the bytes say; the daemon asks again and again for the same ones."""
    try:
        found = tomllib.loads(content.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        message = f"{path}: not a TOML file"
        raise ConfigError(message) from error
    _check_keys(path, "", found, _TOP)
    if found.get("version") != 1:
        message = f"{path}: field version: must be 1"
        raise ConfigError(message)
    base = _scope(path, "scope", _table(path, "scope", found.get("scope", {})), None)
    recall = _seconds(
        path, found, "recall_seconds", RECALL_SECONDS_DEFAULT, (RECALL_SECONDS_MIN, RECALL_SECONDS_MAX)
    )
    follow = _seconds(
        path, found, "follow_seconds", FOLLOW_SECONDS_DEFAULT, (FOLLOW_SECONDS_MIN, FOLLOW_SECONDS_MAX)
    )
    strict, cross_provider = (_flag(path, found, name) for name in ("strict_formats", "cross_provider"))
    stop_hook = _table(path, "stop_hook", found.get("stop_hook", {}))
    _check_keys(path, "stop_hook", stop_hook, _STOP_HOOK)
    check_claims = _flag(path, stop_hook, "check_claims", prefix="stop_hook.", default=True)
    projects = {
        name: _scope(path, f"project.{name}", _table(path, f"project.{name}", table), base)
        for name, table in _table(path, "project", found.get("project", {})).items()
    }
    return Config(base, recall, projects, strict, follow, cross_provider, check_claims)


def write_default_config(path: Path, config: Config) -> None:
    """Write a first configuration; one that is there is kept.

    Raises:
        StateUnwritableError: it cannot be written.
    """
    make_directory(path.parent)
    if is_there(path):
        load_config(path)
        return
    lines = [
        "# Scope of the sessions that hosts report; hosts do not say these themselves.",
        "version = 1",
        f"recall_seconds = {config.recall_seconds}",
        "",
        "# How long a session may be followed that is enrolled with --follow, in seconds:",
        f"# follow_seconds = {config.follow_seconds}",
        "",
        "# Refuse every transcript of which anything was not understood:",
        "# strict_formats = true",
        "",
        "# Let the agent's searches also ask sessions of other hosts, where it says so:",
        "# cross_provider = true",
        "",
        "# Do not tell me, when an agent stops, which claims of its message captured runs support:",
        "# stop_hook = { check_claims = false }",
        "",
        "[scope]",
        f'tenant = "{config.scope.tenant}"',
        f'user = "{config.scope.user}"',
        f'task = "{config.scope.task}"',
        "",
        "# Another scope for one project:",
        '# [project."/absolute/path/of/the/project"]',
        '# task = "release"',
        "",
    ]
    write_atomic(path, "\n".join(lines).encode())


def _seconds(path: Path, found: dict[str, object], name: str, default: int, bounds: tuple[int, int]) -> int:
    value = found.get(name, default)
    if type(value) is not int or not bounds[0] <= value <= bounds[1]:
        message = f"{path}: field {name}: must be {bounds[0]} to {bounds[1]}"
        raise ConfigError(message)
    return value


def _flag(
    path: Path, found: dict[str, object], name: str, *, prefix: str = "", default: bool = False
) -> bool:
    value = found.get(name, default)
    if type(value) is not bool:
        message = f"{path}: field {prefix}{name}: must be true or false"
        raise ConfigError(message)
    return value


def _table(path: Path, name: str, value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        message = f"{path}: field {name}: must be a table"
        raise ConfigError(message)
    return value


def _check_keys(path: Path, name: str, table: dict[str, object], allowed: set[str]) -> None:
    unknown = sorted(set(table) - allowed)
    if unknown:
        message = f"{path}: {name + '.' if name else ''}{unknown[0]}: unknown field"
        raise ConfigError(message)


def _scope(path: Path, name: str, table: dict[str, object], base: Scope | None) -> Scope:
    _check_keys(path, name, table, _SCOPE)

    def text(key: str, fallback: str | None) -> str | None:
        value = table.get(key, fallback)
        if value is not None and not isinstance(value, str):
            message = f"{path}: field {name}.{key}: must be a text"
            raise ConfigError(message)
        return value

    tenant, user, task = (text(key, getattr(base, key, None)) for key in ("tenant", "user", "task"))
    if tenant is None or user is None or task is None:
        message = f"{path}: table {name}: tenant, user and task are needed"
        raise ConfigError(message)
    return Scope(tenant, user, task, text("goal", getattr(base, "goal", None)))
