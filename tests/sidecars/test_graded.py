"""``graded``: what may be claimed, and what grades are made of, as leaves."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecars import graded
from sidecars.errors import MalformedError, UnknownKeyError
from sidecars.graded import (
    ANOMALIES_MAX,
    CHOSEN_MAX,
    CLAIMS_MAX,
    GRADED,
    GRADED_BYTES_MAX,
    HOPS_MAX,
    MILLION,
    PARTS_MAX,
    ROWS_MAX,
    SOURCES_MAX,
    Anomaly,
    Claim,
    ClaimsEntry,
    ClaimSource,
    CredentialEntry,
    CredibilityEntry,
    CredibilityRow,
    GradedBody,
    VerdictEntry,
    check_graded,
    is_canonical_value,
)
from sidecars.identity import canonical_bytes, strict_loads
from sidecars.leaf import (
    LEAF_BYTES_MAX,
    SIGNED_BY,
    Kind,
    Leaf,
    Role,
    format_leaf,
    open_leaf,
    parse_leaf,
    seal_leaf,
)
from tests.sidecars.samples import AT, LOG, ORIGIN, OWNER, digest_text

SOURCE = ClaimSource(entity="person:ada", source_type="observed", hops=1, root="root:a", session="session:1")
CLAIM = Claim(
    id="claim:1",
    subject="person:bob",
    key="born",
    domain="history",
    value="1970",
    intent="asserted",
    mutability="immutable",
    said_at=AT,
    sources=(SOURCE,),
)
CLAIMS = ClaimsEntry("work:letters", "conversation", "person:ada", (CLAIM,))
CREDENTIAL = CredentialEntry(
    id="credential:1",
    entity="person:ada",
    domain="history",
    quality=MILLION,
    basis="a degree",
    valid_from=AT,
)
ROW = CredibilityRow(
    entity="person:ada",
    domain="history",
    score=500_000,
    claims=2,
    corroborated=1,
    contradicted=1,
    corroborated_weight=1_000_000,
    contradicted_weight=1_000_000,
    stood_days=3,
)
ANOMALY = Anomaly(kind="sudden-drop", about="person:ada", domain="history", count=1)
CREDIBILITY = CredibilityEntry(
    run="run:1",
    computation_version=1,
    tables_version=1,
    part=1,
    parts=1,
    as_of=AT,
    inputs=7,
    inputs_digest=digest_text("inputs"),
    rows=(ROW,),
    anomalies=(ANOMALY,),
    anomalies_found=1,
)
VERDICT = VerdictEntry(
    id="verdict:1",
    subject="person:bob",
    key="born",
    grades_digest=digest_text("grades"),
    reason="the register says so",
    chosen=("claim:1",),
)
BODIES: tuple[GradedBody, ...] = (CLAIMS, CREDENTIAL, CREDIBILITY, VERDICT)


def leaf_of(body: GradedBody) -> Leaf:
    """Give the leaf at index 0 that states it."""
    return Leaf(
        origin=ORIGIN, index=0, root=digest_text("root"), batch_start=0, batch_size=1, at=AT, body=body
    )


def changed(body: Any, **fields: Any) -> Any:
    """Give one like it."""
    return msgspec.structs.replace(body, **fields)


def claims_of(*claims: Claim, **fields: Any) -> ClaimsEntry:
    """Give a work that makes these claims."""
    return msgspec.structs.replace(CLAIMS, claims=claims, **fields)


@pytest.mark.parametrize("body", BODIES, ids=lambda body: type(body).__name__)
def test_a_body_comes_back_unchanged(body: GradedBody) -> None:
    """Payload and value are inverse, the payload is RFC 8785, and fields without a value are left out."""
    leaf = leaf_of(body)
    payload = format_leaf(leaf)
    assert parse_leaf(payload, leaf.kind) == leaf
    assert canonical_bytes(strict_loads(payload)) == payload
    assert b"null" not in payload


@pytest.mark.requirement("G7", "G13")
@pytest.mark.parametrize(
    ("body", "role"),
    [
        (CLAIMS, Role.OWNER),
        (CREDENTIAL, Role.OWNER),
        (CREDIBILITY, Role.LOG),
        (VERDICT, Role.OWNER),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_owner_states_and_the_log_key_computes(body: GradedBody, role: Role) -> None:
    """Nobody signs a credibility by hand: the owner key is refused for it, as the log key is for the others."""
    leaf = leaf_of(body)
    right, wrong = (OWNER, LOG) if role is Role.OWNER else (LOG, OWNER)
    assert SIGNED_BY[leaf.kind] is role
    assert open_leaf(seal_leaf(leaf, right), OWNER.verifier, LOG.verifier) == leaf
    with pytest.raises(UnknownKeyError):
        open_leaf(seal_leaf(leaf, wrong), OWNER.verifier, LOG.verifier)


def test_each_body_has_a_kind_of_its_own() -> None:
    """The four that the register finds."""
    assert {
        ClaimsEntry: Kind.CLAIMS,
        CredentialEntry: Kind.CREDENTIAL,
        CredibilityEntry: Kind.CREDIBILITY,
        VerdictEntry: Kind.VERDICT,
    } == GRADED


def test_a_body_is_found_by_what_it_is_about() -> None:
    """Sorted, and each once."""
    other = changed(CLAIM, id="claim:2", subject="person:ada")
    assert claims_of(CLAIM, other, changed(other, id="claim:3")).abouts == (
        "person:ada",
        "person:bob",
        "work:letters",
    )
    assert CREDENTIAL.abouts == ("credential:1", "person:ada")
    rows = (ROW, changed(ROW, domain="law"), changed(ROW, entity="person:bob"))
    assert changed(CREDIBILITY, rows=rows).abouts == ("person:ada", "person:bob", "run:1")
    assert VERDICT.abouts == ("person:bob", "verdict:1")


@pytest.mark.requirement("G1", "G10", "G23")
def test_only_whole_numbers_are_signed_and_no_composite_is() -> None:
    """No struct of a leaf has a float, a composite, or a score beside the computed one."""
    structs = [
        one
        for one in vars(graded).values()
        if isinstance(one, type) and issubclass(one, msgspec.Struct) and one.__module__ == graded.__name__
    ]
    fields = {(one.__name__, field.name) for one in structs for field in msgspec.structs.fields(one)}
    assert {name for _, name in fields} & {
        "composite",
        "grade",
        "credibility",
        "confidence",
        "distance",
    } == set()
    assert [owner for owner, name in fields if name == "score"] == ["CredibilityRow"]
    assert "float" not in str([field.type for one in structs for field in msgspec.structs.fields(one)])
    absent, failed = SOURCE, changed(SOURCE, verification=0)
    assert msgspec.json.encode(absent) != msgspec.json.encode(failed)
    assert set(Claim.__annotations__["intent"].__args__) == {
        "asserted",
        "speculative",
        "fictional",
        "disclaimed",
        "hypothetical",
    }


SOURCES = tuple(changed(SOURCE, root=f"root:{number}") for number in range(SOURCES_MAX))


@pytest.mark.parametrize(
    "body",
    [
        claims_of(changed(CLAIM, valid_from=1, valid_until=2)),
        claims_of(changed(CLAIM, valid_from=1)),
        claims_of(changed(CLAIM, valid_until=0)),
        claims_of(changed(CLAIM, sources=SOURCES)),
        claims_of(changed(CLAIM, sources=(changed(SOURCE, hops=HOPS_MAX),))),
        claims_of(changed(CLAIM, sources=(changed(SOURCE, hops=0, source_type="self"),))),
        claims_of(changed(CLAIM, sources=(changed(SOURCE, hops=0, source_type="unstated"),))),
        claims_of(changed(CLAIM, sources=(changed(SOURCE, verification=0), SOURCE))),
        claims_of(*(changed(CLAIM, id=f"claim:{number}") for number in range(CLAIMS_MAX))),
        claims_of(changed(CLAIM, domain="_global")),
        claims_of(changed(CLAIM, intent="fictional"), work_class="fiction"),
        claims_of(changed(CLAIM, subject="work:letters"), work_class="fiction"),
        changed(CREDENTIAL, valid_until=AT + 1, quality=0),
        changed(CREDIBILITY, rows=(), anomalies=()),
        changed(CREDIBILITY, rows=(ROW, changed(ROW, entity="person:bob"))),
        changed(CREDIBILITY, rows=(changed(ROW, corroborated=2, contradicted=2),)),
        changed(CREDIBILITY, part=2, parts=2, anomalies=(), anomalies_found=0, previous="run:0"),
        changed(CREDIBILITY, part=PARTS_MAX, parts=PARTS_MAX, anomalies=(), anomalies_found=0),
        changed(CREDIBILITY, computation_version=2, anomalies_found=99),
        changed(VERDICT, chosen=(), supersedes=("verdict:0",)),
    ],
)
def test_what_is_within_the_bounds_is_taken(body: GradedBody) -> None:
    """Each bound is inside."""
    check_graded(body)
    assert parse_leaf(format_leaf(leaf_of(body)), leaf_of(body).kind).body == body


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        (claims_of(CLAIM, CLAIM), "different ids"),
        (claims_of(changed(CLAIM, value="1.0")), "RFC 8785"),
        (claims_of(changed(CLAIM, valid_from=2, valid_until=2)), "hold from before"),
        (claims_of(changed(CLAIM, sources=(changed(SOURCE, hops=0),))), "hops must be 0"),
        (claims_of(changed(CLAIM, sources=(changed(SOURCE, source_type="self"),))), "hops must be 0"),
        (claims_of(changed(CLAIM, sources=(changed(SOURCE, source_type="unstated"),))), "hops must be 0"),
        (claims_of(changed(CLAIM, sources=(SOURCE, SOURCE))), "sources of a claim must differ"),
        (claims_of(CLAIM, work_class="fiction"), "fictional or about the work"),
        (changed(CREDENTIAL, valid_until=AT), "valid from before"),
        (changed(CREDIBILITY, part=2, parts=1, anomalies=(), anomalies_found=0), "one of its parts"),
        (changed(CREDIBILITY, rows=(ROW, ROW)), "sorted by entity"),
        (changed(CREDIBILITY, rows=(changed(ROW, domain="law"), ROW)), "sorted by entity"),
        (changed(CREDIBILITY, rows=(changed(ROW, corroborated=3),)), "no more claims"),
        (changed(CREDIBILITY, rows=(changed(ROW, contradicted=3),)), "no more claims"),
        (changed(CREDIBILITY, anomalies_found=0), "count the anomalies"),
        (changed(CREDIBILITY, part=2, parts=2), "first part"),
        (changed(CREDIBILITY, previous="run:1"), "compared with another"),
        (changed(VERDICT, chosen=("claim:2", "claim:1")), "sorted and unique"),
        (changed(VERDICT, supersedes=("verdict:0", "verdict:0")), "sorted and unique"),
        (changed(VERDICT, supersedes=("verdict:1",)), "replace itself"),
    ],
)
def test_what_does_not_fit_is_refused(body: GradedBody, rule: str) -> None:
    """By the rule that is broken, and also where a key has signed it."""
    with pytest.raises(MalformedError, match=rule):
        check_graded(body)
    with pytest.raises(MalformedError, match=rule):
        parse_leaf(msgspec.json.encode(leaf_of(body), order="sorted"), leaf_of(body).kind)


@pytest.mark.parametrize(
    "body",
    [
        changed(CLAIMS, claims=()),
        claims_of(*(changed(CLAIM, id=f"claim:{number}") for number in range(CLAIMS_MAX + 1))),
        changed(CLAIMS, work_class="novel"),
        claims_of(changed(CLAIM, sources=())),
        claims_of(changed(CLAIM, sources=(*SOURCES, SOURCE))),
        claims_of(changed(CLAIM, domain="Chemistry")),
        claims_of(changed(CLAIM, domain="_other")),
        claims_of(changed(CLAIM, intent="sure")),
        claims_of(changed(CLAIM, mutability="never")),
        claims_of(changed(CLAIM, sources=(changed(SOURCE, hops=HOPS_MAX + 1),))),
        claims_of(changed(CLAIM, sources=(changed(SOURCE, verification=MILLION + 1),))),
        claims_of(changed(CLAIM, sources=(changed(SOURCE, verification=0.5),))),
        changed(CREDENTIAL, quality=-1),
        changed(CREDENTIAL, basis=""),
        changed(CREDIBILITY, computation_version=3),
        changed(CREDIBILITY, part=0),
        changed(CREDIBILITY, rows=(changed(ROW, score=MILLION + 1),)),
        changed(CREDIBILITY, rows=tuple(changed(ROW, entity=f"a:{n:03d}") for n in range(ROWS_MAX + 1))),
        changed(CREDIBILITY, anomalies=(ANOMALY,) * (ANOMALIES_MAX + 1), anomalies_found=99),
        changed(CREDIBILITY, anomalies=(changed(ANOMALY, kind="odd"),)),
        changed(VERDICT, reason=""),
        changed(VERDICT, chosen=tuple(f"claim:{number:02d}" for number in range(CHOSEN_MAX + 1))),
    ],
)
def test_a_field_out_of_its_form_is_refused(body: GradedBody) -> None:
    """The schema is closed, and each field has a form."""
    with pytest.raises(MalformedError):
        parse_leaf(msgspec.json.encode(leaf_of(body), order="sorted"), leaf_of(body).kind)


def test_the_largest_body_fits_into_a_leaf() -> None:
    """A body is refused by its own rule before a leaf would be too long."""
    long = changed(CLAIM, value='"' + "x" * 8190 + '"')
    many = claims_of(*(changed(long, id=f"claim:{number}") for number in range(29)))
    check_graded(many)
    assert GRADED_BYTES_MAX - 8192 < len(msgspec.json.encode(many)) < GRADED_BYTES_MAX
    assert len(format_leaf(leaf_of(many))) < LEAF_BYTES_MAX
    more = claims_of(*many.claims, changed(long, id="claim:last"))
    with pytest.raises(MalformedError, match="at most 245760 bytes"):
        check_graded(more)
    rows = tuple(
        changed(ROW, entity=f"a:{number:03d}{'x' * 188}", domain="d" * 64) for number in range(ROWS_MAX)
    )
    assert len(format_leaf(leaf_of(changed(CREDIBILITY, rows=rows)))) < LEAF_BYTES_MAX


def test_a_body_of_exactly_the_largest_size_is_taken() -> None:
    """The bound is inside."""
    body = claims_of(*(changed(CLAIM, id=f"claim:{number}", value="") for number in range(40)))
    left = GRADED_BYTES_MAX - len(msgspec.json.encode(body))
    sizes = [left // 40 + (number < left % 40) for number in range(40)]
    filled = [
        changed(claim, value='"' + "x" * (size - 6) + '"' if size > 6 else "1")
        for claim, size in zip(body.claims, sizes, strict=True)
    ]
    short = GRADED_BYTES_MAX - len(msgspec.json.encode(claims_of(*filled)))
    filled[0] = changed(filled[0], value='"' + "x" * (len(filled[0].value) - 2 + short) + '"')
    exact = claims_of(*filled)
    assert len(msgspec.json.encode(exact)) == GRADED_BYTES_MAX
    check_graded(exact)
    with pytest.raises(MalformedError, match="245760"):
        check_graded(claims_of(*filled[:-1], changed(filled[-1], subject=filled[-1].subject + "x")))


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1970", True),
        ("0", True),
        ("-5", True),
        ("1.5", True),
        ("9007199254740991", True),
        ("true", True),
        ("null", True),
        ('"Ülm"', True),
        ('"a\\"b"', True),
        ('{"a":1,"b":[2]}', True),
        ('"' + "x" * 8190 + '"', True),
        ("-0", False),
        ("01", False),
        ("1.0", False),
        ("9007199254740993", False),
        (" 1", False),
        ("1\n", False),
        ('"a\\u0062"', False),
        ('"a\nb"', False),
        ('"a', False),
        ('{"b":1,"a":2}', False),
        ('{"a": 1}', False),
        ("", False),
        ("True", False),
        ('"\ud800"', False),
        ('"' + "ü" * 4096 + '"', False),
        ('"' + "x" * 8191 + '"', False),
    ],
)
def test_a_value_has_one_spelling(text: str, *, canonical: bool) -> None:
    """Values are compared by their bytes, so there must be one for each (hole g of the reference)."""
    assert is_canonical_value(text) is canonical


@given(st.one_of(st.text(), st.integers(), st.booleans(), st.none()))
def test_the_short_way_agrees_with_the_long_one(value: Any) -> None:
    """Whatever is written as JSON is canonical exactly where its RFC 8785 form is the same."""
    text = msgspec.json.encode(value).decode()
    try:
        same = canonical_bytes(strict_loads(text.encode())) == text.encode()
    except MalformedError:
        same = False
    assert is_canonical_value(text) is same
