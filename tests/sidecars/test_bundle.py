"""``bundle`` and ``proven``: one event's proof, its one spelling, and everything that is refused."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecars.bundle import (
    BUNDLE_BYTES_MAX,
    ENTRY_BYTES_MAX,
    LEAVES_MAX,
    Bundle,
    BundleLeaf,
    arrange_note,
    format_bundle,
    parse_bundle,
)
from sidecars.errors import (
    MalformedError,
    NonCanonicalError,
    PayloadTypeError,
    SidecarError,
    UnsupportedVersionError,
)
from sidecars.note import Note, NoteSignature, format_note, parse_note, sign_note
from sidecars.proven import not_proved, verify_bundle
from tests.sidecars.proofs import (
    COSIGNED_AT,
    KEYS,
    WITNESSES,
    Case,
    edited,
    enter,
    events_of,
    make_case,
    with_leaf,
    witness_keys,
)
from tests.sidecars.samples import (
    LOG,
    OWNER,
    SOURCE,
    make_enrollment,
)
from tests.sidecars.simulator import LogSimulator

COSIGNED = make_case().but(witnesses=WITNESSES)
CONTENT = COSIGNED.content

FLIPS = (0x01, 0x20, 0x80)
"""A neighbouring value, the other case, and a byte outside ASCII."""


def verify(content: bytes) -> object:
    """Verify with the right keys, those of both witnesses included."""
    return verify_bundle(content, KEYS, witness_keys())


# -- what is shown ---------------------------------------------------------------------------------------------


@pytest.mark.requirement("X6")
@pytest.mark.parametrize("count", [1, 2, 3, 7, 64])
def test_every_event_is_proven_from_one_file_and_public_keys(count: int) -> None:
    """Each event of a sidecar, whatever the sizes of sidecar and log, with what the log says of it."""
    case = make_case(events=count, place=0, after=count)
    for place in range(count):
        content = case.but(place=place).content
        proven = verify_bundle(content, KEYS)
        assert proven.event["id"] == case.sidecar.events[place].id
        assert (proven.place, proven.count, proven.leaf_index, proven.epoch) == (place, count, 2, 0)
        assert (proven.source, proven.checkpoint.size) == (SOURCE, 3 + count)
        assert (proven.owner_key, proven.log_keys) == (OWNER.verifier.ref, (LOG.verifier.ref,))
        assert not proven.simulated_host
        assert format_bundle(parse_bundle(content)) == content


@pytest.mark.requirement("X6")
def test_cosignatures_are_shown_with_their_times() -> None:
    """Every witness that was asked for stands in the verdict."""
    proven = verify_bundle(CONTENT, KEYS, witness_keys())
    assert {one.key: one.at for one in proven.cosigned} == {
        witness.verifier.ref: COSIGNED_AT + number for number, witness in enumerate(WITNESSES)
    }
    assert "no witness was asked for" not in " ".join(not_proved(proven))
    assert "no witness was asked for" in " ".join(not_proved(verify_bundle(make_case().content, KEYS)))


def test_what_is_not_proved_is_said() -> None:
    """Latest state, other logs, transcript, truth, consent and the rest of the log; and that a host was simulated."""
    said = not_proved(verify_bundle(make_case().content, KEYS))
    for words in ("newest", "no other log", "transcript", "truth", "consented", "rest of the log"):
        assert [words for line in said if words in line], words
    simulated = verify_bundle(make_case(simulated=True).content, KEYS)
    assert simulated.simulated_host
    assert "simulated" in not_proved(simulated)[0]


def test_a_proof_holds_no_path_and_no_enrollment() -> None:
    """The leaves that may be shown have no path in them, and an enrollment is refused as part of a proof."""
    log = LogSimulator()
    log.commit([make_enrollment()])
    leaf, sidecar = enter(log, events_of(1))
    case = Case(log, leaf, sidecar)
    assert b"/srv" not in b"".join(leaf.envelope for leaf in parse_bundle(case.content).leaves)
    with pytest.raises(PayloadTypeError):
        verify_bundle(case.but(shown=(0, 1, 2)).content, KEYS)


# -- changed files ---------------------------------------------------------------------------------------------


@pytest.mark.requirement("X6")
def test_every_flipped_byte_is_refused() -> None:
    """Every byte of a proof with cosignatures, three ways, and with the declared errors only."""
    verify(CONTENT)
    accepted = []
    for place in range(len(CONTENT)):
        for mask in FLIPS:
            changed = bytearray(CONTENT)
            changed[place] ^= mask
            try:
                verify(bytes(changed))
            except SidecarError:
                continue
            accepted.append((place, mask))
    assert accepted == []


@pytest.mark.requirement("X6")
def test_every_line_dropped_doubled_or_swapped_is_refused() -> None:
    """Any line gone, any line twice, any two lines exchanged: cosignature lines and hashes included."""
    lines = CONTENT.split(b"\n")
    variants = []
    for n, line in enumerate(lines):
        variants.append(lines[:n] + lines[n + 1 :])
        variants.append([*lines[:n], line, *lines[n:]])
        for m in range(n + 1, len(lines)):
            swapped = list(lines)
            swapped[n], swapped[m] = swapped[m], swapped[n]
            variants.append(swapped)
    tried = 0
    for variant in variants:
        changed = b"\n".join(variant)
        if changed == CONTENT:  # two equal lines were exchanged
            continue
        tried += 1
        with pytest.raises(SidecarError):
            verify(changed)
    assert tried > len(lines) ** 2 // 3


@pytest.mark.requirement("X6")
def test_every_cut_and_every_addition_is_refused() -> None:
    """A file that ends early or goes on is no proof."""
    for length in range(len(CONTENT)):
        with pytest.raises(SidecarError):
            verify(CONTENT[:length])
    for added in (b"\n", b" ", b"\0", b"x", CONTENT):
        for changed in (CONTENT + added, added + CONTENT):
            with pytest.raises(SidecarError):
                verify(changed)


def test_a_large_file_is_refused_before_it_is_read() -> None:
    """The bound comes first, for a file and for a value."""
    with pytest.raises(MalformedError, match="a proof must be at most"):
        parse_bundle(CONTENT + b"\n" * BUNDLE_BYTES_MAX)
    leaf = parse_bundle(CONTENT).leaves[0]
    large = tuple(replace(leaf, index=n, envelope=b"x" * 250_000) for n in range(LEAVES_MAX))
    with pytest.raises(MalformedError, match="a proof must be at most"):
        edited(CONTENT, leaves=large)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Give the proof with a few pieces replaced, removed or doubled."""
    content = CONTENT
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(len(content), start + 50)))
        awkward = [b"\n", b"\n\n", b"\xff", b"leaf 9\n", b"leaf ", b"=", b"9" * 30, content[start:end] * 2]
        content = content[:start] + draw(st.binary(max_size=8) | st.sampled_from(awkward)) + content[end:]
    return content


