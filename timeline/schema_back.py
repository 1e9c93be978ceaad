"""The way back of a migration: the database as the older program made it, where that one can read the log (G29).

The log is never changed. What the newer version has added to the database are projections, which the older one does
not have; they are dropped. Where a leaf says what the older program does not know, it would refuse the whole log, and
so the way back is refused here, and nothing is changed.
"""

from collections import Counter
from typing import Final

import msgspec

from sidecars.envelope import parse_envelope
from sidecars.erased import is_erased
from sidecars.kind import Kind
from sidecars.leaf import payload_type
from timeline.assertion_account import account_assertions, reading_assertions
from timeline.lock import hold_lock
from timeline.schema import BACK_TO, SCHEMA_VERSION
from timeline.schema_errors import SchemaBackError
from timeline.service import Session
from timeline.state import State

KNOWN_BEFORE: Final = frozenset(
    {
        Kind.POLICY,
        Kind.FORMAT_POLICY,
        Kind.CONSENT_POLICY,
        Kind.ANCHOR_POLICY,
        Kind.ANCHOR_RECOVERY,
        Kind.RESTORATION,
        Kind.FORK,
        Kind.KEY_EPOCH,
        Kind.ENROLLMENT,
        Kind.EXTENSION,
        Kind.SIDECAR,
        Kind.PREFIX_PROOF,
        Kind.INVALIDATION,
        Kind.REVOCATION,
        Kind.ASSERTION,
    }
)
"""The kinds of leaves that the last program of version 2 reads; it refuses a log with any other."""

_ERASED: Final = "erased leaves"
_NEW_FIELDS: Final = "assertions with a use or a derivation"
_USES: Final = (
    "SELECT count(*) FROM assertion "
    "WHERE starts_at IS NOT NULL OR purposes <> '[]' OR about IS NOT NULL OR derived <> '[]'"
)


class SchemaStanding(msgspec.Struct, frozen=True):
    """Of which version the database is, and what of the log an older program does not know, with how many of each."""

    version: int
    newest: int
    back_to: int
    obstacles: tuple[tuple[str, int], ...]

    @property
    def can_go_back(self) -> bool:
        """Whether there is a way back from here."""
        return self.version > self.back_to and not self.obstacles


def show_schema(session: Session) -> SchemaStanding:
    """How the database stands. Changes nothing.

    Raises:
        IndexUnverifiedError, StateError, SidecarError: the state is not to be believed.
    """
    with session.reading_local() as state:
        if state.store.outdated:
            (row,) = state.store.query("PRAGMA user_version")
            return SchemaStanding(int(str(row[0])), SCHEMA_VERSION, BACK_TO, ())
        return SchemaStanding(SCHEMA_VERSION, SCHEMA_VERSION, BACK_TO, find_obstacles(state))


def go_back(session: Session, to: int) -> None:
    """Bring the database back to version ``to``, whole or not at all; the next command here migrates it again.

    Raises:
        SchemaBackError: there is no way to that version, a leaf needs this one, or a daemon is running.
        StateError, SidecarError: the state is not to be believed, or cannot be written.
    """
    if to != BACK_TO:
        message = f"there is a way back to version {BACK_TO}, and to no other"
        raise SchemaBackError(message)
    with session.writing_local() as state, hold_lock(session.locations.daemon_lock) as is_alone:
        if not is_alone:
            message = "the daemon is running, and would bring the database forward again at once"
            raise SchemaBackError(message, hint="run `timeline daemon stop` first")
        account_assertions(state)
        obstacles = find_obstacles(state)
        if obstacles:
            named = ", ".join(f"{name} ({count})" for name, count in obstacles)
            message = f"the log holds what the program of version {to} does not know: {named}"
            raise SchemaBackError(message)
        state.store.roll_back()


def find_obstacles(state: State) -> tuple[tuple[str, int], ...]:
    """What of the log the older program does not know, by name, with how many of each.

    Raises:
        IndexUnverifiedError, StateError, SidecarError: the state is not to be believed.
    """
    names = {payload_type(kind): kind for kind in Kind}
    found: Counter[str] = Counter()
    for _, salt, envelope in state.store.leaves():
        if is_erased(salt):
            found[_ERASED] += 1
            continue
        kind = names.get(parse_envelope(envelope).payload_type)
        if kind not in KNOWN_BEFORE:
            found["leaves of an unknown kind" if kind is None else kind.value] += 1
    with reading_assertions(state):
        (row,) = state.store.query(_USES)
        if count := int(str(row[0])):
            found[_NEW_FIELDS] = count
    return tuple(sorted(found.items()))
