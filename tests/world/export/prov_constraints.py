"""A checker of PROV documents against PROV-CONSTRAINTS (W3C Recommendation, 30 April 2013), for what we export.

The `prov` library reads and writes documents, and merges records that must be one; it checks neither all merges nor
the order of events nor types. Here: records of one identifier are merged term by term (constraints 22 to 29), events
are ordered and a cycle with a strict step is found (30 to 49), types are inferred and compared (50 to 56).
Numbers in comments are those of the Recommendation. It reads records as plain tuples, so it does not lean on the
library's own merging.
"""

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any, NamedTuple

from prov.model import ProvBundle, ProvDocument

# The formal arguments of each relation, in order; those without a question mark must be there.
FORMS = {
    "Generation": ("entity", "activity?", "time?"),
    "Usage": ("activity", "entity?", "time?"),
    "Communication": ("informed", "informant"),
    "Start": ("activity", "trigger?", "starter?", "time?"),
    "End": ("activity", "trigger?", "ender?", "time?"),
    "Invalidation": ("entity", "activity?", "time?"),
    "Derivation": ("generatedEntity", "usedEntity", "activity-", "generation-", "usage-"),
    "Attribution": ("entity", "agent"),
    "Association": ("activity", "agent?", "plan-"),
    "Delegation": ("delegate", "responsible?", "activity?"),
    "Influence": ("influencee", "influencer"),
    "Specialization": ("specificEntity", "generalEntity"),
    "Alternate": ("alternate1", "alternate2"),
    "Mention": ("specificEntity", "generalEntity", "bundle"),
    "Membership": ("collection", "entity"),
    "Activity": ("startTime?", "endTime?"),
}
"""``?``: may be unknown, and is then some unknown term. ``-``: may be absent, and is then nothing (Definition 1, 2)."""

# Which pairs of records are one: by equal arguments (24 to 27). A record is known by its identifier besides (22, 23).
KEYS = {
    "Generation": ("entity", "activity"),
    "Invalidation": ("entity", "activity"),
    "Start": ("activity", "starter"),
    "End": ("activity", "ender"),
}

ENTITY_LIKE = frozenset({"entity", "plan", "trigger", "generatedEntity", "usedEntity", "specificEntity"})
ENTITIES = ENTITY_LIKE | {"generalEntity", "alternate1", "alternate2", "collection"}
ACTIVITIES = frozenset({"activity", "informed", "informant", "starter", "ender"})
AGENTS = frozenset({"agent", "delegate", "responsible"})
NOTHING = "-"


class Record(NamedTuple):
    """One record: its kind, its identifier if it has one, its arguments by name, and its types."""

    kind: str
    id: str | None
    arguments: dict[str, str]
    types: frozenset[str]


class Terms:
    """Terms that must be equal: constants, unknown ones (they begin with ``?``), and nothing."""

    def __init__(self) -> None:
        """No term is known."""
        self._above: dict[str, str] = {}
        self.failures: list[str] = []

    def find(self, term: str) -> str:
        """What stands for a term."""
        while term in self._above:
            term = self._above[term]
        return term

    def equate(self, one: str, other: str, why: str) -> bool:
        """Make two terms one; whether anything changed. Two constants are never one."""
        one, other = self.find(one), self.find(other)
        if one == other:
            return False
        if one.startswith("?"):
            self._above[one] = other
        elif other.startswith("?"):
            self._above[other] = one
        else:
            self.failures.append(f"{why}: {one} and {other} would be one")
            return False
        return True


def check(document: ProvDocument) -> list[str]:
    """Everything that is wrong with a document; empty if it is valid. Each bundle is checked for itself."""
    found = list(_check_instance(document))
    for bundle in document.bundles:
        found += [f"bundle {bundle.identifier}: {failure}" for failure in _check_instance(bundle)]
    return found


def _check_instance(bundle: ProvBundle) -> Iterator[str]:
    unknown = iter(range(10**9))
    records, malformed = [], []
    for record in bundle.get_records():
        read, missing = _read(record, unknown)
        records.append(read)
        malformed += missing
    if malformed:
        yield from malformed
        return
    terms = Terms()
    _merge(records, terms)
    yield from dict.fromkeys(terms.failures)
    resolved = [r._replace(arguments={n: terms.find(v) for n, v in r.arguments.items()}) for r in records]
    yield from _types(resolved)
    yield from _cycles(_Order(_events(resolved, unknown), resolved).steps)


