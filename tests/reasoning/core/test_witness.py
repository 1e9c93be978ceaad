import hashlib
from collections.abc import Callable

import msgspec
import pytest

from sidecars.digest import Digest
from tests.reasoning.core.made import (
    ADA,
    HEAD,
    LATER,
    NOW,
    ONE,
    OTHERS,
    QUERY,
    SALT,
    TWO,
    derived,
    gone,
    graph,
    replace,
    root,
    says,
)
from timeline.reasoning.decision import (
    Decision,
    Dispute,
    Flag,
    Ground,
    Missing,
    Status,
    Untimely,
    Version,
    Witness,
)
from timeline.reasoning.errors import WitnessClosedError, WitnessRefusedError
from timeline.reasoning.graph import Access, Graph, Marker, Scope, Vertex
from timeline.reasoning.policy import Policy
from timeline.reasoning.resolution import resolve
from timeline.reasoning.witness import (
    NO_SALT,
    SALT_BYTES,
    SealedWitness,
    canonical_witness,
    check_witness,
    open_sealed,
    query_digest,
    seal,
)

BOB = Access("bob")


def version(name: str) -> Version:
    """The version of a vertex made by ``made``."""
    return Version(name, f"v-{name}")


def commitment(name: str, salt: bytes = SALT) -> str:
    """What a witness says of a hidden vertex, computed once more."""
    content = f'["timeline-withheld/v1","{name}","v-{name}"]'.encode()
    return str(Digest(hashlib.sha256(salt + content).digest()))


def decide(whole: Graph, policy: Policy = ONE) -> Decision:
    """The decision, its withheld versions under a salt."""
    return resolve(whole, QUERY, ADA, policy, salt=SALT)


def witness_of(whole: Graph, policy: Policy = ONE) -> Witness:
    """The witness of a decision that has one; it is checked as well."""
    decision = decide(whole, policy)
    check_witness(decision.witness, decision, whole, QUERY, ADA, policy, salt=SALT)
    assert decision.witness is not None
    return decision.witness


def payload(witness: Witness) -> dict[str, object]:
    """What a witness has beyond what it is bound to."""
    names = ("supported", "conflicted", "stale", "withheld", "unavailable")
    return {name: getattr(witness, name) for name in names if getattr(witness, name)}


# -- obligations -----------------------------------------------------------------------------------------------


@pytest.mark.requirement("P26")
def test_a_witness_is_bound_to_head_question_policy_moment_and_asker() -> None:
    """Each by what it is, or by its digest."""
    witness = witness_of(graph(root("r")), TWO)
    assert (witness.head, witness.at, witness.access, witness.policy) == (HEAD, NOW, ADA, TWO.digest)
    asked = b'{"at":5000,"modality":"asserted","predicate":"prefers","schema":"timeline-query/v1","subject":"ada"}'
    assert witness.query == query_digest(QUERY) == str(Digest.of(asked))


@pytest.mark.requirement("P27")
def test_supported_names_the_premises_and_the_root_sets_used() -> None:
    """Exact versions; only as many as were needed."""
    roots = [root(name, None) for name in "abc"]
    whole = graph(*roots, derived("d", "b a"), derived("e", "c"), derived("f", "c"))
    assert payload(witness_of(whole)) == {"supported": (Ground(version("d"), ("a", "b")),)}
    assert payload(witness_of(whole, TWO)) == {
        "supported": (Ground(version("e"), ("c",)), Ground(version("d"), ("a", "b")))
    }
    both = graph(*roots, derived("d", "b", "a"))
    assert payload(witness_of(both, TWO)) == {
        "supported": (Ground(version("d"), ("a",)), Ground(version("d"), ("b",)))
    }


@pytest.mark.requirement("P27", "P25")
def test_a_conflict_names_the_versions_and_how_they_disagree() -> None:
    """By their values, or because somebody has declared it."""
    assert payload(witness_of(graph(root("r"), root("s", "coffee"), root("t", "coffee")))) == {
        "supported": (Ground(version("r"), ("r",)), Ground(version("s"), ("s",))),
        "conflicted": (Dispute("different-values", (version("r"), version("s"))),),
    }
    declared = graph(
        root("r"), root("s", proposition=says("coffee", "drinks")), inscribed=frozenset({("r", "s")})
    )
    assert payload(witness_of(declared)) == {
        "supported": (Ground(version("r"), ("r",)), Ground(version("s"), ("s",))),
        "conflicted": (Dispute("inscribed", (version("r"), version("s"))),),
    }
    both = graph(root("r"), root("s", "coffee"), inscribed=frozenset({("r", "s")}))
    assert payload(witness_of(both))["conflicted"] == (
        Dispute("different-values", (version("r"), version("s"))),
        Dispute("inscribed", (version("r"), version("s"))),
    )


