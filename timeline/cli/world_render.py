"""The world model in words: assertions, facts and conflicts as rows of tables, and as the JSON of the commands."""

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from sidecars.assertion import AssertionEntry
from timeline.answers import AUTHORITY, Json
from timeline.cli.status import ago
from timeline.cli.tables import Cell, Table, Tone
from timeline.clock import format_utc
from timeline.world.assertion import Assertion, canonical_text, fields_of
from timeline.world.context import Conflict, Context, format_context
from timeline.world.presentation import format_assertion
from timeline.world_use import Spoken
from timeline.world_view import Explained, Placed

HISTORY_SCHEMA: Final = "timeline-world-history/v1"
EXPLAINED_SCHEMA: Final = "timeline-world-assertion/v1"
SPOKEN_SCHEMA: Final = "timeline-world-recorded/v1"

_COLUMNS: Final = ("", "about", "value", "held on", "assertion")
_STACKED: Final = (((0,),), ((1, 2), (3,), (4,)))
_MARKS: Final[dict[Tone, str]] = {"good": "●", "look": "▲", "quiet": "○"}

TONES: Final[dict[str, Tone]] = {
    "fact": "good",
    "conflict": "bad",
    "proposal": "look",
    "stale": "quiet",
    "superseded": "quiet",
    "same": "good",
    "different": "bad",
    "not-checked": "quiet",
}
"""For a place in the world model, or what came of looking at evidence again."""


_CHECKED: Final = {
    "agentspine.timeline-objective-result/v1": ("task.timeline-result.", {"capture"}),
    "agentspine.task-continuation/v1": ("task.continuation", {"capture", "owner"}),
    "agentspine.timeline-continuation-outcome-contract/v1": ("task.timeline-outcome-contract", {"owner"}),
    "agentspine.timeline-user-feedback/v1": ("task.user-feedback", {"capture"}),
}
"""Of each schema, under which predicate and by whom its values were checked: nothing else stands in those."""


def value_text(assertion: Assertion) -> str:
    """A value for a person: what the program itself records in a few words, anything else as its JSON, whole."""
    entry, fields = assertion.entry, fields_of(assertion.value)
    prefix, recorders = _CHECKED.get(str(fields.get("schema")), ("", set()))
    if entry.recorder not in recorders or not entry.predicate.startswith(prefix):
        return canonical_text(assertion.value)
    match fields:
        case {"schema": "agentspine.timeline-objective-result/v1", "outcome": str(outcome), "count": count}:
            counted = fields_of(count)
            is_counted = {"value", "total"} <= set(counted)
            return outcome.upper() + (f", {counted['value']} of {counted['total']}" if is_counted else "")
        case {"schema": "agentspine.task-continuation/v1", "status": str(status), "nextStep": step}:
            next_step = fields_of(step).get("summary")
            return status if next_step is None else f"{status}, next: {next_step}"
        case {
            "schema": "agentspine.timeline-continuation-outcome-contract/v1",
            "step": {"summary": str(step)},
        }:
            return f"agreed for: {step}"
        case {"schema": "agentspine.timeline-user-feedback/v1", "sourceText": str(text)}:
            return f"“{text}”"
    return canonical_text(assertion.value)


def held_text(assertion: Assertion) -> str:
    """On whose word something is held, in a word or two."""
    entry = assertion.entry
    if entry.recorder == "import":
        return "imported"
    words = {
        "objective-measurement": "measured",
        "explicit-user-feedback": "owner's word" if entry.recorder == "owner" else "user's word",
        "model-suggestion": "a model suggests",
        "uninterpreted-user-message": "user's message",
    }
    return words[entry.evidence_kind]


# -- tables ----------------------------------------------------------------------------------------------------


def fact_table(context: Context, now_ms: int) -> Table:
    """What is established and disputed by nothing."""
    rows = [_row(fact.assertions, now_ms, tone="good") for fact in context.facts]
    note = _left_out(context.omitted.facts, context.unread)
    return Table("facts", _COLUMNS, rows, empty="nothing is established yet", note=note, stacked=_STACKED)


def conflict_tables(context: Context, now_ms: int) -> list[Table]:
    """Each conflict with all that disagree, and the command that settles it."""
    note = _left_out(context.omitted.conflicts, context.unread)
    if not context.conflicts:
        return [Table("conflicts", (), (), empty="nothing is disputed", note=note)]
    tables = [conflict_table(conflict, now_ms) for conflict in context.conflicts]
    return [*tables, Table("", (), (), note=note)] if note else tables


