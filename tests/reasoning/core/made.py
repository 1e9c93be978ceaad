"""Small graphs to decide about: roots, what is derived from them, and questions."""

from collections.abc import Iterable

import msgspec

from timeline.reasoning.admission import ORIGIN_FIELDS
from timeline.reasoning.graph import Access, Derivation, Graph, Head, Marker, Origin, Scope, Vertex
from timeline.reasoning.policy import Policy
from timeline.reasoning.proposition import Proposition, Query
from timeline.reasoning.roles import OriginClass, Role

HEAD = Head(10, "root-10")
LATER = Head(11, "root-11")
NOW = 5_000
ADA = Access("ada", "work", "task:a")
QUERY = Query("ada", "prefers", NOW)
ONE = Policy(1)
TWO = Policy(2, roots=2)
SALT = bytes(range(32))
EVERYBODY = Scope()
OTHERS = Scope(principals=frozenset({"bob"}))

REPORT = Role.ATTRIBUTED_REPORT
EVENT = Role.OBSERVED_EVENT
INTERPRETATION = Role.MEMORY_INTERPRETATION

replace = msgspec.structs.replace


def origin(kind: OriginClass) -> Origin:
    """An origin with every field of its class, all of them checked."""
    fields = {name: f"{kind}/{name}" for name in ORIGIN_FIELDS[kind]}
    return Origin(kind, fields, frozenset(fields))


def says(value: str | None, predicate: str = "prefers") -> Proposition | None:
    """Ada prefers something."""
    return None if value is None else Proposition("ada", predicate, f'"{value}"')


def root(name: str, value: str | None = "tea", **changes: object) -> Vertex:
    """Somebody's report with a good origin, observed at 1,000."""
    made = Vertex(
        id=name,
        version=f"v-{name}",
        role=REPORT,
        proposition=says(value),
        observed_at=1_000,
        origin=origin(OriginClass.ATTRIBUTED_REPORT),
    )
    return replace(made, **changes)


def derived(name: str, *alternatives: str, value: str | None = "tea", **changes: object) -> Vertex:
    """An interpretation of what is named: each text is one alternative, its members apart by blanks."""
    made = Vertex(
        id=name,
        version=f"v-{name}",
        role=INTERPRETATION,
        proposition=says(value),
        observed_at=2_000,
        derivation=Derivation(
            "summary", 1, "evaluator-1", tuple(frozenset(one.split()) for one in alternatives)
        ),
    )
    return replace(made, **changes)


def gone(name: str) -> Marker:
    """What is left of something erased."""
    return Marker(name, "erased", f"c-{name}")


def graph(*items: Vertex | Marker, **changes: object) -> Graph:
    """A graph at ``HEAD`` of these vertices and markers."""
    made = Graph(
        HEAD,
        {item.id: item for item in items if isinstance(item, Vertex)},
        {item.id: item for item in items if isinstance(item, Marker)},
    )
    return replace(made, **changes)


def ids(vertices: Iterable[Vertex]) -> list[str]:
    """Their ids, in their order."""
    return [vertex.id for vertex in vertices]


def sets(*texts: str) -> tuple[frozenset[str], ...]:
    """Each text a set of the words in it."""
    return tuple(frozenset(text.split()) for text in texts)
