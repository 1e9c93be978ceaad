"""The border: any bytes give a value or ``SidecarError``, and what is read is written back byte for byte."""

import inspect
import traceback
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import sidecars.errors
from sidecars.checkpoint import (
    Checkpoint,
    format_checkpoint,
    open_checkpoint,
    parse_checkpoint,
    sign_checkpoint,
)
from sidecars.digest import Digest
from sidecars.envelope import format_envelope, open_envelope, parse_envelope, seal
from sidecars.errors import EquivocationError, SidecarError
from sidecars.event import format_event, parse_event
from sidecars.keys import KeyRef, Verifier
from sidecars.leaf import Kind, format_leaf, open_leaf, parse_leaf
from sidecars.note import format_note, open_note, parse_note, sign_note
from sidecars.proof import TlogProof, format_proof, parse_proof
from sidecars.sidecar import PAYLOAD_TYPE, format_sidecar, parse_header, parse_sidecar
from tests.sidecars.samples import LOG, ORIGIN, OWNER, make_event, make_header
from tests.sidecars.simulator import LogSimulator

LOG_VIEW = LogSimulator().view
PAYLOAD = format_sidecar(make_header(), [make_event(0)])[0]
LEAF = parse_envelope(LOG_VIEW.leaves[0][1]).payload

GOOD: dict[str, bytes] = {
    "envelope": seal(PAYLOAD_TYPE, PAYLOAD, [LOG]),
    "sidecar": PAYLOAD,
    "header": PAYLOAD.split(b"\n")[0],
    "event": PAYLOAD.split(b"\n")[1],
    "leaf": LEAF,
    "note": sign_note("text\n", [LOG]),
    "checkpoint": LOG_VIEW.head,
    "proof": format_proof(TlogProof(0, (bytes(32),), LOG_VIEW.head, b"extra")),
}


def _sidecar_again(raw: bytes) -> bytes:
    sidecar = parse_sidecar(raw)
    return format_sidecar(sidecar.header, sidecar.events)[0]


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


READERS: dict[str, Callable[[bytes], bytes]] = {
    "envelope": lambda raw: format_envelope(parse_envelope(raw)),
    "sidecar": _sidecar_again,
    "header": lambda raw: format_sidecar(parse_header(raw), [])[0][:0] + raw,
    "event": lambda raw: format_event(parse_event(raw)),
    "leaf": lambda raw: format_leaf(parse_leaf(raw, Kind.POLICY)),
    "note": lambda raw: format_note(parse_note(raw)),
    "checkpoint": lambda raw: format_checkpoint(parse_checkpoint(_text(raw))).encode(),
    "proof": lambda raw: format_proof(parse_proof(raw)),
}


@st.composite
def damaged(draw: st.DrawFn, good: bytes) -> bytes:
    """Give good bytes with a few pieces replaced, removed, doubled or filled with awkward bytes."""
    content = good
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(len(content), start + 20)))
        piece = draw(
            st.binary(max_size=8)
            | st.sampled_from(
                [
                    b"\n",
                    b"\n\n",
                    b"\0",
                    b"\xff",
                    b"{",
                    b"[" * 3000,
                    b'"',
                    b"\\ud800",
                    b"9" * 30,
                    b"-1",
                    b"1e9",
                    content[start:end] * 2,
                ]
            )
        )
        content = content[:start] + piece + content[end:]
    return content


@pytest.mark.parametrize("what", sorted(READERS))
@given(data=st.data())
def test_any_bytes_are_read_as_the_one_spelling_of_a_value_or_refused(what: str, data: st.DataObject) -> None:
    """Random and damaged bytes raise nothing but ``SidecarError``; what is accepted is written back unchanged."""
    raw = data.draw(st.binary(max_size=60) | damaged(GOOD[what]))
    try:
        again = READERS[what](raw)
    except SidecarError:
        return
    assert again == raw