def conflict_table(conflict: Conflict, now_ms: int) -> Table:
    """All values of one conflict, newest first, numbered."""
    rows = [
        (
            Cell(str(number)),
            Cell(value_text(one), "bad"),
            Cell(_held(one, now_ms)),
            Cell(one.id, "quiet"),
        )
        for number, one in enumerate(conflict.assertions, start=1)
    ]
    title = f"conflict: {conflict.subject} {conflict.predicate}"
    note = f"timeline world resolve {conflict.subject} {conflict.predicate}"
    return Table(
        title, ("", "value", "held on", "assertion"), rows, note=note, stacked=(((0,),), ((1, 2), (3,)))
    )


def proposal_table(context: Context, now_ms: int) -> Table:
    """What was suggested, and what a user's message says."""
    rows = [_row((one,), now_ms, tone="look") for one in context.proposals]
    note = _left_out(context.omitted.proposals, context.unread)
    return Table(
        "proposals, none of them established",
        _COLUMNS,
        rows,
        empty="nothing is suggested",
        note=note,
        stacked=_STACKED,
    )


def stale_table(context: Context, now_ms: int) -> Table:
    """What has passed its stated end."""
    rows = [_row((one,), now_ms, tone="quiet") for one in context.stale]
    note = _left_out(context.omitted.stale, context.unread)
    return Table(
        "stale, not used any more", _COLUMNS, rows, empty="nothing has expired", note=note, stacked=_STACKED
    )


def history_table(title: str, placed: Sequence[Placed], now_ms: int) -> Table:
    """Assertions of a subject, newest first, each with how it stands and what it replaced."""
    rows = [
        (
            Cell(one.place, TONES[one.place]),
            Cell(one.assertion.entry.predicate),
            Cell(value_text(one.assertion)),
            Cell(
                _held(one.assertion, now_ms)
                + (f", supersedes {len(one.supersedes)}" if one.supersedes else "")
            ),
            Cell(one.assertion.entry.reason or ""),
            Cell(one.assertion.id, "quiet"),
        )
        for one in placed
    ]
    columns = ("stands as", "predicate", "value", "held on", "why", "assertion")
    return Table(
        title,
        columns,
        rows,
        empty="nothing was ever said about it",
        stacked=(((0,),), ((1, 2), (3, 4), (5,))),
    )


def explained_tables(found: Explained, now_ms: int) -> list[Table]:
    """Everything about one assertion."""
    one, entry = found.placed.assertion, found.placed.assertion.entry
    scope = entry.privacy if entry.group is None else f"group {entry.group}"
    facts: list[tuple[str, str, Tone]] = [
        ("stands as", found.placed.place, TONES[found.placed.place]),
        ("subject", entry.subject, "plain"),
        ("predicate", entry.predicate, "plain"),
        ("value", canonical_text(one.value), "plain"),
        ("kind", entry.knowledge or "untyped", "plain"),
        ("reason", entry.reason or "", "plain"),
        ("for", f"{scope}, {entry.project or 'all projects'}, {entry.tenant}/{entry.user}", "plain"),
        ("route", f"{entry.portal} {entry.thread}" if entry.portal else "", "quiet"),
        ("evidence", f"{held_text(one)} ({entry.evidence_kind}, by {entry.recorder})", "plain"),
        ("evidence id", entry.evidence_id, "plain"),
        ("digest", entry.evidence_digest, "plain"),
        ("from", f"{entry.session} {entry.message}" if entry.session else "", "quiet"),
        ("looked at", f"{found.recheck.status}: {found.recheck.detail}", TONES[found.recheck.status]),
        ("observed", f"{format_utc(entry.observed_at)}, {ago(now_ms, entry.observed_at)}", "plain"),
        ("recorded", f"{format_utc(one.recorded_at)}, leaf {one.leaf}", "plain"),
        ("starts", "" if entry.starts_at is None else format_utc(entry.starts_at), "plain"),
        ("expires", "" if entry.expires_at is None else format_utc(entry.expires_at), "plain"),
        ("purposes", " ".join(entry.purposes), "plain"),
        ("speaks of", entry.about or "", "plain"),
        ("derived", _derived_text(entry), "quiet"),
        ("supersedes", " ".join(found.placed.supersedes), "quiet"),
        ("replaced by", " ".join(found.placed.replaced_by), "quiet"),
    ]
    rows = [(Cell(name, "quiet"), Cell(text, tone)) for name, text, tone in facts if text]
    return [Table(entry.id, (), rows), history_table("history, newest first", found.chain, now_ms)]


def _derived_text(entry: AssertionEntry) -> str:
    if entry.derivation is None:
        return ""
    families = " | ".join(" ".join(family) for family in entry.derivation.alternatives)
    return f"{entry.derivation.role} by {entry.derivation.evaluator} from {families}"