@given(st.binary(max_size=80) | damaged() | st.binary(max_size=80).map(b"timeline-proof/v1\n".__add__))
def test_any_bytes_are_the_one_spelling_of_a_proof_or_refused(raw: bytes) -> None:
    """Only declared errors come out; what is parsed is written back unchanged; what verifies is what was made."""
    try:
        assert format_bundle(parse_bundle(raw)) == raw
        verify(raw)
    except SidecarError:
        return
    assert raw == CONTENT


_HASH = st.binary(min_size=32, max_size=32)
_LEAF = st.builds(
    BundleLeaf, st.just(0), _HASH, st.binary(max_size=300), st.lists(_HASH, max_size=4).map(tuple)
)


@given(
    st.integers(0, 4095),
    st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=80),
    st.lists(_HASH, max_size=12),
    st.lists(
        st.tuples(st.integers(0, 2**63 - 1), _LEAF), min_size=1, max_size=4, unique_by=lambda pair: pair[0]
    ),
)
def test_any_value_is_read_back_from_its_one_spelling(
    place: int, event: str, hashes: list[bytes], leaves: list[tuple[int, BundleLeaf]]
) -> None:
    """Formatting and parsing are inverse, for every value within the bounds."""
    ordered = tuple(replace(leaf, index=index) for index, leaf in sorted(leaves, key=lambda pair: pair[0]))
    bundle = Bundle(place, event.encode(), tuple(hashes), ordered, parse_bundle(CONTENT).checkpoint)
    assert parse_bundle(format_bundle(bundle)) == bundle


