"""The protocol that King's launcher expects: it can refuse a receipt, and can never make a wire acceptable."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.simulators.king import work_wire
from tests.simulators.worlds import World, refusal_of
from timeline import service
from timeline.guard.receipt import Receipt
from timeline.limits import PREFIX_BYTES_MAX

VARIABLE = "AGENTSPINE_KING_WIRE_PROTOCOL_VERSION"
REFUSED = "host-receipt-event-not-supported"
SESSION = "01a22a7f-ace7-75e3-95ae-7922d7fa3d2f"
UNREVIEWED = "1.6-blun"
PLACES = {"king": ".king", "kimi": ".kimi-code"}

Line = bytes | dict[str, Any]


def metadata(protocol: object = "1.4", **more: Any) -> dict[str, Any]:
    """The first record of a wire."""
    return {"type": "metadata", "protocol_version": protocol, "created_at": 1_787_220_000_000, **more}


def put(world: World, content: Line, host: str = "king") -> Path:
    """Write a session's wire, and list the session as the host does."""
    folder = world.home / PLACES[host] / "sessions/wd" / SESSION
    wire = folder / "agents/main/wire.jsonl"
    wire.parent.mkdir(parents=True, exist_ok=True)
    wire.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode() + b"\n")
    entry = json.dumps({"sessionId": SESSION, "sessionDir": str(folder)})
    (world.home / PLACES[host] / "session_index.jsonl").write_text(entry + "\n", encoding="utf-8")
    return wire


def launched(world: World, expected: str | None) -> service.Session:
    """The session of a hook whose launcher expects a protocol, or says nothing."""
    environment = {"HOME": str(world.home), **({} if expected is None else {VARIABLE: expected})}
    return service.Session(world.locations, world.session.ports, environment)


def prompted(world: World, expected: str | None, host: str = "king") -> Receipt:
    """What the prompt hook gives."""
    event = {"hook_event_name": "UserPromptSubmit", "session_id": SESSION, "cwd": world.root}
    return service.receive_prompt(launched(world, expected), host, json.dumps(event).encode())


def check_refused(world: World, expected: str) -> None:
    """The prompt is refused with the variable's name and without the wire's words, and no receipt waits."""
    with pytest.raises(service.REFUSALS) as caught:
        prompted(world, expected)
    assert caught.value.reason == REFUSED
    assert VARIABLE in caught.value.message
    assert UNREVIEWED not in caught.value.message
    assert service.list_receipts(world.session, world.root) == ()


@pytest.mark.requirement("T71")
@pytest.mark.parametrize("protocol", ["1.4", "1", "a", "v1.4_x/y-z", "1" + "x" * 63, UNREVIEWED])
def test_the_protocol_that_the_launcher_names_gives_a_receipt(world: World, protocol: str) -> None:
    """The wire declares it on its first line, with whatever other fields and lines."""
    wire = put(world, json.dumps(metadata(protocol, app_version="0.12.1")).encode() + b"\r\n{}\nhalf")
    assert prompted(world, protocol).source.path == str(wire)


@pytest.mark.requirement("T71")
@pytest.mark.parametrize("declared", ["1.4", UNREVIEWED])
@pytest.mark.parametrize("expected", ["1.5", "1.40", "1.4.", "1", "v1.4", "1.6-BLUN"])
def test_another_protocol_is_refused(world: World, declared: str, expected: str) -> None:
    """Also where both are reviewed; one that begins the same is another one."""
    put(world, metadata(declared))
    check_refused(world, expected)


@pytest.mark.requirement("T71")
@pytest.mark.parametrize(
    "expected",
    ["", " ", "1.4 ", "1.4\n", ".4", "-1", "/1", "_1", "1:4", "1,4", "1\0", "é", "1é", "٣", "1" + "x" * 64],
)
def test_a_malformed_variable_is_refused(world: World, expected: str) -> None:
    """Whatever the wire declares, the very same text included; also before there is a wire."""
    wire = put(world, metadata(expected))
    check_refused(world, expected)
    wire.unlink()
    check_refused(world, expected)