def _read(record: Any, unknown: Iterator[int]) -> tuple[Record, list[str]]:
    kind = record.get_type().localpart
    given = {name.localpart: str(value) for name, value in record.formal_attributes}
    arguments, missing = {}, []
    for form in FORMS.get(kind, ()):
        name = form.rstrip("?-")
        value = given.get(name, "None")
        if value != "None":
            arguments[name] = value
        elif form.endswith("?") or (name in {"generation", "usage"} and arguments["activity"] != NOTHING):
            arguments[name] = f"?{next(unknown)}"
        elif form.endswith("-"):
            arguments[name] = NOTHING
        else:
            missing.append(f"{kind} {record.identifier}: argument {name} is missing")
    types = frozenset(str(one) for one in record.get_asserted_types())
    identifier = None if record.identifier is None else str(record.identifier)
    return Record(kind, identifier, arguments, types), missing


# -- merging ---------------------------------------------------------------------------------------------------


def _merge(records: list[Record], terms: Terms) -> None:
    """Until nothing changes: a record that is known twice has the same arguments."""
    named = [
        record if record.id else record._replace(id=f"?{record.kind}-{number}")
        for number, record in enumerate(records)
        if record.kind in FORMS
    ]
    changed = True
    while changed:
        changed = False
        for one, other in combinations(named, 2):
            if one.kind == other.kind and (_same_id(one, other, terms) or _same_key(one, other, terms)):
                # 22, 23: one identifier, one record; 24 to 27: one event, one identifier.
                changed |= terms.equate(str(one.id), str(other.id), f"two {one.kind}s are one")
                for name in one.arguments:
                    why = f"{one.kind} {one.id}: argument {name}"
                    changed |= terms.equate(one.arguments[name], other.arguments[name], why)
            changed |= _meet_times(one, other, terms) or _meet_times(other, one, terms)


def _same_id(one: Record, other: Record, terms: Terms) -> bool:
    return terms.find(str(one.id)) == terms.find(str(other.id))


def _same_key(one: Record, other: Record, terms: Terms) -> bool:
    if one.kind == "Mention":  # 29 of the note on mentions: one general entity and one bundle
        return one.arguments["specificEntity"] == other.arguments["specificEntity"]
    key = KEYS.get(one.kind)
    return key is not None and all(
        terms.find(one.arguments[name]) == terms.find(other.arguments[name]) for name in key
    )


def _meet_times(activity: Record, event: Record, terms: Terms) -> bool:
    """28, 29: an activity's start and end have its times."""
    name = {"Start": "startTime", "End": "endTime"}.get(event.kind)
    if activity.kind != "Activity" or name is None or activity.id != event.arguments["activity"]:
        return False
    return terms.equate(activity.arguments[name], event.arguments["time"], f"activity {activity.id}: {name}")


# -- types -----------------------------------------------------------------------------------------------------


def _types(records: list[Record]) -> Iterator[str]:
    entities, activities, kinds = set(), set(), {}
    empty = {r.id for r in records if any(one.endswith("EmptyCollection") for one in r.types)}
    for record in records:
        if record.kind == "Entity":
            entities.add(record.id)
        if record.kind == "Activity":
            activities.add(record.id)
        if record.kind in FORMS and record.kind != "Activity":
            entities |= _known(record, ENTITIES)
            activities |= _known(record, ACTIVITIES)
        if record.id is not None:
            kinds.setdefault(record.id, set()).add(record.kind)
        if record.kind == "Specialization" and len(set(record.arguments.values())) == 1:  # 52
            yield f"{record.arguments['specificEntity']}: is no specialization of itself"
        if record.kind == "Membership" and record.arguments["collection"] in empty:  # 56
            yield f"{record.arguments['collection']}: an empty collection has no member"
    yield from (f"{name}: is an entity and an activity" for name in sorted(entities & activities))  # 55
    for name, found in kinds.items():
        relations = found - {"Entity", "Activity", "Agent"}
        if len(relations) > 1 or (relations and found != relations):  # 53, 54
            yield f"{name}: names {' and '.join(sorted(found))}"
    yield from _specialization_cycles(records)


def _known(record: Record, names: Iterable[str]) -> set[str]:
    return {
        value
        for name, value in record.arguments.items()
        if name in names and value != NOTHING and not value.startswith("?")
    }


def _specialization_cycles(records: list[Record]) -> Iterator[str]:
    """52 with transitivity: no circle of specializations."""
    steps = [
        (r.arguments["generalEntity"], r.arguments["specificEntity"], True)
        for r in records
        if r.kind == "Specialization"
    ]
    yield from _cycles(steps)


# -- order -----------------------------------------------------------------------------------------------------

