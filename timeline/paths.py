"""Where the state lives: four folders, each with its own purpose and its own variable to move it.

State and trust lie in different trees, so that restoring one does not restore the other unseen.
"""

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import msgspec

from timeline.errors import ConfigError

_VARIABLES = {
    "state": "TIMELINE_STATE_DIR",
    "trust": "TIMELINE_TRUST_DIR",
    "config": "TIMELINE_CONFIG_DIR",
    "runtime": "TIMELINE_RUNTIME_DIR",
}


@lru_cache(maxsize=256)
def _below(folder: Path, name: str) -> Path:
    """One path object for each place: a commit asks for the same few again and again."""
    return folder / name


class Locations(msgspec.Struct, frozen=True):
    """The four folders of one timeline."""

    state: Path
    trust: Path
    config: Path
    runtime: Path

    @property
    def database(self) -> Path:
        """Log leaves and projections."""
        return _below(self.state, "state.db")

    @property
    def sidecars(self) -> Path:
        """Write-once signed envelopes."""
        return _below(self.state, "sidecars")

    @property
    def head(self) -> Path:
        """The latest signed checkpoint."""
        return _below(self.state, "head")

    @property
    def anchor(self) -> Path:
        """The last checkpoint ever accepted, kept apart from the state."""
        return _below(self.trust, "anchor")

    @property
    def pins(self) -> Path:
        """Origin and public keys, fixed at ``init``."""
        return _below(self.trust, "pins")

    @property
    def begun(self) -> Path:
        """What will be the pins: stands only while ``init`` has not fixed them."""
        return _below(self.trust, "pins.begun")

    @property
    def keys(self) -> Path:
        """The private keys."""
        return _below(self.trust, "keys")

    @property
    def memories(self) -> Path:
        """What each external anchor has confirmed, a file each."""
        return _below(self.trust, "anchors")

    @property
    def suppression(self) -> Path:
        """Keyed digests of what was forgotten and must not come back."""
        return _below(self.trust, "suppression")

    @property
    def suppression_key(self) -> Path:
        """The key of those digests."""
        return _below(self.trust, "suppression.key")

    @property
    def forgetting(self) -> Path:
        """Plans of forgetting and how far each was carried out."""
        return _below(self.state, "forgetting")

    @property
    def anchor_pin(self) -> Path:
        """Which policy of external anchors is in force, pinned in a third place."""
        return _below(self.config, "anchors")

    @property
    def settings(self) -> Path:
        """The owner's configuration."""
        return _below(self.config, "config.toml")

    @property
    def installed(self) -> Path:
        """What was changed in hosts' files, and how to undo it; it is there before ``init`` and outlives a restore."""
        return _below(self.config, "installed")

    @property
    def lock(self) -> Path:
        """The one writer's lock."""
        return _below(self.runtime, "writer.lock")

    @property
    def socket(self) -> Path:
        """Where the daemon is asked."""
        return _below(self.runtime, "daemon.sock")

    @property
    def daemon_lock(self) -> Path:
        """Held by the daemon for as long as it lives."""
        return _below(self.runtime, "daemon.lock")

    @property
    def diary(self) -> Path:
        """What the daemon notes of its work; no text of a transcript."""
        return _below(self.runtime, "daemon.log")

    def trust_is_apart(self) -> bool:
        """Whether neither of state and trust lies inside the other."""
        return not (self.state.is_relative_to(self.trust) or self.trust.is_relative_to(self.state))


def find_locations(environment: Mapping[str, str]) -> Locations:
    """The folders that the environment names, or the platform's defaults.

    Raises:
        ConfigError: a variable is set to something that is not an absolute path.
    """
    found: dict[str, Path] = {}
    for name, variable in _VARIABLES.items():
        given = environment.get(variable)
        if given is None:
            found[name] = _default(name, environment)
        elif not given or not Path(given).is_absolute() or "\0" in given:
            message = f"{variable}: must be an absolute path"
            raise ConfigError(message, hint=f"set {variable} to an absolute path, or unset it")
        else:
            found[name] = Path(os.path.normpath(given))
    return Locations(**found)


def _default(name: str, environment: Mapping[str, str]) -> Path:
    # Imported here: commands that are told all four folders need not pay for it at start-up.
    import platformdirs

    if name == "state":
        return Path(platformdirs.user_state_dir("timeline"))
    if name == "trust":
        return Path(platformdirs.user_data_dir("timeline")) / "trust"
    if name == "config":
        return Path(platformdirs.user_config_dir("timeline"))
    runtime = environment.get("XDG_RUNTIME_DIR", "")
    if Path(runtime).is_absolute():
        return Path(runtime) / "timeline"
    # Without a runtime folder of the session, one below the user's own cache: never one that others can make.
    return Path(platformdirs.user_cache_dir("timeline")) / "runtime"