@pytest.mark.requirement("P27")
def test_stale_names_what_does_not_hold_and_when_it_did() -> None:
    """And nothing that holds, nor what no way leads over."""
    whole = graph(
        root("r", None, start=1, end=NOW),
        root("s", None),
        root("x", None, end=3),
        derived("d", "r s", start=NOW + 1),
        derived("e", "x"),
    )
    assert payload(witness_of(whole)) == {
        "stale": (Untimely(version("d"), NOW + 1, None), Untimely(version("r"), 1, NOW))
    }
    assert witness_of(whole).at == NOW


@pytest.mark.requirement("P27", "P2")
def test_unavailable_names_the_marker_and_what_depends_on_it() -> None:
    """By cause and commitment."""
    items: list[Vertex | Marker] = [
        root("r", None),
        gone("m"),
        replace(gone("n"), cause="sealed"),
        derived("e", "d n"),
    ]
    first, second = (
        Missing("m", "erased", "c-m", version("d")),
        Missing("n", "sealed", "c-n", version("e")),
    )
    assert payload(witness_of(graph(*items, derived("d", "r m")))) == {"unavailable": (first,)}
    assert payload(witness_of(graph(*items, derived("d", "r m", value=None)))) == {
        "unavailable": (first, second)
    }


@pytest.mark.requirement("P27")
def test_unavailable_and_stale_has_both() -> None:
    """What is gone, and what would not hold even if it were not."""
    whole = graph(gone("m"), derived("d", "m", end=NOW))
    assert payload(witness_of(whole)) == {
        "stale": (Untimely(version("d"), None, NOW),),
        "unavailable": (Missing("m", "erased", "c-m", version("d")),),
    }


@pytest.mark.requirement("P27", "N6")
def test_withheld_has_commitments_alone() -> None:
    """Salted, sorted, and without a word or an id of what is hidden."""
    whole = graph(root("r"), root("s", scope=OTHERS), root("t", "coffee", scope=OTHERS))
    witness = witness_of(whole)
    assert payload(witness) == {
        "supported": (Ground(version("r"), ("r",)),),
        "withheld": tuple(sorted([commitment("s"), commitment("t")])),
    }
    assert b"v-s" not in canonical_witness(witness)
    plain = resolve(whole, QUERY, ADA, ONE).witness
    assert plain is not None
    assert plain.withheld == tuple(sorted([commitment("s", NO_SALT), commitment("t", NO_SALT)]))
    assert bytes(32) == NO_SALT


@pytest.mark.requirement("P26", "P28")
def test_too_few_roots_need_a_witness_and_no_material() -> None:
    """Something relevant was admitted, so that it is not mere absence."""
    assert payload(witness_of(graph(root("r")), TWO)) == {}
    assert payload(witness_of(graph(derived("d", "s"), root("s", None, scope=OTHERS)))) == {}


@pytest.mark.requirement("P26", "P28")
def test_absence_alone_needs_no_witness_and_may_have_an_empty_one() -> None:
    """Bound to head, question and policy; with anything in it, it is refused."""
    whole = graph(root("r", None))
    decision = decide(whole)
    assert decision.witness is None
    check_witness(None, decision, whole, QUERY, ADA, ONE)
    empty = Witness(head=HEAD, query=query_digest(QUERY), policy=ONE.digest, at=NOW, access=ADA)
    check_witness(empty, decision, whole, QUERY, ADA, ONE)
    for bad in (
        replace(empty, withheld=(commitment("r"),)),
        replace(empty, head=LATER),
        replace(empty, policy=TWO.digest),
    ):
        with pytest.raises(WitnessRefusedError):
            check_witness(bad, decision, whole, QUERY, ADA, ONE)


# -- the check -------------------------------------------------------------------------------------------------

RICH = graph(
    root("r"),
    root("s", "coffee"),
    root("h", scope=OTHERS),
    root("i", scope=OTHERS),
    inscribed=frozenset({("r", "s")}),
)
POOR = graph(gone("m"), gone("n"), root("r", None, end=NOW), derived("d", "m n r", end=NOW))


