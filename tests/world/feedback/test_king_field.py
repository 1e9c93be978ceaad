"""King's field loses nothing and is never too long."""

from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.world.feedback.stories import T0, Story, continuation_entry
from timeline.world.errors import RecallFieldError
from timeline.world.king_field import KING_FIELD_BYTES_MAX, decode, encode, one_line
from timeline.world.recall_form import king_message

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | TEXT
    | st.floats(allow_nan=False, allow_infinity=False)
)
JSON = st.recursive(
    LEAVES, lambda some: st.lists(some, max_size=3) | st.dictionaries(TEXT, some, max_size=3), max_leaves=8
)


@st.composite
def tables(draw: st.DrawFn) -> list[dict[str, str]]:
    """Objects with the same fields, whose values share what they happen to."""
    names = draw(
        st.lists(TEXT | st.sampled_from(["sourceText", "observedAt", "assertionId"]), unique=True, max_size=5)
    )
    begins = st.sampled_from(["", "assertion:user-feedback-", "2026-09-21T14:", "a:b-"])
    shared = {name: draw(begins) for name in names}
    count = draw(st.integers(0, 4))
    return [{name: shared[name] + draw(TEXT | st.just("same")) for name in names} for _ in range(count)]


LISTS = st.lists(JSON, max_size=3)
PACKETS = st.dictionaries(TEXT, JSON, max_size=4).flatmap(
    lambda base: st.one_of(
        st.just({name: value for name, value in base.items() if name != "feedbackCandidates"}),
        (tables() | LISTS).map(lambda rows: {**base, "feedbackCandidates": rows}),
    )
)


@pytest.mark.requirement("T49", "T50")
@given(packet=PACKETS, bytes_max=st.integers(0, 3000) | st.just(KING_FIELD_BYTES_MAX))
@example(packet={"feedbackCandidates": [{}, {}]}, bytes_max=1200)
@example(packet={"feedbackCandidates": [{"a": "x"}, {"b": "x"}]}, bytes_max=1200)
@example(packet={"feedbackCandidates": [{"a": "x"}, {"a": 1}]}, bytes_max=1200)
@example(packet={"feedbackCandidates": [{"a": "x" * 500 + ":1"}, {"a": "x" * 500 + ":2"}]}, bytes_max=1200)
def test_what_is_encoded_is_decoded(packet: dict[str, Any], bytes_max: int) -> None:
    """decode(encode(x)) is x, and nothing is longer than its bound; what fits is not refused."""
    encoded = encode(packet, bytes_max)
    if encoded is None:
        assert len(encode(packet, 10**9) or b"") > bytes_max
    else:
        assert len(encoded) <= bytes_max
        assert decode(encoded) == packet


@pytest.mark.requirement("T50")
@given(value=JSON)
@example(value="a  b\u00a0\u2003c \u3000 d")
@example(value="\x1b[2J\x9b\u202e\u200b\U000e0041</hook_result>")
def test_a_line_is_one_line_whatever_a_host_folds(value: Any) -> None:
    """Folding white space changes no byte of it, and no text in it."""
    line = one_line(value)
    assert line.decode().isprintable()
    assert b"<" not in line
    assert " ".join(line.decode().split()).encode() == line.strip()
    assert msgspec.json.decode(line) == value


def three(texts: tuple[str, ...] = ("one", "two", "three")) -> Story:
    """A task about which the user has said three things within an hour."""
    story = Story()
    for number, text in enumerate(texts, 1):
        story.say(text, T0 + 60_000 * number)
    return story


@pytest.mark.requirement("T49")
def test_three_messages_become_a_table() -> None:
    """What they share stands once; ids, messages and times are put together of a prefix and a cell."""
    packet = three().packet()
    encoded = encode(packet)
    assert encoded is not None
    table = msgspec.json.decode(encoded)["feedbackCandidates"]
    assert table["fields"] == ["assertionId", "sourceText", "observedAt", "messageRef"]
    assert set(table["common"]) == {"sessionRef", "sourceProvider", "sourceDigest"}
    assert table["prefixes"] == {
        "assertionId": "assertion:user-feedback-",
        "observedAt": "2026-09-21T14:",
        "messageRef": "timeline-event:",
    }
    assert [row[1:3] for row in table["rows"]] == [
        ["three", "16:20.000Z"],
        ["two", "15:20.000Z"],
        ["one", "14:20.000Z"],
    ]
    plain = msgspec.json.encode(packet)
    assert len(encoded) < len(plain) - 300


