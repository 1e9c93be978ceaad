"""Small valid values that the tests change one thing at a time of."""

import hashlib
from typing import Any

from sidecars.digest import Digest
from sidecars.event import Event, EventLine, Outcome, event_id
from sidecars.keys import Signer
from sidecars.leaf import EnrolledSource, Enrollment, EnrollmentBinding
from sidecars.sidecar import SidecarHeader, Tallies, span_chunks

ORIGIN = "agent-timeline/" + "0a" * 16
SOURCE = "source:" + "1b" * 16
ENROLLMENT = "timeline-enrollment:" + "2c" * 16
AT = 1_790_000_000_000

OWNER = Signer(f"{ORIGIN}/owner", hashlib.sha256(b"owner").digest())
LOG = Signer(ORIGIN, hashlib.sha256(b"log").digest())
STRANGER = Signer(ORIGIN, hashlib.sha256(b"stranger").digest())


def digest_text(word: object) -> str:
    """Give the digest of a word, as text."""
    return str(Digest.of(repr(word).encode()))


def make_lines(offset: int) -> tuple[EventLine, ...]:
    """Give a call line of 90 bytes at ``offset`` and its output line 100 bytes on."""
    return (
        EventLine("call", offset, 90, digest_text(("call", offset))),
        EventLine("output", offset + 100, 50, digest_text(("output", offset))),
    )


def make_event(offset: int = 0, **changes: Any) -> Event:
    """Give a passed pytest run whose first line stands at ``offset``."""
    lines = changes.pop("lines", make_lines(offset))
    fields: dict[str, Any] = {
        "id": event_id(SOURCE, lines),
        "kind": "test-run",
        "lines": lines,
        "tool": "shell",
        "runner": "pytest",
        "binding": "direct",
        "outcome": Outcome.PASS,
        "fingerprint": "A" * 22,
        "at": AT,
        "passed": 3,
        "total": 3,
        "exit_code": 0,
    }
    return Event(**(fields | changes))


def make_statement(offset: int = 0, **changes: Any) -> Event:
    """Give the reference to a user message whose line stands at ``offset``."""
    lines = changes.pop("lines", (EventLine("prompt", offset, 90, digest_text(("prompt", offset))),))
    fields: dict[str, Any] = {"id": event_id(SOURCE, lines), "kind": "user-message", "lines": lines, "at": AT}
    return Event(**(fields | changes))


def make_header(end: int = 1000, **changes: Any) -> SidecarHeader:
    """Give the header of the first segment of a source, ``end`` bytes long."""
    start = changes.get("start", 0)
    fields: dict[str, Any] = {
        "origin": ORIGIN,
        "nonce": "3d" * 16,
        "source": SOURCE,
        "host": "codex",
        "format": "codex-rollout-jsonl/v1",
        "segment": 0,
        "start": 0,
        "end": end,
        "chunks": tuple(digest_text(index) for index in range(span_chunks(start, end))),
        "understanding": "understood",
        "tallies": Tallies(records=4, calls=2, results=2, unknown_types=("event_msg", "turnContext")),
        "cursor": '{"offset":1000}',
    }
    return SidecarHeader(**(fields | changes))


def make_enrollment(**changes: Any) -> Enrollment:
    """Give a consent to read one source."""
    binding = EnrollmentBinding(
        host="codex",
        session="0199-aa",
        user="u",
        tenant="local",
        project="/srv/u/projekt-ü",
        task="default",
        goal=None,
        portal=None,
        thread=None,
    )
    source = EnrolledSource(
        ref=SOURCE,
        path="/srv/codex/sessions/rollout-1.jsonl",
        device="66305",
        inode="18446744073709551615",
        size=1000,
        mtime_ns="1790000000000000001",
        ctime_ns="1790000000000000002",
        prefix_length=1000,
        prefix_digest=digest_text("prefix"),
    )
    fields: dict[str, Any] = {
        "enrollment_id": ENROLLMENT,
        "receipt_digest": digest_text("receipt"),
        "binding": binding,
        "source": source,
        "mode": "snapshot",
        "confirmed_at": AT,
        "expires_at": AT + 1000,
        "recall_until": AT + 2000,
    }
    return Enrollment(**(fields | changes))