@pytest.mark.parametrize("what", sorted(set(READERS) - {"checkpoint"}))
def test_the_good_example_is_read(what: str) -> None:
    """The examples that are damaged above are good ones, so that damage and not form is what is tested."""
    assert READERS[what](GOOD[what]) == GOOD[what]


@given(damaged(GOOD["envelope"]), damaged(GOOD["checkpoint"]), damaged(LOG_VIEW.leaves[0][1]))
def test_any_bytes_are_opened_only_when_nothing_was_changed(
    envelope: bytes, note: bytes, leaf: bytes
) -> None:
    """What verifies is what was signed."""
    for opened, good, call in (
        (envelope, GOOD["envelope"], lambda: open_envelope(envelope, PAYLOAD_TYPE, [LOG.verifier])),
        (note, GOOD["checkpoint"], lambda: open_checkpoint(note, ORIGIN, [LOG.verifier])),
        (leaf, LOG_VIEW.leaves[0][1], lambda: open_leaf(leaf, OWNER.verifier, LOG.verifier)),
    ):
        try:
            call()
        except SidecarError:
            continue
        assert opened == good


@given(st.text(max_size=80))
@example("a+01020304+AQ==")
@example("\ud800+01020304")
def test_any_text_is_a_key_or_refused(text: str) -> None:
    """The same for vkeys, key references, digests and checkpoint texts."""
    for parse in (Verifier.parse, KeyRef.parse, Digest.parse, parse_checkpoint):
        try:
            value: Any = parse(text)
        except SidecarError:
            continue
        assert str(value) == text or format_checkpoint(value) == text


@given(st.binary(max_size=200))
def test_any_text_can_be_asked_to_be_opened_as_a_note(raw: bytes) -> None:
    """Opening is as safe as parsing."""
    with pytest.raises(SidecarError):
        open_note(raw, [LOG.verifier])


ERRORS = sorted(
    (
        value
        for value in vars(sidecars.errors).values()
        if inspect.isclass(value) and issubclass(value, SidecarError)
    ),
    key=lambda error: error.__name__,
)


def test_every_error_has_a_reason_of_its_own() -> None:
    """Reasons are stable words for programs: kebab case, and one a class."""
    reasons = [error.reason for error in ERRORS]
    assert len(set(reasons)) == len(reasons) > 15
    assert all(
        reason == reason.lower() and set(reason) <= set("abcdefghijklmnopqrstuvwxyz-") for reason in reasons
    )


def test_an_error_keeps_rule_hint_and_evidence() -> None:
    """What a person and a program need is on the object."""
    error = EquivocationError("two roots", evidence=(b"a", b"b"), hint="ask")
    assert (str(error), error.rule, error.hint, error.evidence) == (
        "two roots",
        "two roots",
        "ask",
        (b"a", b"b"),
    )
    assert EquivocationError("two roots").hint


def refusal(read: Callable[[bytes], bytes], raw: bytes) -> str:
    """Give all that a refusal shows, the whole traceback included; nothing if there is none."""
    try:
        read(raw)
    except SidecarError as error:
        return error.rule + error.hint + "".join(traceback.format_exception(error))
    return ""


@pytest.mark.requirement("T2")
@pytest.mark.parametrize("what", sorted(READERS))
def test_no_refusal_shows_what_was_in_the_bytes(what: str) -> None:
    """A marker put at any place of the input is in no message, hint or traceback of the refusal."""
    marker = b"sk-marker-4711"
    for place in range(0, len(GOOD[what]), 7):
        raw = GOOD[what][:place] + marker + GOOD[what][place:]
        assert "4711" not in refusal(READERS[what], raw), place


def test_a_checkpoint_is_signed_for_the_tests_above() -> None:
    """The head of the simulator is a plain checkpoint of two leaves."""
    text = format_checkpoint(Checkpoint(ORIGIN, 2, parse_checkpoint(parse_note(LOG_VIEW.head).text).root))
    assert sign_checkpoint(parse_checkpoint(text), [LOG]) == LOG_VIEW.head