@pytest.mark.parametrize(
    "change",
    [
        {"salt": bytes(31)},
        {"envelope": b"x" * (ENTRY_BYTES_MAX - 31)},
        {"hashes": (bytes(32),) * 64},
        {"index": 2**63},
    ],
)
def test_a_leaf_out_of_bounds_is_not_written(change: dict[str, object]) -> None:
    """Salt, envelope, path and index each have a bound; so has the number of leaves."""
    with pytest.raises(MalformedError, match=r"leaf|leaves"):
        with_leaf(CONTENT, 2, **change)
    leaf = parse_bundle(CONTENT).leaves[0]
    many = tuple(replace(leaf, index=n) for n in range(LEAVES_MAX + 1))
    with pytest.raises(MalformedError, match="1 to 8 leaves"):
        edited(CONTENT, leaves=many)
    assert len(parse_bundle(edited(CONTENT, leaves=many[:-1])).leaves) == LEAVES_MAX


def test_a_newer_version_is_told_apart_from_rubbish() -> None:
    """A reader can say that the program is too old."""
    with pytest.raises(UnsupportedVersionError):
        parse_bundle(CONTENT.replace(b"proof/v1", b"proof/v2", 1))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"event 1\n", b"event 01\n"),
        (b"event 1\n", b"event +1\n"),
        (b"event 1\n", b"event  1\n"),
        (b"event 1\n", b"event 4096\n"),
        (b"event 1\n", b"event 1\r\n"),
        (b"event 1\n", b"Event 1\n"),
        (b"event 1\n", b""),
        (b"leaf 1\n", b"leaf 2\n"),
        (b"leaf 1\n", b"leaf 0\n"),
        (b"leaf 0\n", b"leaf 9\n"),
        (b"leaf 0\n", b"\nleaf 0\n"),
        (b"leaf 2\n", b"leaf 9223372036854775808\n"),
        (b'{"at"', b'\n{"at"'),
        (b'{"at"', '{"ät"'.encode()),
        (b"=\n", b"\n"),
        (b"=\n", b"= \n"),
    ],
)
def test_another_form_is_malformed(old: bytes, new: bytes) -> None:
    """Numbers, words, order and base64 have one spelling, which is checked before any signature."""
    assert old in CONTENT
    with pytest.raises(MalformedError):
        parse_bundle(CONTENT.replace(old, new, 1))


@pytest.mark.parametrize(
    "change",
    [
        {"event": b""},
        {"event": b"a\nb"},
        {"event": b"\xff"},
        {"event": b"x" * 2049},
        {"place": -1},
        {"leaves": ()},
        {"hashes": (bytes(31),)},
        {"hashes": (bytes(32),) * 13},
        {"checkpoint": b"note"},
        {"checkpoint": sign_note("no checkpoint\n", [LOG])},
        {"checkpoint": parse_bundle(CONTENT).checkpoint + b"\n"},
    ],
)
def test_a_value_that_has_no_form_is_not_written(change: dict[str, object]) -> None:
    """The writer keeps to the bounds that the reader has."""
    with pytest.raises(MalformedError):
        edited(CONTENT, **change)


def test_signatures_have_one_order_and_a_key_has_one() -> None:
    """Any other order, and a second line of one witness, is another spelling."""
    note = parse_note(parse_bundle(CONTENT).checkpoint)
    lines = note.signatures
    again = WITNESSES[0].cosign(note.text, COSIGNED_AT + 50)
    for order in (
        (lines[1], lines[0], lines[2]),
        (lines[0], lines[2], lines[1]),
        (*lines, again),
        (*lines, lines[2]),
    ):
        with pytest.raises(NonCanonicalError):
            edited(CONTENT, checkpoint=format_note(Note(note.text, order)))


def test_signatures_of_other_kinds_are_left_out_of_a_proof() -> None:
    """What no reader of this version could verify, a post-quantum cosignature, does not travel."""
    note = parse_note(parse_bundle(CONTENT).checkpoint)
    large = NoteSignature(WITNESSES[0].verifier.ref, b"x" * 2428)
    assert (
        arrange_note(Note(note.text, (large, *reversed(note.signatures)))) == parse_bundle(CONTENT).checkpoint
    )
    with pytest.raises(NonCanonicalError):
        edited(CONTENT, checkpoint=format_note(Note(note.text, (*note.signatures, large))))


def test_the_leaves_of_a_proof_are_in_order() -> None:
    """They stand by index, none twice."""
    leaves = parse_bundle(CONTENT).leaves
    assert all(a.index < b.index for a, b in pairwise(leaves))
    for order in ((leaves[1], leaves[0], leaves[2]), (leaves[0], leaves[0], *leaves[1:])):
        with pytest.raises(NonCanonicalError):
            edited(CONTENT, leaves=order)