def spoken_tables(spoken: Spoken, now_ms: int) -> list[Table]:
    """What was recorded, what it replaces, and what is disputed now."""
    rows = [
        (
            Cell(one.status, "good"),
            Cell(f"{one.assertion.entry.subject} {one.assertion.entry.predicate}"),
            Cell(value_text(one.assertion)),
            Cell(one.assertion.id, "quiet"),
        )
        for one in spoken.recorded
    ]
    replaced = sum(len(one.assertion.entry.supersedes) for one in spoken.recorded)
    note = f"supersedes {replaced} {'assertion' if replaced == 1 else 'assertions'}" if replaced else ""
    tables = [
        Table(
            "recorded by the owner's word",
            ("", "about", "value", "assertion"),
            rows,
            note=note,
            stacked=(((0,),), ((1, 2), (3,))),
        )
    ]
    return [*tables, conflict_table(Conflict(spoken.disputed), now_ms)] if spoken.disputed else tables


def _row(group: Sequence[Assertion], now_ms: int, *, tone: Tone) -> tuple[Cell, ...]:
    newest = group[0]
    more = f" (+{len(group) - 1} that say the same)" if len(group) > 1 else ""
    return (
        Cell(_MARKS[tone], tone),
        Cell(f"{newest.entry.subject} {newest.entry.predicate}"),
        Cell(value_text(newest), tone),
        Cell(_held(newest, now_ms)),
        Cell(newest.id + more, "quiet"),
    )


def _held(assertion: Assertion, now_ms: int) -> str:
    entry = assertion.entry
    end = ""
    if entry.expires_at is not None:
        ended = entry.expires_at <= now_ms
        end = (
            f", ended {ago(now_ms, entry.expires_at)}" if ended else f", until {format_utc(entry.expires_at)}"
        )
    return f"{held_text(assertion)}, {ago(now_ms, entry.observed_at)}{end}"


def _left_out(omitted: int, unread: int) -> str:
    said = f"{omitted} more; see --limit" if omitted else ""
    if unread:
        said += f"{'; ' if said else ''}{unread} older assertions were not looked at: name a SUBJECT"
    return said


# -- JSON ------------------------------------------------------------------------------------------------------


def context_json(context: Context, names: Iterable[str]) -> Json:
    """Some collections of a context, in the reference's shape."""
    found = format_context(context)
    left = {"facts", "conflicts", "proposals", "stale"} - set(names)
    return {name: value for name, value in found.items() if name not in left}


def placed_json(one: Placed) -> Json:
    """One assertion with how it stands."""
    return {
        **format_assertion(one.assertion),
        "standing": one.place,
        "supersedes": list(one.supersedes),
        "replacedBy": list(one.replaced_by),
    }


def history_json(subject: str, predicate: str | None, placed: Sequence[Placed]) -> Json:
    """A subject's history, newest first."""
    return {
        "schema": HISTORY_SCHEMA,
        "subjectId": subject,
        "predicate": predicate,
        "assertions": [placed_json(one) for one in placed],
        "authority": AUTHORITY,
    }


def explained_json(found: Explained) -> Json:
    """Everything about one assertion."""
    return {
        "schema": EXPLAINED_SCHEMA,
        "assertion": placed_json(found.placed),
        **_use_json(found.placed.assertion.entry),
        "evidenceCheck": {"status": found.recheck.status, "detail": found.recheck.detail},
        "history": [one.assertion.id for one in found.chain],
        "authority": AUTHORITY,
    }


def _use_json(entry: AssertionEntry) -> Json:
    """For what it may be used, and what it was derived from; what is not there is left out."""
    derivation = None if entry.derivation is None else msgspec.to_builtins(entry.derivation)
    found: Json = {
        "startsAt": None if entry.starts_at is None else format_utc(entry.starts_at),
        "purposes": list(entry.purposes) or None,
        "about": entry.about,
        "derivation": derivation,
    }
    return {name: value for name, value in found.items() if value is not None}


def spoken_json(spoken: Spoken) -> Json:
    """What was recorded and what is disputed now."""
    return {
        "schema": SPOKEN_SCHEMA,
        "status": "recorded" if any(one.status == "recorded" for one in spoken.recorded) else "duplicate",
        "assertions": [
            {**format_assertion(one.assertion), "supersedes": list(one.assertion.entry.supersedes)}
            for one in spoken.recorded
        ],
        "uncertainty": {
            "requiresResolution": bool(spoken.disputed),
            "conflict": [one.id for one in spoken.disputed],
        },
        "authority": AUTHORITY,
    }