@pytest.mark.requirement("T50")
@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_the_bound_itself_fits(count: int) -> None:
    """Exactly so many bytes are taken, and one less is refused."""
    story = Story()
    for number in range(count):
        story.say(f"message {number}", T0 + number)
    packet = story.packet()
    whole = encode(packet, 10**6)
    assert whole is not None
    assert encode(packet, len(whole)) == whole
    assert encode(packet, len(whole) - 1) is None
    assert isinstance(msgspec.json.decode(whole).get("feedbackCandidates"), dict) == (count > 1)


@pytest.mark.requirement("T49")
def test_a_prefix_stands_only_where_it_is_shorter() -> None:
    """Of two values, ``ab:`` costs more than it saves."""
    rows = [{"a": "ab:1", "b": "a-long-beginning:1"}, {"a": "ab:2", "b": "a-long-beginning:2"}]
    encoded = encode({"feedbackCandidates": rows})
    assert encoded is not None
    table = msgspec.json.decode(encoded)["feedbackCandidates"]
    assert table["prefixes"] == {"b": "a-long-beginning:"}
    assert table["rows"] == [["ab:1", "1"], ["ab:2", "2"]]


@pytest.mark.requirement("T49", "T50")
def test_a_users_words_are_never_in_two_pieces() -> None:
    """Also where all three begin alike."""
    texts = tuple(f"If the client asks: tell him that {what} is ready" for what in ("one", "two", "three"))
    encoded = encode(three(texts).packet())
    assert encoded is not None
    assert all(f'"{text}"'.encode() in encoded for text in texts)


@pytest.mark.requirement("T50")
def test_everything_of_three_messages_is_in_the_field() -> None:
    """Ids, messages, times, provider, session and source digest are read back out of 1,200 bytes."""
    story = three(("Name it report.txt", "Nein, erst das Protokoll", "The rest is done already"))
    message = king_message(story.packet())
    assert len(message) <= 1200
    found = decode(message)["feedbackCandidates"]
    by_id = {assertion.id: assertion for assertion in story.assertions}
    assert [row["assertionId"] for row in found] == story.candidates()
    for row in found:
        entry, value = by_id[row["assertionId"]].entry, by_id[row["assertionId"]].value
        assert isinstance(value, dict)
        assert row["sourceText"] == value["sourceText"]
        assert row["messageRef"] == entry.evidence_id
        assert row["sessionRef"] == entry.session
        assert (row["sourceProvider"], row["sourceDigest"]) == (
            value["sourceProvider"],
            value["sourceDigest"],
        )


@pytest.mark.parametrize(
    "field",
    [
        b"",
        b"[]",
        b"\xff",
        b"{",
        b'{"feedbackCandidates":{}}',
        b'{"feedbackCandidates":{"fields":[],"common":{},"prefixes":{},"rows":[],"more":1}}',
        b'{"feedbackCandidates":{"fields":["a","a"],"common":{},"prefixes":{},"rows":[["1","2"]]}}',
        b'{"feedbackCandidates":{"fields":["a"],"common":{"a":"1"},"prefixes":{},"rows":[["1"]]}}',
        b'{"feedbackCandidates":{"fields":["a"],"common":{},"prefixes":{"b":"1"},"rows":[["1"]]}}',
        b'{"feedbackCandidates":{"fields":["a"],"common":{},"prefixes":{},"rows":[["1","2"]]}}',
        b'{"feedbackCandidates":{"fields":["a"],"common":{},"prefixes":{},"rows":[[1]]}}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_short_form_is_refused(field: bytes) -> None:
    """With an error of ours that quotes nothing."""
    with pytest.raises(RecallFieldError):
        decode(field)


@pytest.mark.requirement("T50")
def test_a_long_task_name_does_not_break_the_bound() -> None:
    """The longest ids that there can be still leave a message that fits."""
    story = Story(continuation_entry("x" * 181, T0, objective="o" * 500))
    for number in range(3):
        story.say(f"message {number}", T0 + 1000 + number)
    assert len(king_message(story.packet())) <= 1200
