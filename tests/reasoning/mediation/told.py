"""Decisions, units and small worlds for the tests of what a reader is told."""

from timeline.reasoning.decision import Decision, Flag, Ground, Status, Version, Witness
from timeline.reasoning.graph import Access, Graph, Head, Origin, Scope, Vertex
from timeline.reasoning.mediation import ContentUnit, Emission, StatusUnit
from timeline.reasoning.policy import Policy
from timeline.reasoning.proposition import Proposition, Query
from timeline.reasoning.roles import OriginClass, Role

AT = 1_780_315_200_000
"""2026-06-01, noon."""

HEAD = Head(120, "h" * 42 + "A")
NEWER = Head(121, "n" * 42 + "A")
SAME = Emission(HEAD, HEAD, AT)
MOVED = Emission(HEAD, NEWER, AT)
SALT = bytes(range(32))
TRACE = "trace:" + "0a" * 16

ADA = Access("user:ada")
QUERY = Query("user:ada", "city", AT)
ABOUT = "city of user:ada"
STRICT = Policy(version=1)
SNAPSHOT = Policy(version=2, snapshot=True)
OPEN = Policy(version=3, collapse=False)

ORIGIN = Origin(
    OriginClass.ATTRIBUTED_REPORT,
    {"author": "user:ada", "channel": "c", "content": "d", "context": "s"},
    frozenset({"author", "channel", "content", "context"}),
)
HIDDEN = Scope(principals=frozenset({"user:ben"}))


def city(name: str) -> Proposition:
    """That somebody lives there."""
    return Proposition("user:ada", "city", f'"{name}"')


def report(
    name: str,
    said: Proposition | None,
    observed_at: int = AT - 1000,
    end: int | None = None,
    scope: Scope = Scope(),  # noqa: B008  # a frozen value that nobody changes
) -> Vertex:
    """A report of a good origin."""
    role = Role.ATTRIBUTED_REPORT
    return Vertex(name, f"version-of-{name}", role, said, observed_at, None, end, scope, origin=ORIGIN)


def graph(*vertices: Vertex, superseded: frozenset[str] = frozenset(), head: Head = HEAD) -> Graph:
    """These vertices at one head."""
    return Graph(head, {vertex.id: vertex for vertex in vertices}, superseded=superseded)


def decision(status: Status, *flags: Flag, premises: tuple[Vertex, ...] = ()) -> Decision:
    """A decision with a witness that names things which nobody may be told of."""
    witness = Witness(
        head=Head(987654, "WITNESSROOT"),
        query="WITNESSQUERY",
        policy="WITNESSPOLICY",
        at=AT,
        access=Access("WITNESSACCESS"),
        supported=(Ground(Version("WITNESSPREMISE", "WITNESSVERSION"), ("WITNESSGROUND",)),),
        withheld=("WITNESSCOMMITMENT",),
    )
    return Decision(status, frozenset(flags), premises, witness)


def says(name: str, unit: str = "u1", as_of: int | None = None, query: Query = QUERY) -> ContentUnit:
    """A unit that asserts a city."""
    return ContentUnit(unit, query, city(name), as_of)


def states(text: str, unit: str = "u1", as_of: int | None = None, query: Query = QUERY) -> StatusUnit:
    """A unit that says how things stand."""
    return StatusUnit(unit, query, text, as_of)
