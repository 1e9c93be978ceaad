"""What the owner's presence is decided by: the processes above a command, what they carry, and the rules in the log.

Looks and decides nothing; ``timeline.guard.presence`` decides.
"""

import os
from collections.abc import Mapping
from contextlib import closing

from sidecars.leaf import Kind, Policy, open_leaf, payload_type
from timeline.errors import StateCorruptError
from timeline.files import is_there
from timeline.guard.presence import Ancestry, multiplexer_of
from timeline.hosts import HOST_VARIABLES
from timeline.keystore import read_pins
from timeline.paths import Locations
from timeline.processes import chain_of, environment_of, in_user_namespace, processes_named
from timeline.store import open_store

_NEWEST_POLICY = "SELECT idx, envelope FROM leaf WHERE instr(envelope, ?) > 0 ORDER BY idx DESC LIMIT 1"


def find_ancestry(environment: Mapping[str, str]) -> Ancestry:
    """This process and those above it. ``environment`` is the one that it works with now."""
    chain = chain_of(os.getpid())
    carried = {name for process in chain for name in HOST_VARIABLES & environment_of(process).keys()}
    carried |= HOST_VARIABLES & environment.keys()
    names = multiplexer_of(chain)
    attached = tuple(chain_of(process.pid) for process in processes_named(names)) if names else ()
    return Ancestry(chain, tuple(sorted(carried)), attached, in_user_namespace())


def find_rules(locations: Locations) -> Policy | None:
    """The owner's rules as the newest policy of the log states them, signed by the pinned owner key.

    ``None`` while no log is pinned. The log as a whole is not verified here: a command that uses it does that, and a
    log from which a policy was taken away is refused there.

    Raises:
        StateError, SidecarError: pins or database cannot be used, or the policy is not the owner's.
    """
    if not is_there(locations.pins) or not is_there(locations.database):
        return None
    pins = read_pins(locations)
    with closing(open_store(locations.database)) as store:
        rows = list(store.query(_NEWEST_POLICY, (f"\n{payload_type(Kind.POLICY)}\n".encode(),)))
    if not rows:  # `init` was interrupted before it recorded anything
        return None
    # The owner key is this log's alone: its name holds the origin, so a leaf of another log is not signed by it.
    body = open_leaf(rows[0][1], pins.owner, None).body  # type: ignore[arg-type]  # STRICT column
    if not isinstance(body, Policy):
        message = f"{locations.database}: leaf {rows[0][0]}: must be the policy that its type names"
        raise StateCorruptError(message)
    return body
