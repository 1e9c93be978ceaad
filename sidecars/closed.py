"""Closed JSON objects with the standard library and ``rfc8785`` alone: what a proof shows, read as a stranger would.

``event`` and ``leaf`` read the same objects, many of them, with a compiled decoder; this module is the second reading
of ``docs/spec``, so that a proof is verified with two dependencies (ADR 0015). Tests hold the two against each other:
they accept the same bytes. Only what a proof can contain is known here: an event and three kinds of leaf.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from sidecars.digest import DIGEST_PATTERN
from sidecars.encoding import INTEGER_MAX
from sidecars.errors import MalformedError, NonCanonicalError, PayloadTypeError, SidecarError
from sidecars.identity import strict_loads
from sidecars.keys import Verifier

Fits: TypeAlias = Callable[[Any], bool]
"""Whether a JSON value is one that a field may have."""

Object: TypeAlias = Mapping[str, Any]
"""A JSON object whose fields were checked."""

EVENT_BYTES_MAX: Final = 2048
LEAF_BYTES_MAX: Final = 256 * 1024
LINES_MAX: Final = 6
EVENTS_MAX: Final = 4096
EVICTS_MAX: Final = 4096
BATCH_SIZE_MAX: Final = 256
VKEY_CHARACTERS_MAX: Final = 256
TIME_MS_MAX: Final = 253_402_300_799_999

# -- fields ----------------------------------------------------------------------------------------------------


def _text(pattern: str) -> Fits:
    compiled = re.compile(pattern)
    return lambda value: type(value) is str and compiled.search(value) is not None


def _word(*words: str) -> Fits:
    return lambda value: type(value) is str and value in words


def _number(low: int, high: int) -> Fits:
    return lambda value: type(value) is int and low <= value <= high  # a bool is no number


def _items(fits: Fits, low: int, high: int) -> Fits:
    return lambda value: type(value) is list and low <= len(value) <= high and all(map(fits, value))


def _row(*columns: Fits) -> Fits:
    def fits(value: Any) -> bool:  # noqa: ANN401  (any JSON value)
        return (
            type(value) is list
            and len(value) == len(columns)
            and all(column(item) for column, item in zip(columns, value, strict=True))
        )

    return fits


def _ascending(fits: Fits) -> Fits:
    return lambda value: fits(value) and value == sorted(set(value))


_COUNT = _number(0, INTEGER_MAX)
_TIME_MS = _number(0, TIME_MS_MAX)
_DIGEST = _text(DIGEST_PATTERN)
_SHORT_NAME = _text(r"^[a-z0-9][a-z0-9._:-]{0,63}\Z")
_ORIGIN = _text(r"^[a-z0-9][a-z0-9./:_-]{0,127}\Z")
_SOURCE = _text(r"^source:[0-9a-f]{32}\Z")
_ENROLLMENT = _text(r"^timeline-enrollment:[0-9a-f]{32}\Z")
_EVENT_ID = _text(r"^timeline-event:[0-9a-f]{32}\Z")
_FINGERPRINT = _text(r"^[A-Za-z0-9_-]{21}[AQgw]\Z")

OUTCOMES: Final = ("pass", "fail", "error", "timeout", "blocked", "skipped", "cancelled", "unknown")

_LINE = _row(_word("call", "output", "item"), _COUNT, _COUNT, _DIGEST, _COUNT)
_PROMPT = _row(_word("prompt"), _COUNT, _COUNT, _DIGEST, _number(0, 0))

STATEMENT_KINDS: Final = ("user-message", "correction")

_STATEMENT: Final[dict[str, Fits]] = {
    "id": _EVENT_ID,
    "kind": _word(*STATEMENT_KINDS),
    "lines": _items(_PROMPT, 1, 1),
}
_STATEMENT_OPTIONAL: Final[dict[str, Fits]] = {"at": _TIME_MS}

_EVENT: Final[dict[str, Fits]] = {
    "id": _EVENT_ID,
    "kind": _word("test-run", "measurement", "check"),
    "lines": _items(_LINE, 1, LINES_MAX),
    "tool": _word("shell"),
    "runner": _SHORT_NAME,
    "binding": _word("direct", "script"),
    "outcome": _word(*OUTCOMES),
    "fingerprint": _FINGERPRINT,
}
_EVENT_OPTIONAL: Final[dict[str, Fits]] = {
    "at": _TIME_MS,
    "label": _SHORT_NAME,
    **dict.fromkeys(
        (
            "passed",
            "failed",
            "errors",
            "skipped",
            "warnings",
            "total",
            "packages_ok",
            "packages_failed",
            "duration_ms",
        ),
        _COUNT,
    ),
    "exit_code": _number(-(2**31), 2**32 - 1),
    "flags": _ascending(_items(_word("conflict", "inconsistent", "masked", "partial", "truncated"), 1, 5)),
}

_LEAF: Final[dict[str, Fits]] = {
    "schema": _word("timeline-leaf/v1"),
    "origin": _ORIGIN,
    "index": _COUNT,
    "root": _DIGEST,
    "batch_start": _COUNT,
    "batch_size": _number(1, BATCH_SIZE_MAX),
    "at": _TIME_MS,
    "body": lambda value: type(value) is dict,
}


def _vkey(value: Any) -> bool:  # noqa: ANN401  (any JSON value)
    if type(value) is not str or len(value) > VKEY_CHARACTERS_MAX:
        return False
    try:
        Verifier.parse(value)
    except SidecarError:
        return False
    return True


_BODIES: Final[dict[str, dict[str, Fits]]] = {
    "policy": {
        "kind": _word("policy"),
        "owner_presence": _word("terminal", "any"),
        "simulated_host": lambda value: type(value) is bool,
    },
    "key-epoch": {
        "kind": _word("key-epoch"),
        "epoch": _COUNT,
        "log_key": _vkey,
        "owner_key": _vkey,
        "reason": _word("first", "rotation", "lost", "compromised"),
    },
    "sidecar": {
        "kind": _word("sidecar"),
        "digest": _DIGEST,
        "source": _SOURCE,
        "segment": _COUNT,
        "enrollment_id": _ENROLLMENT,
        "count": _COUNT,
        "root": _DIGEST,
        "evicts": _ascending(_items(_DIGEST, 0, EVICTS_MAX)),
    },
}

# -- objects ---------------------------------------------------------------------------------------------------


def read_event(line: bytes) -> Object:
    """Read one event line (without its newline), as ``docs/spec/sidecar.md`` states it.

    Raises:
        MalformedError: too long, not an event, or against a rule; ``NonCanonicalError`` for another spelling.
    """
    if len(line) > EVENT_BYTES_MAX:
        raise MalformedError(f"an event must be at most {EVENT_BYTES_MAX} bytes")
    event = _object(line, "event")
    if event.get("kind") in STATEMENT_KINDS:
        _check(event, _STATEMENT, _STATEMENT_OPTIONAL, "event")
    else:
        _check(event, _EVENT, _EVENT_OPTIONAL, "event")
    border = -1
    for _, offset, length, _, _ in event["lines"]:
        if offset <= border:
            raise MalformedError("an event's lines must be in file order and must not overlap")
        border = offset + length
    if border > INTEGER_MAX:
        raise MalformedError("an event's lines must end within 2^53 - 1")
    return event


def event_id(source: str, event: Object) -> str:
    """The id that the event's lines have in ``source``: position and content, never a host's call id."""
    lines = [line[1:] for line in event["lines"]]
    identity = canonical_json({"lines": lines, "schema": "timeline-event-id/v1", "source": source})
    return "timeline-event:" + hashlib.sha256(identity).hexdigest()[:32]


def read_leaf(payload: bytes, kind: str) -> Object:
    """Read the payload of a leaf that was verified as one of ``kind``, as ``docs/spec/log.md`` states it.

    Raises:
        MalformedError: too long or against the format; ``NonCanonicalError`` for another spelling.
        PayloadTypeError: its body is of another kind, or not of one that a proof can show.
    """
    if len(payload) > LEAF_BYTES_MAX:
        raise MalformedError(f"a leaf must be at most {LEAF_BYTES_MAX} bytes")
    leaf = _object(payload, "leaf")
    _check(leaf, _LEAF, {}, "leaf")
    body = leaf["body"]
    if body.get("kind") != kind or kind not in _BODIES:
        raise PayloadTypeError("the leaf's body must be of the kind that was signed")
    _check(body, _BODIES[kind], {}, f"leaf of kind {kind}")
    if not 0 <= leaf["index"] - leaf["batch_start"] < leaf["batch_size"]:
        raise MalformedError("a leaf's index must lie in its batch")
    if kind == "key-epoch" and (body["epoch"] == 0) != (body["reason"] == "first"):
        raise MalformedError("epoch 0, and no other, must have the reason first")
    return leaf


def _object(encoded: bytes, what: str) -> dict[str, Any]:
    """The object that ``encoded`` is the one RFC 8785 spelling of."""
    value = strict_loads(encoded)
    if not isinstance(value, dict):
        raise MalformedError(f"{what} must be one JSON object")
    if canonical_json(value) != encoded:
        raise NonCanonicalError(f"{what} must be in RFC 8785 form")
    return value


def _check(value: Object, required: Mapping[str, Fits], optional: Mapping[str, Fits], what: str) -> None:
    if not required.keys() <= value.keys() <= required.keys() | optional.keys():
        raise MalformedError(f"{what} must have its fields and no others")
    for name, fits in (required | optional).items():  # type: ignore[operator]  # both are dicts
        if name in value and not fits(value[name]):
            raise MalformedError(f"{what} breaks its schema at {name}")


def canonical_json(value: Any) -> bytes:  # noqa: ANN401  (any JSON value)
    """The RFC 8785 bytes of a value of ours.

    Raises:
        MalformedError: it has none.
    """
    import rfc8785  # noqa: PLC0415  (12 ms; who reads no proof pays nothing)

    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, ValueError, RecursionError) as error:
        raise MalformedError("the value has no RFC 8785 form") from error
