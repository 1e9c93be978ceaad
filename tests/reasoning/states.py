"""The states and pairs of the oracle as real graphs, questions and policies."""

from collections.abc import Mapping

from tests.reasoning.oracle import pairs, table
from timeline.reasoning.graph import Access, Derivation, Graph, Head, Marker, Origin, Scope, Vertex
from timeline.reasoning.policy import Policy
from timeline.reasoning.proposition import Proposition, Query
from timeline.reasoning.roles import OriginClass, Role

HEAD = Head(size=7, root="A" * 43)
NEWER_HEAD = Head(size=8, root="B" * 42 + "A")
AT = 1_000
"""The moment of every question here."""

INTERVALS = {"before": (AT + 1, None), "within": (AT, AT + 1), "after": (None, AT)}
"""Where the moment of the question lies, and an interval for which that is so: the start belongs to it, the end not."""

WHO, WHY, WHAT = "person:anna", "support", "task:mend"
ACCESS = Access(WHO, WHY, WHAT)
QUERY = Query("agent", "prefers", AT)
POLICY = Policy(version=1, roots=2)
SNAPSHOT_POLICY = Policy(version=2, roots=2, snapshot=True)
OPEN = Scope()
UNRELATED = "uses"
"""Another predicate than the one that is asked about."""

GOOD_REPORT = Origin(
    OriginClass.ATTRIBUTED_REPORT,
    {"author": "key:anna", "channel": "owner", "content": "digest", "context": "command"},
    frozenset({"author", "channel", "content", "context"}),
)
GOOD_CAPTURE = Origin(
    OriginClass.DIRECT_CAPTURE,
    {"path": "session", "device": "device:1", "content": "digest", "at": "1"},
    frozenset({"path", "device", "content", "at"}),
)
PROVES_NOTHING = Origin(OriginClass.IMPORTED_RECORD)


def report(name: str) -> Vertex:
    """An attributed report of a good origin: a root that says nothing of its own."""
    return Vertex(name, f"version:{name}", Role.ATTRIBUTED_REPORT, None, observed_at=1, origin=GOOD_REPORT)


def marker(name: str) -> Marker:
    """What is left of something that was erased."""
    return Marker(name, "erased", f"commitment:{name}")


def derivation(*alternatives: frozenset[str]) -> Derivation:
    """A derivation by some rule."""
    return Derivation("rule", 1, "evaluator", alternatives)


def claim(
    name: str,
    role: str,
    proposition: Proposition,
    interval: tuple[int | None, int | None],
    alternatives: tuple[frozenset[str], ...],
    scope: Scope = OPEN,
    observed_at: int = 2,
) -> Vertex:
    """A claim that rests on these alternatives, or on nothing."""
    return Vertex(
        name,
        f"version:{name}",
        Role(role),
        proposition,
        observed_at,
        *interval,
        scope,
        origin=None if alternatives else PROVES_NOTHING,
        derivation=derivation(*alternatives) if alternatives else None,
    )


def alternatives(name: str, roots: int, *, gone: bool, shared: bool = False) -> tuple[frozenset[str], ...]:
    """What a claim rests on: one report each, or what is gone besides or alone; its own, or the same for everybody."""
    place = "shared" if shared else name
    if not roots:
        return (frozenset({f"gone:{place}:0"}),) if gone else ()
    return tuple(
        frozenset({f"report:{place}:{number}"} | ({f"gone:{place}:{number}"} if gone else set()))
        for number in range(1, roots + 1)
    )


def graph_of(*claims: Vertex, superseded: frozenset[str], revoked: frozenset[str]) -> Graph:
    """These claims and everything that they rest on."""
    needed = {
        name
        for vertex in claims
        if vertex.derivation
        for way in vertex.derivation.alternatives
        for name in way
    }
    vertices = {name: report(name) for name in sorted(needed) if name.startswith("report:")}
    markers = {name: marker(name) for name in sorted(needed) if name.startswith("gone:")}
    return Graph(HEAD, vertices | {vertex.id: vertex for vertex in claims}, markers, superseded, revoked)


SAYS = Proposition("agent", "prefers", '"tea"')
SAYS_OTHERWISE = Proposition("agent", "prefers", '"coffee"')
SAYS_SOMETHING_ELSE = Proposition("agent", UNRELATED, '"coffee"')


def state_graph(state: table.State) -> Graph:
    """The graph of one claim alone, called ``claim``."""
    if not state.admitted:
        return Graph(HEAD, {})
    scope = Scope(
        None if state.principal else frozenset({"person:ben"}),
        None if state.purpose else frozenset({"billing"}),
        None if state.task else frozenset({"task:other"}),
    )
    ways = alternatives("claim", state.roots, gone=state.unavailable)
    vertex = claim("claim", state.role, SAYS, INTERVALS[state.time], ways, scope)
    name = frozenset({"claim"})
    return graph_of(
        vertex,
        superseded=name if state.superseded else frozenset(),
        revoked=name if state.revoked else frozenset(),
    )


NAMES: Mapping[int, str] = {1: "first", 2: "second"}
SAID = {
    "equal": SAYS,
    "different": SAYS_OTHERWISE,
    "unrelated": SAYS_SOMETHING_ELSE,
    "inscribed": SAYS_SOMETHING_ELSE,
}


def pair_graph(pair: pairs.Pair) -> Graph:
    """The graph of two claims, called ``first`` and ``second``."""
    both = {1: (pair.first, SAYS), 2: (pair.second, SAID[pair.relation])}
    hidden = Scope(principals=frozenset({"person:ben"}))
    graph = graph_of(
        *(
            claim(
                NAMES[number],
                one.role,
                said,
                INTERVALS[one.time],
                alternatives(NAMES[number], one.roots, gone=one.gone, shared=pair.shared),
                Scope() if one.seen else hidden,
                observed_at=number,
            )
            for number, (one, said) in both.items()
            if one.place != "absent"
        ),
        superseded=frozenset(NAMES[number] for number, (one, _) in both.items() if one.place == "superseded"),
        revoked=frozenset(NAMES[number] for number, (one, _) in both.items() if one.place == "revoked"),
    )
    if pair.relation != "inscribed":
        return graph
    return Graph(
        graph.head,
        graph.vertices,
        graph.markers,
        graph.superseded,
        graph.revoked,
        frozenset({("first", "second")}),
    )