Step = tuple[str, str, bool]
"""Before, after, and whether strictly."""


class Event(NamedTuple):
    """An instantaneous event."""

    name: str
    kind: str
    arguments: dict[str, str]


def _events(records: list[Record], unknown: Iterator[int]) -> list[Event]:
    kinds = {"Generation", "Usage", "Invalidation", "Start", "End"}
    found = {record.id or f"?event-{next(unknown)}": record for record in records if record.kind in kinds}
    return [Event(name, record.kind, record.arguments) for name, record in found.items()]


class _Order:
    """Which event comes before which."""

    def __init__(self, events: list[Event], records: list[Record]) -> None:
        """Apply every rule."""
        self.steps: list[Step] = []
        self._events = events
        self._activities()
        self._entities()
        for record in records:
            self._relation(record.kind, record.arguments)

    def _of(self, kind: str, argument: str, value: str) -> list[str]:
        return [e.name for e in self._events if e.kind == kind and e.arguments[argument] == value]

    def _before(self, earlier: Iterable[str], later: Iterable[str], *, strictly: bool = False) -> None:
        pairs = ((one, other) for one in earlier for other in list(later) if one != other)
        self.steps.extend((one, other, strictly) for one, other in pairs)

    def _begins(self, thing: str) -> list[str]:
        return [*self._of("Generation", "entity", thing), *self._of("Start", "activity", thing)]

    def _ceases(self, thing: str) -> list[str]:
        return [*self._of("Invalidation", "entity", thing), *self._of("End", "activity", thing)]

    def _activities(self) -> None:
        for a in {e.arguments["activity"] for e in self._events if "activity" in e.arguments}:
            starts, ends = self._of("Start", "activity", a), self._of("End", "activity", a)
            inside = [*self._of("Usage", "activity", a), *self._of("Generation", "activity", a)]
            self._before(starts, ends)  # 30
            self._before(starts, starts)  # 31
            self._before(ends, ends)  # 32
            self._before(starts, inside)  # 33, 34
            self._before(inside, ends)

    def _entities(self) -> None:
        named = [e.arguments.get("entity", e.arguments.get("trigger", "")) for e in self._events]
        for thing in set(named):
            generated = self._of("Generation", "entity", thing)
            invalidated = self._of("Invalidation", "entity", thing)
            triggers = [*self._of("Start", "trigger", thing), *self._of("End", "trigger", thing)]
            used = [*self._of("Usage", "entity", thing), *triggers]
            self._before(generated, [*used, *invalidated])  # 36, 37, 44, 45
            self._before(used, invalidated)  # 38, 44, 45
            self._before(generated, generated)  # 39
            self._before(invalidated, invalidated)  # 40

    def _relation(self, kind: str, args: dict[str, str]) -> None:
        match kind:
            case "Communication":  # 35
                ends = self._of("End", "activity", args["informed"])
                self._before(self._of("Start", "activity", args["informant"]), ends)
            case "Derivation":
                older = self._of("Generation", "entity", args["usedEntity"])
                newer = self._of("Generation", "entity", args["generatedEntity"])
                self._before(older, newer, strictly=True)  # 42
                if NOTHING not in {args["usage"], args["generation"]}:
                    self._before([args["usage"]], [args["generation"]])  # 41
            case "Specialization":
                general, specific = args["generalEntity"], args["specificEntity"]
                first, last = ("Generation", general, specific), ("Invalidation", specific, general)
                for event, one, other in (first, last):  # 43, 46
                    self._before(self._of(event, "entity", one), self._of(event, "entity", other))
            case "Association":  # 47
                self._before(self._begins(args["agent"]), self._of("End", "activity", args["activity"]))
                self._before(self._of("Start", "activity", args["activity"]), self._ceases(args["agent"]))
            case "Attribution":  # 48
                self._before(self._begins(args["agent"]), self._of("Generation", "entity", args["entity"]))
            case "Delegation":  # 49
                self._before(self._begins(args["responsible"]), self._ceases(args["delegate"]))
            case _:
                pass


def _cycles(steps: Iterable[Step]) -> Iterator[str]:
    """A circle of steps of which one is strict: something would stand before itself."""
    after: dict[str, set[str]] = {}
    strict = []
    for one, other, strictly in steps:
        after.setdefault(one, set()).add(other)
        if strictly:
            strict.append((one, other))
    for one, other in strict:
        pending, seen = [other], {other}
        while pending:
            for following in after.get(pending.pop(), ()):
                if following not in seen:
                    seen.add(following)
                    pending.append(following)
        if one in seen:
            yield f"{one}: would stand before itself"
            return
