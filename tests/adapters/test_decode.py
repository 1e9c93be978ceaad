"""Strict JSON: what a line may be, and bounded looks into its values."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.decode import (
    HEAD_WINDOW,
    MAX_DEPTH,
    OUTPUT_WINDOW,
    Raw,
    bool_of,
    check_strict,
    closes_deep,
    content_of,
    defect_of,
    fields_of,
    head_text,
    int_of,
    is_utf8,
    tail_text,
    text_of,
    utc_ms,
    whole_text,
)
from adapters.errors import DefectKind, TranscriptSyntaxError

START = b'{"timestamp":'


@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (b"", DefectKind.BLANK),
        (b" \t\r", DefectKind.BLANK),
        (b"\xef\xbb\xbf{}", DefectKind.BYTE_ORDER_MARK),
        (b'{"a":"\0"}', DefectKind.NUL),
        (b'{"a":"\xff"}', DefectKind.UTF8),
        (b'{"a":"\xed\xa0\x80"}', DefectKind.UTF8),
        (b"[" * 5_000, DefectKind.DEPTH),
        (b'{"a":' * 200 + b"1" + b"}" * 200, DefectKind.DEPTH),
        (b'{"a":1,"a":1}', DefectKind.DUPLICATE_KEY),
        (b'{"b":[{"a":1,"\\u0061":2}]}', DefectKind.DUPLICATE_KEY),
        (b'{"a":1}{"timestamp":"x"}', DefectKind.GLUED),
        (b'{"a":"x{"timestamp":"x"}', DefectKind.GLUED),
        (b'{"a":NaN}', DefectKind.NOT_JSON),
        (b'{"a":-Infinity}', DefectKind.NOT_JSON),
        (b'{"a":1,}', DefectKind.NOT_JSON),
        (b"{'a':1}", DefectKind.NOT_JSON),
        (b'{"a":01}', DefectKind.NOT_JSON),
        (b'{"a":"\x01"}', DefectKind.NOT_JSON),
        (b"null", DefectKind.NOT_OBJECT),
        (b"[1]", DefectKind.NOT_OBJECT),
        (b'"text"', DefectKind.NOT_OBJECT),
        (b"17", DefectKind.NOT_OBJECT),
    ],
)
def test_each_broken_rule_has_its_kind(raw: bytes, kind: DefectKind) -> None:
    """A line that breaks a rule is named by that rule."""
    assert defect_of(raw, START) is kind


@pytest.mark.parametrize("raw", [b"{}", b' { "a" : [ 1 , {} ] } ', b'{"a":1e400,"b":' + b"9" * 6000 + b"}"])
def test_sound_objects_break_no_rule(raw: bytes) -> None:
    """White space and numbers of any size are JSON; a number's range is a question for who reads it."""
    assert defect_of(raw, START) is None


def test_depth_is_bounded_exactly() -> None:
    """The deepest allowed nesting passes, one level more does not; brackets in strings do not count."""
    check_strict(b'{"a":' + b"[" * (MAX_DEPTH - 1) + b"]" * (MAX_DEPTH - 1) + b"}")
    with pytest.raises(TranscriptSyntaxError):
        check_strict(b'{"a":' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"}")
    check_strict(b'{"a":"' + b"[" * 5_000 + b'"}')
    assert closes_deep(b'{"a":' + b"[" * 99 + b"]" * 99 + b"}")
    assert not closes_deep(b'{"a":"' + b"]" * 99 + b'"}')


KEYS = st.text(max_size=4)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=6)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(KEYS, JSON, max_size=5), st.sampled_from([(",", ":"), (", ", ": ")]), st.booleans())
def test_fields_are_those_of_any_json_reader(
    value: dict, separators: tuple[str, str], ascii_only: bool
) -> None:
    """Compact or spaced, escaped or not: the fields are what ``json`` says, each with its exact value."""
    raw = json.dumps(value, separators=separators, ensure_ascii=ascii_only).encode()
    fields = fields_of(raw)
    assert {key: json.loads(bytes(field)) for key, field in fields.items()} == value


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "ä", "c\\u0064"]), JSON), max_size=5), st.booleans())
def test_a_key_said_twice_is_never_read(pairs: list, spaced: bool) -> None:
    """Whatever surrounds it, an object with a duplicate key is refused, and one without is not."""
    colon = " : " if spaced else ":"
    body = ",".join(f'"{key}"{colon}{json.dumps(value, separators=(",", ":"))}' for key, value in pairs)
    raw = ("{" + body + "}").encode()
    if len({key for key, _ in pairs}) == len(pairs):
        assert len(fields_of(raw)) == len(pairs)
    else:
        with pytest.raises(TranscriptSyntaxError) as caught:
            fields_of(raw)
        assert caught.value.kind is DefectKind.DUPLICATE_KEY


@given(st.binary(max_size=60))
def test_any_bytes_give_fields_or_a_kind(raw: bytes) -> None:
    """No other exception leaves, and what is read had no broken rule."""
    if not is_utf8(raw):
        return
    try:
        fields_of(raw)
    except TranscriptSyntaxError:
        return
    assert defect_of(raw, START) is None


@given(st.binary(max_size=80) | st.text(max_size=40).map(str.encode))
def test_utf8_is_what_python_takes_for_it(raw: bytes) -> None:
    """The block-wise check agrees with ``bytes.decode``."""
    try:
        raw.decode()
    except UnicodeDecodeError:
        assert not is_utf8(raw)
    else:
        assert is_utf8(raw)