@pytest.mark.requirement("T71")
@pytest.mark.parametrize("content", [b"", b"hello\n", metadata("1.4"), metadata(UNREVIEWED)])
@pytest.mark.parametrize("host", ["king", "kimi"])
def test_without_the_variable_nothing_is_asked(world: World, host: str, content: Line) -> None:
    """A stock host sets none: the receipt is given, and the adapter judges the wire later."""
    wire = put(world, content, host)
    assert prompted(world, None, host).source.path == str(wire)


@pytest.mark.requirement("T71")
@pytest.mark.parametrize("expected", ["1.5", "", "1 4"])
def test_the_variable_is_kings_alone(world: World, expected: str) -> None:
    """Kimi Code has no such launcher; what stands in the environment by chance changes nothing."""
    wire = put(world, metadata("1.4"), "kimi")
    assert prompted(world, expected, "kimi").source.path == str(wire)


@pytest.mark.requirement("T71")
def test_a_wire_that_is_not_there_yet_is_not_checked(world: World) -> None:
    """The receipt binds path and session; what is written afterwards is not compared with the variable."""
    wire = put(world, b"")
    wire.unlink()
    receipt = prompted(world, "1.5")
    assert (receipt.source.path, receipt.source.size) == (str(wire), None)
    put(world, metadata("1.4"))
    assert service.enroll(world.session, world.root, receipt.id, confirmed=True).source.path == str(wire)


@pytest.mark.requirement("T11", "T71")
def test_a_first_line_over_the_prefix_is_refused(world: World) -> None:
    """The longest that is read gives a receipt; one byte more is not looked for."""
    short = json.dumps(metadata("1.4", app_version="")).encode()
    line = short.replace(b'""', b'"' + b"x" * (PREFIX_BYTES_MAX - len(short) - 1) + b'"')
    assert len(line) + 1 == PREFIX_BYTES_MAX
    put(world, line.replace(b"x", b"xx", 1) + b"\n")
    check_refused(world, "1.4")
    put(world, line + b"\n" + line + b"\n")
    assert prompted(world, "1.4").source.prefix_length == PREFIX_BYTES_MAX


@pytest.mark.requirement("T71")
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        json.dumps(metadata("1.4")).encode(),
        b"\n" + json.dumps(metadata("1.4")).encode() + b"\n",
        b'{"type":"turn.prompt"}\n' + json.dumps(metadata("1.4")).encode() + b"\n",
        {"type": "forked", "protocol_version": "1.4"},
        {"protocol_version": "1.4"},
        {"type": "metadata"},
        metadata(1.4),
        metadata(["1.4"]),
        metadata({"1.4": "1.4"}),
        metadata(None),
        b'["metadata","1.4"]\n',
        b'{"type":"metadata","protocol_version":"1.5","protocol_version":"1.4"}\n',
        b'{"type":"metadata","protocol_version":"1.4"}{"x":1}\n',
        b'{"type":"metadata","protocol_version":"1.4","x":"\xff"}\n',
        b"[" * 3000 + b"\n",
    ],
)
def test_a_first_line_that_declares_no_protocol_is_refused(world: World, content: Line) -> None:
    """Empty, unfinished, another record, another kind of value, two answers, no JSON."""
    put(world, content)
    check_refused(world, "1.4")


@pytest.mark.requirement("T71")
def test_what_was_checked_at_the_prompt_is_what_is_enrolled(world: World) -> None:
    """A wire that is rewritten in place after the prompt, with another protocol, is not enrolled."""
    wire = put(world, metadata("1.4"))
    receipt = prompted(world, "1.4")
    with wire.open("r+b") as file:
        file.write(json.dumps(metadata("1.5")).encode() + b"\n{}\n")
    refused = refusal_of(lambda: service.enroll(world.session, world.root, receipt.id, confirmed=True))
    assert refused == "transcript-snapshot-changed"


@pytest.mark.requirement("T71")
def test_the_variable_makes_no_protocol_acceptable(world: World) -> None:
    """A sound wire of an unreviewed protocol gets a receipt by its name, and stays refused at indexing."""
    put(world, work_wire().to_bytes().replace(b'"protocol_version":"1.4"', b'"protocol_version":"1.6-blun"'))
    receipt = prompted(world, UNREVIEWED)
    session = launched(world, UNREVIEWED)
    service.enroll(session, world.root, receipt.id, confirmed=True)
    ((_, error),) = service.index(session, world.root)
    assert getattr(error, "reason", None) == "unknown-protocol"