@pytest.mark.requirement("P26", "N7")
@pytest.mark.parametrize("whole", [RICH, POOR], ids=["supported", "unavailable"])
@pytest.mark.parametrize("name", ["supported", "conflicted", "stale", "withheld", "unavailable"])
def test_a_witness_with_too_little_or_too_much_is_refused(whole: Graph, name: str) -> None:
    """Each category: an item missing, an item of another decision added, the order turned."""
    decision = decide(whole)
    witness = witness_of(whole)
    foreign = witness_of(POOR if whole is RICH else RICH)
    items = getattr(witness, name)
    others = {items[1:], items[:-1], items[::-1], items * 2, items + getattr(foreign, name)} - {items}
    assert others
    for other in others:
        with pytest.raises(
            WitnessRefusedError, match=rf"^decision witness: field {name}: not what the decision obl"
        ):
            check_witness(replace(witness, **{name: other}), decision, whole, QUERY, ADA, ONE, salt=SALT)


@pytest.mark.requirement("P26")
@pytest.mark.parametrize(
    "changes",
    [
        {"head": LATER},
        {"query": query_digest(replace(QUERY, at=1))},
        {"policy": TWO.digest},
        {"at": NOW + 1},
        {"access": BOB},
        {"scope": Scope()},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_witness_of_something_else_is_refused(changes: dict[str, object]) -> None:
    """Another head, question, policy, moment, asker, or other people who may open it."""
    name = next(iter(changes))
    with pytest.raises(WitnessRefusedError, match=rf"^decision witness: field {name}: not what the decision"):
        check_witness(replace(witness_of(RICH), **changes), decide(RICH), RICH, QUERY, ADA, ONE, salt=SALT)


@pytest.mark.requirement("P26")
def test_a_missing_witness_is_refused_where_something_was_relevant() -> None:
    """Also where nothing is supported."""
    for whole, policy in ((RICH, ONE), (graph(root("r")), TWO), (graph(root("r", scope=OTHERS)), ONE)):
        with pytest.raises(
            WitnessRefusedError,
            match=r"^decision witness: something relevant was admitted, so there has to be one$",
        ):
            check_witness(None, decide(whole, policy), whole, QUERY, ADA, policy, salt=SALT)


@pytest.mark.requirement("P26")
@pytest.mark.parametrize(
    "lie",
    [
        lambda decision: replace(decision, status=Status.UNKNOWN),
        lambda decision: replace(decision, flags=decision.flags - {Flag.WITHHELD}),
        lambda decision: replace(decision, flags=decision.flags | {Flag.STALE}),
        lambda decision: replace(decision, premises=decision.premises[:1]),
        lambda decision: replace(decision, premises=(*decision.premises, root("h", scope=OTHERS))),
    ],
)
def test_a_decision_that_the_graph_does_not_bear_has_no_witness(lie: Callable[[Decision], Decision]) -> None:
    """The witness is good, and of another decision."""
    decision = decide(RICH)
    with pytest.raises(
        WitnessRefusedError, match=r"^decision witness: the decision is not what the graph says$"
    ):
        check_witness(decision.witness, lie(decision), RICH, QUERY, ADA, ONE, salt=SALT)


@pytest.mark.requirement("P26")
def test_withheld_versions_are_checked_under_their_salt() -> None:
    """Another salt commits to something else; where none is given it is the plain one."""
    decision = decide(RICH)
    with pytest.raises(WitnessRefusedError, match=r"field withheld"):
        check_witness(decision.witness, decision, RICH, QUERY, ADA, ONE)
    plain = resolve(RICH, QUERY, ADA, ONE)
    check_witness(plain.witness, plain, RICH, QUERY, ADA, ONE)


# -- who may open it -------------------------------------------------------------------------------------------


@pytest.mark.requirement("N2", "P26")
def test_it_is_open_to_who_may_see_everything_that_it_is_about() -> None:
    """What is relevant, used or not, hidden or not; and all that the premises, or would-be premises, come from."""
    only = Scope(principals=frozenset({"ada", "bob"}))
    work = Scope(purposes=frozenset({"work"}))
    both = Scope(principals=frozenset({"ada", "bob"}), purposes=frozenset({"work"}))
    root_, alone = root("r", None, scope=only), root("x", None, scope=OTHERS)
    assert witness_of(graph(root("r"))).scope == Scope()
    assert witness_of(graph(root("r"), root("s", scope=only))).scope == only
    assert witness_of(graph(root("r", scope=only)), TWO).scope == only
    assert witness_of(graph(root_, derived("d", "r", scope=work))).scope == both
    assert witness_of(graph(root_, alone, derived("d", "r", "x"))).scope == only
    assert witness_of(graph(gone("m"), root_, derived("d", "r m", scope=work))).scope == both
    assert witness_of(graph(replace(root_, end=NOW), derived("d", "r"))).scope == only
    assert witness_of(graph(root("r"), root("s", scope=OTHERS))).scope == OTHERS
    assert witness_of(graph(root("r", scope=only), root("s", scope=OTHERS))).scope == OTHERS
    assert witness_of(graph(root("r"), root("s", "coffee", scope=only))).scope == only


# -- canonical form and seal -----------------------------------------------------------------------------------


@pytest.mark.requirement("N7")
def test_the_canonical_form_is_written_out_once() -> None:
    """So that others can compute it."""
    scope = Scope(principals=frozenset({"gil", "fay", "eve", "dan", "cat", "bob", "ada"}))
    whole = graph(root("r", scope=scope), root("s", "coffee"))
    witness = replace(witness_of(whole), query="Q", policy="P")
    assert canonical_witness(witness).decode() == (
        '{"access":{"principal":"ada","purpose":"work","task":"task:a"},"at":5000,'
        '"conflicted":[{"relation":"different-values",'
        '"versions":[{"id":"r","version":"v-r"},{"id":"s","version":"v-s"}]}],'
        '"head":{"root":"root-10","size":10},"policy":"P","query":"Q",'
        '"schema":"timeline-decision-witness/v1",'
        '"scope":{"principals":["ada","bob","cat","dan","eve","fay","gil"],"purposes":null,"tasks":null},"stale":[],'
        '"supported":[{"premise":{"id":"r","version":"v-r"},"roots":["r"]},'
        '{"premise":{"id":"s","version":"v-s"},"roots":["s"]}],"unavailable":[],"withheld":[]}'
    )


@pytest.mark.requirement("N2", "N6", "N7")
def test_a_sealed_witness_is_one_digest_and_opens_with_its_salt() -> None:
    """For one who may see what it is about."""
    for whole in (RICH, POOR):
        witness = witness_of(whole)
        content = canonical_witness(witness)
        sealed = seal(witness, SALT)
        assert sealed == SealedWitness(str(Digest(hashlib.sha256(SALT + content).digest())))
        assert SealedWitness.__struct_fields__ == ("commitment",)
        assert open_sealed(sealed, content, SALT, BOB) == witness


@pytest.mark.requirement("N2")
def test_the_asker_may_not_open_what_was_withheld_from_him() -> None:
    """Not even his own decision's."""
    witness = witness_of(RICH)
    sealed, content = seal(witness, SALT), canonical_witness(witness)
    with pytest.raises(
        WitnessClosedError, match=r"^decision witness: it is about more than the asker may see$"
    ):
        open_sealed(sealed, content, SALT, ADA)


@pytest.mark.requirement("N6")
def test_another_content_or_another_salt_opens_nothing() -> None:
    """And nothing tells which of the two was wrong."""
    witness = witness_of(RICH)
    sealed, content = seal(witness, SALT), canonical_witness(witness)
    for bad, salt in (
        (content[:-1], SALT),
        (content, bytes(32)),
        (canonical_witness(witness_of(POOR)), SALT),
    ):
        with pytest.raises(
            WitnessRefusedError, match=r"^decision witness: content and salt do not open this seal$"
        ):
            open_sealed(sealed, bad, salt, BOB)


@pytest.mark.requirement("N7")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "the content is none"),
        (b'{"schema":"timeline-decision-witness/v1"}', "the content is none"),
        (canonical_witness(witness_of(POOR)) + b" ", "the content is not in canonical form"),
        (msgspec.json.encode(witness_of(POOR)), "the content is not in canonical form"),
    ],
)
def test_what_is_no_witness_in_canonical_form_is_refused_although_committed_to(
    content: bytes, message: str
) -> None:
    """Whoever sealed it."""
    sealed = SealedWitness(str(Digest(hashlib.sha256(SALT + content).digest())))
    with pytest.raises(WitnessRefusedError, match=rf"^decision witness: {message}$"):
        open_sealed(sealed, content, SALT, BOB)


@pytest.mark.requirement("N6")
def test_a_salt_has_thirty_two_bytes() -> None:
    """Another one is a fault of ours: content and salt could be told apart in two ways."""
    assert SALT_BYTES == 32
    witness = witness_of(RICH)
    for salt in (b"", bytes(31), bytes(33)):
        with pytest.raises(RuntimeError, match=r"^a salt has 32 bytes$"):
            seal(witness, salt)
