"""Times are read and written exactly, and the machine's clock is asked in one place."""

from datetime import UTC, datetime

import pytest
from freezegun import freeze_time
from hypothesis import given
from hypothesis import strategies as st

from timeline.clock import SystemClock, SystemEntropy, format_utc, parse_utc

YEAR_9999_MS = 253_402_300_799_999
YEAR_1000_MS = -30_610_224_000_000


@pytest.mark.requirement("T20")
@given(st.integers(YEAR_1000_MS, YEAR_9999_MS))
def test_a_time_that_is_written_reads_back_exactly(at_ms: int) -> None:
    """Every millisecond has a spelling that gives it back, before the epoch too."""
    assert parse_utc(format_utc(at_ms)) == at_ms


@given(st.integers(YEAR_1000_MS // 1000, YEAR_9999_MS // 1000))
def test_whole_seconds_may_leave_out_the_milliseconds(at: int) -> None:
    """The short spelling is the same moment."""
    assert parse_utc(format_utc(at * 1000).replace(".000Z", "Z")) == at * 1000


@pytest.mark.parametrize(
    ("text", "at_ms"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.001Z", 1),
        ("1969-12-31T23:59:59.999Z", -1),
        ("2026-08-20T10:00:00Z", 1_787_220_000_000),
        ("2024-02-29T23:59:59.500Z", 1_709_251_199_500),
        ("9999-12-31T23:59:59.999Z", YEAR_9999_MS),
    ],
)
def test_known_moments_are_read(text: str, at_ms: int) -> None:
    """Epoch, leap day and the last moment of the calendar."""
    assert parse_utc(text) == at_ms


@pytest.mark.requirement("T20")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "Z",
        "now",
        "2026-08-20",
        "2026-08-20T10:00:00",
        "2026-08-20T10:00:00+00:00",
        "2026-08-20T12:00:00+02:00",
        "2026-08-20T10:00:00+00:00Z",
        "2026-08-20 10:00:00Z",
        "2026-08-20t10:00:00Z",
        "2026-08-20T10:00:00z",
        "2026-08-20T10:00Z",
        "2026-08-20T10Z",
        "20260820T100000Z",
        "2026-W34-4T10:00:00Z",
        "2026-08-20T10:00:00.1Z",
        "2026-08-20T10:00:00.1234Z",
        "2026-08-20T10:00:00.123456Z",
        "2026-08-20T10:00:00,123Z",
        "2026-02-29T10:00:00Z",
        "2026-08-20T24:00:00Z",
        "2026-08-20T23:59:60Z",
        "2026-08-20T10:00:00Z\n",
        " 2026-08-20T10:00:00Z",
        "0999-01-01T00:00:00Z",
        "２026-08-20T10:00:00Z",
        "2026-08-20T10:00:00\udcffZ",
        "-2026-08-20T10:00:00Z",
    ],
)
def test_another_spelling_of_a_time_is_refused(text: str) -> None:
    """A time is in UTC, to the second or the millisecond, and is never guessed."""
    with pytest.raises(ValueError):  # noqa: PT011  (the message is the reader's; the command words its own)
        parse_utc(text)


@given(st.text(max_size=40))
def test_any_text_is_a_time_or_a_value_error(text: str) -> None:
    """What is read is what would be written; nothing else leaves the reader."""
    try:
        at_ms = parse_utc(text)
    except ValueError:
        return
    assert text in {format_utc(at_ms), format_utc(at_ms)[:-5] + "Z"}


@pytest.mark.requirement("D1")
def test_the_system_clock_gives_utc_milliseconds() -> None:
    """Whatever zone the machine is set to, the number counts from the epoch in UTC."""
    with freeze_time("2026-08-20T10:00:00Z", tz_offset=5):
        assert SystemClock().now_ms() == 1_787_220_000_000
    with freeze_time(datetime(1999, 12, 31, 23, 59, 59, tzinfo=UTC)):
        assert SystemClock().now_ms() == 946_684_799_000


def test_entropy_gives_as_many_bytes_as_asked_and_never_the_same() -> None:
    """Thirty-two random bytes do not come twice."""
    draws = {SystemEntropy().bytes(32) for _ in range(50)}
    assert {len(draw) for draw in draws} == {32}
    assert len(draws) == 50
