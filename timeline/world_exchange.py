"""The world model of a project out to other programs, and a reference file in (W27, W66)."""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from sidecars.assertion import AssertionEntry
from sidecars.leaf import BATCH_SIZE_MAX
from timeline.forgetting.errors import ForgottenError
from timeline.service import Session
from timeline.state import State
from timeline.world import ledger
from timeline.world.assertion import Assertion
from timeline.world.errors import AssertionConflictError, WorldError
from timeline.world.export import prov_json, world_model
from timeline.world.ledger import Recorded
from timeline.world.legacy import LegacyRecord, Target, read_world_model
from timeline.world.scope import is_visible
from timeline.world_view import Standpoint

ExportFormat = Literal["world-model.json", "prov-json"]


class Imported(msgspec.Struct, frozen=True):
    """What became of the records of a file: ids that are new, ids that were there, and what was left out and why."""

    recorded: tuple[str, ...]
    duplicates: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]


def export_world(session: Session, where: Standpoint, form: ExportFormat) -> dict[str, Any]:
    """Everything that the owner may see in the project, replaced and expired assertions included.

    Raises:
        StateError, SidecarError: the state is not to be believed.
    """
    found = _visible(session, where)
    return world_model(found, where.root) if form == "world-model.json" else prov_json(found)


def _visible(session: Session, where: Standpoint) -> list[Assertion]:
    reader = where.reader
    with session.reading() as state:
        found = ledger.read_scope(state, tenant=reader.tenant, project=reader.project)
    return [assertion for assertion in found if is_visible(assertion.entry, reader)]


def read_file(
    session: Session, where: Standpoint, content: bytes, named: frozenset[str]
) -> tuple[LegacyRecord, ...]:
    """The records of a reference file, as they would be imported into the project. Writes nothing.

    Raises:
        AssertionInvalidError: it is no such file.
    """
    reader = where.reader
    target = Target(reader.tenant, reader.user, where.root, named, session.ports.clock.now_ms())
    return read_world_model(content, target)


def import_world(session: Session, records: tuple[LegacyRecord, ...]) -> Imported:
    """Record what can be; the owner key signs each. A record that the ledger refuses is left out with its reason.

    What was recorded before an error stays, and the same file again goes on where it stopped.

    Raises:
        ClockError, StateError, SidecarError: the state cannot be used, or the owner key is not to be had.
    """
    left_out = [(record.id, record.reason or "") for record in records if record.entry is None]
    done: list[Recorded] = []
    with session.writing() as state:
        pending = []
        for record in records:
            if record.entry is None:
                continue
            if record.id != record.entry.id and ledger.find(state, record.id) is not None:
                # Our own export, come back: it is here already, and a copy would look like a second voice.
                left_out.append((record.id, AssertionConflictError.reason))
            else:
                pending.append(record.entry)
        for start in range(0, len(pending), BATCH_SIZE_MAX):
            done += _record(state, pending[start : start + BATCH_SIZE_MAX], left_out)
    return Imported(
        tuple(one.assertion.id for one in done if one.status == "recorded"),
        tuple(one.assertion.id for one in done if one.status == "duplicate"),
        tuple(left_out),
    )


def _record(
    state: State, entries: Sequence[AssertionEntry], left_out: list[tuple[str, str]]
) -> list[Recorded]:
    """One batch; where one of it is refused, each by itself, so that the others are recorded."""
    try:
        return list(ledger.record(state, entries))
    except (WorldError, ForgottenError) as error:
        if len(entries) == 1:
            left_out.append((entries[0].id, error.reason))
            return []
    return [one for entry in entries for one in _record(state, [entry], left_out)]
