"""A C2SP tlog-witness as an anchor: ours (``timeline-witness``) or any other that speaks the protocol."""

import msgspec

from sidecars.cosignature import WitnessVerifier
from timeline.anchors.port import Answer, Question, Standing
from timeline.clock import Clock, Stopwatch
from timeline.witness.client import Asked, Held, Ports, submit
from timeline.witness.endpoint import parse_endpoint
from timeline.witness.exchange import (
    Ahead,
    Cosigned,
    Forked,
    Misbehaved,
    Outcome,
    Refused,
    Regressed,
    Unavailable,
)


class WitnessAnchor(msgspec.Struct, frozen=True):
    """One witness at one address, with the key that is pinned for it; a connection to it is kept open."""

    asked: Asked
    ports: Ports

    def close(self) -> None:
        """Close the connection, if one is kept."""
        if self.asked.held is not None:
            self.asked.held.close()

    def advance(self, question: Question) -> Answer:
        """Ask for a cosignature."""
        outcome = submit(
            self.asked,
            question.note,
            question.prove,
            verifiers=question.verifiers,
            known=question.known,
            deadline_seconds=question.deadline_seconds,
            ports=self.ports,
        )
        return _answer(outcome, question)


def witness_anchor(address: str, key: str, clock: Clock, stopwatch: Stopwatch) -> WitnessAnchor:
    """The witness at ``address``, whose vkey is ``key``.

    Raises:
        WitnessAddressError: not an address of a witness.
        MalformedError, UnsupportedVersionError: not a witness's vkey.
    """
    return WitnessAnchor(
        Asked(parse_endpoint(address), WitnessVerifier.parse(key), Held()), Ports(clock, stopwatch)
    )


def _answer(outcome: Outcome, question: Question) -> Answer:
    match outcome:
        case Cosigned(note=note, at=at):
            return Answer(Standing.CONFIRMED, size=question.checkpoint.size, note=note, at=at)
        case Ahead(size=size, evidence=evidence):
            return Answer(Standing.AHEAD, size=size, reason="larger-tree", evidence=evidence)
        case Forked(size=size, evidence=evidence):
            return Answer(Standing.FORKED, size=size, reason="other-root", evidence=evidence)
        case Regressed(size=size):
            return Answer(Standing.REGRESSED, size=size, reason="smaller-tree")
        case Misbehaved(reason=reason):
            return Answer(Standing.MISBEHAVED, reason=reason)
        case Refused(reason="unknown-log") if question.known:  # which it has signed for before
            return Answer(Standing.REGRESSED, size=0, reason="unknown-log")
        case Refused(reason=reason):
            return Answer(Standing.REFUSED, reason=reason)
        case Unavailable(reason=reason):
            return Answer(Standing.UNAVAILABLE, reason=reason)
