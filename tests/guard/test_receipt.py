"""Receipts: one-use, short-lived, bound to everything, and issued for nothing but a reviewed host event."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.simulators.worlds import (
    NOW_MS,
    SetClock,
    World,
    new_world,
    prompt_event,
    refusal_of,
    rollout_of,
    session_at,
    write_transcript,
)
from timeline import service
from timeline.binding import Binding, Route, binding_of
from timeline.errors import ScopeError
from timeline.guard.receipt import Receipt, parse_prompt_event, wire_binding
from timeline.hosts import HOSTS
from timeline.limits import RECEIPT_SECONDS, RECEIPTS_PENDING_MAX

_BINDING = Binding("codex", "session-1", "ann", "local", "/srv/project", "default", "goal-1", Route("p", "t"))


@pytest.fixture
def prompted(tmp_path: Path) -> tuple[World, bytes]:
    """Give a new timeline, and the event of a prompt in a session whose transcript exists."""
    world = new_world(tmp_path / "w")
    rollout = rollout_of(world)
    path = write_transcript(world, rollout)
    return world, prompt_event(world, rollout.thread_id, str(path))


def issue(world: World, event: bytes) -> Receipt:
    """Issue a receipt as the hook does."""
    return service.receive_prompt(world.session, "codex", event)


@pytest.mark.requirement("T6", "T9")
def test_a_prompt_gives_one_receipt_however_often_it_is_reported(prompted: tuple[World, bytes]) -> None:
    """The same event, session and file give the receipt that is pending already."""
    world, event = prompted

    first, second = issue(world, event), issue(world, event)

    assert first == second
    assert service.list_receipts(world.session, world.root) == (first,)


@pytest.mark.requirement("T6")
def test_a_receipt_is_spent_once(prompted: tuple[World, bytes]) -> None:
    """The second attempt finds none, also in a new process."""
    world, event = prompted
    receipt = issue(world, event)

    service.enroll(world.session, world.root, receipt.id, confirmed=True)

    again = refusal_of(lambda: service.enroll(world.session, world.root, receipt.id, confirmed=True))
    assert again == "host-transcript-receipt-unavailable"


@pytest.mark.requirement("T6")
def test_a_failing_attempt_spends_the_receipt(prompted: tuple[World, bytes], tmp_path: Path) -> None:
    """Whoever tries with another project has used the receipt up."""
    world, event = prompted
    receipt = issue(world, event)
    other = tmp_path / "other"
    other.mkdir()

    wrong = refusal_of(lambda: service.enroll(world.session, str(other), receipt.id, confirmed=True))
    right = refusal_of(lambda: service.enroll(world.session, world.root, receipt.id, confirmed=True))

    assert (wrong, right) == ("private-enrollment-unavailable", "host-transcript-receipt-unavailable")


@pytest.mark.requirement("T10")
def test_nothing_is_enrolled_or_spent_without_the_owners_word(prompted: tuple[World, bytes]) -> None:
    """A missing confirmation refuses before the receipt is touched."""
    world, event = prompted
    receipt = issue(world, event)

    refused = refusal_of(lambda: service.enroll(world.session, world.root, receipt.id, confirmed=False))

    assert refused == "confirmation-required"
    assert service.enroll(world.session, world.root, receipt.id, confirmed=True).binding == receipt.binding


@pytest.mark.requirement("T6")
@pytest.mark.parametrize(
    ("later_ms", "usable"), [(0, True), (RECEIPT_SECONDS * 1000 - 1, True), (RECEIPT_SECONDS * 1000, False)]
)
def test_a_receipt_ends_after_fifteen_minutes(
    prompted: tuple[World, bytes], later_ms: int, usable: bool
) -> None:
    """The last millisecond is inside, the next is not."""
    world, event = prompted
    receipt = issue(world, event)

    late = session_at(world.folder, world.home, clock=SetClock(NOW_MS + later_ms))

    refused = refusal_of(lambda: service.enroll(late, world.root, receipt.id, confirmed=True))
    assert (refused is None) == usable


def test_at_most_thirty_two_receipts_wait(prompted: tuple[World, bytes]) -> None:
    """The next one is refused; nothing that waits is pushed out."""
    world, event = prompted
    found = json.loads(event)
    for number in range(RECEIPTS_PENDING_MAX):
        issue(world, json.dumps({**found, "turn_id": f"turn-{number}"}).encode())

    refused = refusal_of(lambda: issue(world, json.dumps({**found, "turn_id": "one-more"}).encode()))

    assert refused == "host-receipt-capacity-exhausted"
    assert len(service.list_receipts(world.session, world.root)) == RECEIPTS_PENDING_MAX


@pytest.mark.requirement("T7", "T8")
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"hook_event_name": "PreToolUse"}, "host-receipt-event-not-supported"),
        ({"session_id": ""}, "host-receipt-event-not-supported"),
        ({"session_id": 7}, "host-receipt-event-not-supported"),
        ({"transcript_path": None}, "host-receipt-event-not-supported"),
        ({"group_id": None}, "raw-group-scope"),
        ({"GROUP-REF": "team"}, "raw-group-scope"),
        ({"groupId": "team"}, "raw-group-scope"),
        ({"agent_spine_scope": {"group": "team"}}, "raw-group-scope"),
        ({"session_id": "another-session"}, "transcript-session-mismatch"),
        ({"transcript_path": "/etc/passwd"}, "transcript-outside-host-sessions"),
        ({"transcript_path": "relative.jsonl"}, "transcript-path-unsupported"),
        ({"transcript_path": "/tmp/a\nb.jsonl"}, "host-receipt-event-not-supported"),
    ],
)
def test_an_event_that_does_not_qualify_gives_no_receipt(
    prompted: tuple[World, bytes], change: dict[str, Any], reason: str
) -> None:
    """Wrong events, groups, foreign files and other sessions are refused, each with its reason."""
    world, event = prompted

    refused = refusal_of(lambda: issue(world, json.dumps({**json.loads(event), **change}).encode()))

    assert refused == reason
    assert service.list_receipts(world.session, world.root) == ()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff", b'{"a":1,"a":2}', b"[" * 5000, b"x" * (2 << 20)]
)
def test_bytes_that_are_no_event_are_refused(content: bytes) -> None:
    """Any bytes give an event or a refusal."""
    for host in HOSTS.values():
        assert refusal_of(lambda: parse_prompt_event(content, host)) == "host-receipt-event-not-supported"  # noqa: B023  (called at once)


@pytest.mark.requirement("T7", "T8")
@pytest.mark.parametrize("field", ["host", "session", "user", "tenant", "project", "task"])
@pytest.mark.parametrize("value", ["", " ", "two words", "\n", "x" * 5000])
def test_a_binding_with_a_bad_field_does_not_exist(field: str, value: str) -> None:
    """Every field is checked, whichever way the binding is made."""
    with pytest.raises(ScopeError):
        msgspec.structs.replace(_BINDING, **{field: value}).__post_init__()


@pytest.mark.requirement("T7")
def test_a_binding_keeps_its_route() -> None:
    """Portal and thread travel with the receipt."""
    assert binding_of(wire_binding(_BINDING)) == _BINDING


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        (lambda path: None, False),
        (lambda path: path.write_bytes(path.read_bytes() + b"{}\n"), False),
        (lambda path: path.write_bytes(b"x" + path.read_bytes()[1:]), True),
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), True),
        (lambda path: path.unlink(), True),
    ],
)
def test_only_growth_is_allowed_between_receipt_and_consent(
    prompted: tuple[World, bytes], change: Callable[[Path], Any], refused: bool
) -> None:
    """A rewritten, shortened or vanished file is refused, and the receipt is spent."""
    world, event = prompted
    receipt = issue(world, event)
    change(Path(json.loads(event)["transcript_path"]))

    reason = refusal_of(lambda: service.enroll(world.session, world.root, receipt.id, confirmed=True))

    assert (reason is not None) == refused
    assert service.list_receipts(world.session, world.root) == ()


@pytest.mark.requirement("T11")
def test_enrolling_reads_at_most_four_kib(
    prompted: tuple[World, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the transcript's content no more than its first 4 KiB is read, however often it is looked at."""
    world, event = prompted
    furthest = [0]
    from timeline import source

    original = source.os.pread

    def pread(descriptor: int, length: int, offset: int) -> bytes:
        furthest[0] = max(furthest[0], offset + length)
        return original(descriptor, length, offset)

    def preadv(*_arguments: object) -> int:
        message = "enrolling must not stream the file"
        raise AssertionError(message)

    monkeypatch.setattr(source.os, "pread", pread)
    monkeypatch.setattr(source.os, "preadv", preadv)
    receipt = issue(world, event)
    service.enroll(world.session, world.root, receipt.id, confirmed=True)

    assert 0 < furthest[0] <= 4096