@pytest.mark.parametrize("shift", range(4))
def test_utf8_is_checked_across_blocks(shift: int) -> None:
    """A character on the border of two blocks is whole; half of one at the end is not."""
    text = b"x" * (32 * 1024 - shift) + "😀".encode() + b"y" * 40_000
    assert is_utf8(text)
    assert not is_utf8(text + b"\xf0\x9f")
    assert not is_utf8(text[: 32 * 1024 - shift + 2] + b"z" * 40_000)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b"0", 0), (b"-9", -9), (b"9007199254740993", 2**53 + 1), (b"1e3", None), (b"0.0", None), (b'"0"', None),
        (b"true", None), (b"null", None), (b"18446744073709551616", None), (b"-0", 0), (b"1" * 4000, None),
    ],
)  # fmt: skip
def test_only_a_written_integer_is_one(raw: bytes, value: int | None) -> None:
    """No float, text, boolean or number beyond 19 digits is taken for an integer; none is rounded."""
    assert int_of(Raw(raw)) == value
    assert int_of(None) is None


def test_a_number_that_no_double_holds_is_refused() -> None:
    """``1e999`` is not a number that anyone can have meant."""
    for raw in (b"1e999", b"-1e999"):
        with pytest.raises(TranscriptSyntaxError) as caught:
            int_of(Raw(raw))
        assert caught.value.kind is DefectKind.NUMBER


def test_text_and_booleans_are_read_as_such() -> None:
    """Other types are none; half a surrogate pair is refused where text is read."""
    assert text_of(Raw(b'"a\\n\\ud83d\\ude00"')) == "a\n😀"
    assert [text_of(raw) for raw in (None, Raw(b""), Raw(b"1"), Raw(b"{}"))] == [None] * 4
    assert [bool_of(raw) for raw in (None, Raw(b"true"), Raw(b"false"), Raw(b"1"))] == [
        None,
        True,
        False,
        None,
    ]
    with pytest.raises(TranscriptSyntaxError) as caught:
        text_of(Raw(b'"\\ud800"'))
    assert caught.value.kind is DefectKind.SURROGATE
    with pytest.raises(TranscriptSyntaxError) as caught:
        fields_of(b'{"a":"\\ud800"}')
    assert caught.value.kind is DefectKind.SURROGATE


@given(st.datetimes(timezones=st.just(UTC)), st.integers(0, 9))
def test_an_exact_time_is_read_exactly(moment: datetime, digits: int) -> None:
    """Any calendar time with zero to nine fractional digits, to the millisecond below."""
    fraction = f"{moment.microsecond:06d}000"[:digits]
    text = moment.strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0") + (f".{fraction}" if digits else "") + "Z"
    seconds = (moment.replace(microsecond=0) - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    assert utc_ms(text) == int(seconds) * 1000 + int(fraction.ljust(3, "0")[:3])


@pytest.mark.parametrize(
    "text",
    [
        None, "", "yesterday", "2026-08-20T10:00:03", "2026-08-20T12:00:04+02:00", "2026-08-20 10:00:01.5Z",
        "2026-02-30T10:00:00.000Z", "2026-13-01T10:00:00Z", "2026-08-20T24:00:00Z", "2026-08-20T10:60:00Z",
        "2026-06-30T23:59:60Z", "2026-08-20T10:00:00.0000000000Z", "0000-01-01T00:00:00Z", "2026-08-20T10:00:00.Z",
        "٢٠٢٦-08-20T10:00:00Z", "2026-08-20T10:00:00Z\n", "2026-08-20t10:00:00z",
    ],
)  # fmt: skip
def test_any_other_time_is_none(text: str | None) -> None:
    """No zone is guessed, no offset converted, no impossible date moved."""
    assert utc_ms(text) is None


LINES = st.lists(st.text(st.sampled_from('ab \\"nu0d\t😀ä\u2028'), max_size=400), min_size=1, max_size=300)


@given(LINES, st.booleans())
def test_windows_are_whole_lines_of_the_text(lines: list[str], ascii_only: bool) -> None:
    """Head and tail of any output are exact beginnings and ends of lines, however it was escaped."""
    text = "\n".join(lines)
    content = content_of(Raw(json.dumps(text, ensure_ascii=ascii_only).encode()))
    assert content is not None
    assert whole_text(content) == text
    head, tail = head_text(content), tail_text(content)
    assert text.startswith(head)
    assert head == "" or head.endswith("\n")
    assert len(head) <= HEAD_WINDOW
    assert text.endswith(tail)
    assert tail == "" or len(tail) == len(text) or text[-len(tail) - 1] == "\n"
    assert len(tail) <= OUTPUT_WINDOW


@pytest.mark.parametrize("ascii_only", [True, False])
def test_long_outputs_lose_little_at_the_border(ascii_only: bool) -> None:
    """The tail of a long output of short lines is nearly the whole window."""
    text = "".join(f'{n} ä "quoted" \\ 😀 line\n' for n in range(9_000))
    content = json.dumps(text, ensure_ascii=ascii_only).encode()[1:-1]
    assert len(json.dumps(tail_text(content), ensure_ascii=ascii_only).encode()) > OUTPUT_WINDOW - 100


def test_a_line_is_never_shown_from_its_middle() -> None:
    """A summary at the end of one endless line is no line of its own: the tail stays empty."""
    content = b"x" * 20_000 + b"= 12 passed in 0.1s ="
    assert tail_text(content) == ""
    assert head_text(content) == ""
    assert tail_text(b"\\\\n" * 9_000) == ""