def test_the_host_may_not_have_created_the_file_yet(tmp_path: Path) -> None:
    """A receipt then binds path and session; the consent needs the file."""
    world = new_world(tmp_path / "w")
    rollout = rollout_of(world)
    path = write_transcript(world, rollout)
    event = prompt_event(world, rollout.thread_id, str(path))
    content = path.read_bytes()
    path.unlink()
    receipt = issue(world, event)

    path.write_bytes(content)

    assert service.enroll(world.session, world.root, receipt.id, confirmed=True).source.size == len(content)


def test_the_example_of_the_specification_is_what_the_program_makes(root: Path) -> None:
    """Receipt and enrollment in docs/spec read back, and the one follows from the other."""
    from sidecars.leaf import Enrollment
    from timeline.guard.enrollment import make_enrollment, snapshot_of
    from timeline.guard.receipt import Receipt

    page = (root / "docs" / "spec" / "enrollment.md").read_text(encoding="utf-8")
    receipt_text, enrollment_text = (block.partition("\n```")[0] for block in page.split("```json\n")[1:])
    receipt = msgspec.json.decode(receipt_text, type=Receipt)
    enrollment = msgspec.json.decode(enrollment_text, type=Enrollment)

    made = make_enrollment(
        receipt, snapshot_of(enrollment), now_ms=enrollment.confirmed_at, recall_seconds=30 * 24 * 3600
    )

    assert made == enrollment
