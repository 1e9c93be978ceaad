"""The calls that are still open, and what is known of the recent ones; both bounded.

Every call is counted; only calls of reviewed commands keep what their blocks tell. A result is settled at the next
prompt after something told of its end, or when the table is full, so that a second, contradicting result of the same
turn still counts. A call id is the provider's and occurs once: the same again is a repeat of the host's, remembered
for a while by a digest, and no second run. Nothing here reads a line.
"""

import binascii
import re
from collections.abc import Iterable
from hashlib import sha256
from typing import Final

import msgspec

from adapters.base import Tallies, add_to
from adapters.calls import FAILURE, SAYS, SUCCESS, count_outcome, digest_key
from adapters.claude.calls import MAX_CALL_LINES, Told, join, tells_end
from adapters.claude.carriers import Ending
from adapters.record import CallStatus, LineRole, ToolResult

MAX_OPEN: Final = 10
"""Most reviewed calls that are open at once. The host runs a handful of commands in parallel; bounds the cursor."""

MAX_RECENT: Final = 40
"""Most calls whose outcome is still awaited or may still be contradicted; bounds the cursor."""

MAX_SEEN: Final = 128
"""How many prompts and reviewed calls are remembered to know a repeat by; bounds the cursor."""

MAX_CODES: Final = 32
"""Most different exit codes of failed results that are counted apart."""

_SEEN_BYTES: Final = 6
"""Length of a remembered digest: two of a window's lines share one by chance in 1 of 10^10 sessions."""

_SEEN_KEY: Final = "!"
"""What marks the remembered digests in a cursor; no call id that is kept as it is holds one."""

_PLAIN_ID = re.compile(r"[A-Za-z0-9_.:-]{1,48}")

INHERITED, CALLED, SHELL_CALL, LOOK = 16, 32, 64, 128


def says(ending: Ending) -> int:
    """Return what ``ending`` says for the counts, as bits; 0 where it says nothing."""
    if ending.status is not CallStatus.UNKNOWN:
        return SAYS[ending.status]
    return SUCCESS if ending.error_flag is False else 0


def key_of(call_id: str) -> str:
    """Return the short name under which a call is kept."""
    return call_id if _PLAIN_ID.fullmatch(call_id) else digest_key(call_id)


class _Open(msgspec.Struct):
    inherited: bool
    lines: list[Told] = msgspec.field(default_factory=list)

    @property
    def ended(self) -> bool:
        return any(
            told.ref.role is LineRole.OUTPUT and told.ending.status is not CallStatus.RUNNING
            for told in self.lines
        )

    @property
    def task(self) -> str | None:
        """The name under which the command goes on in the background."""
        running = (told for told in self.lines if told.ending.status is CallStatus.RUNNING)
        return next((told.ending.task for told in running if told.ending.task is not None), None)

    @property
    def look(self) -> str | None:
        """The id of the look whose result is awaited, or was the last."""
        return next((told.call_id for told in self.lines if told.looks), None)

    def drop_look(self) -> None:
        """Let go of a look that saw no end: its blocks prove nothing."""
        look = self.look
        self.lines = [told for told in self.lines if told.call_id != look]


class Ledger:
    """Open and recent calls of one reader; counts into its tallies."""

    __slots__ = ("_looks", "_open", "_recent", "_seen", "_tallies")

    def __init__(self, tallies: Tallies) -> None:
        self._tallies = tallies
        self._open: dict[str, _Open] = {}
        self._looks: dict[str, _Open] = {}
        self._recent: dict[str, list[int]] = {}
        self._seen: dict[bytes, None] = {}

    # ------------------------------------------------------------------------------------ counting every call

    def called(self, call_id: str | None, bits: int) -> None:
        """Note a call. The same id again is counted as another call: the earlier one is counted first."""
        if call_id is None:
            self._tallies.calls_without_result += 1
            return
        key = key_of(call_id)
        if key in self._recent:
            self._count(key)
        elif len(self._recent) >= MAX_RECENT:
            # A call that still waits may be a subagent's whole run: those that have a result make room first.
            answered = (key for key, (results, _) in self._recent.items() if results)
            self._count(next(answered, next(iter(self._recent))))
        self._recent[key] = [0, CALLED | bits]

    def resulted(self, call_id: str | None, ending: Ending, *, inherited: bool) -> None:
        """Note a result. Without a call it is an orphan: counted, and never paired by guess."""
        bits = says(ending)
        known = self._recent.get(key_of(call_id)) if call_id is not None else None
        if bits & FAILURE and not inherited:
            self._note_code(ending.exit_code)
        if known is None:
            self._tallies.results_without_call += 1
            tallies = self._tallies
            count_outcome(tallies.inherited_outcomes if inherited else tallies.outcomes, bits)
            return
        known[0] += 1
        known[1] |= bits

    def _note_code(self, code: int | None) -> None:
        codes = self._tallies.failure_codes
        name = "none" if code is None else str(code)
        if name in codes or len(codes) < MAX_CODES:
            add_to(codes, name)

    def kind_of(self, call_id: str) -> int:
        """Return the bits of a recent call, 0 for an unknown one."""
        known = self._recent.get(key_of(call_id))
        return known[1] if known is not None else 0

    def _count(self, key: str) -> None:
        results, bits = self._recent.pop(key)
        if not results:
            self._tallies.calls_without_result += 1
            return
        inherited = bits & INHERITED
        count_outcome(
            self._tallies.inherited_outcomes if inherited else self._tallies.outcomes, bits, results
        )

    # ------------------------------------------------------------------------------- keeping the reviewed ones

    def is_open(self, call_id: str) -> bool:
        """Say whether this reviewed call, or a look at one, awaits more."""
        return call_id in self._open or call_id in self._looks

    def open(self, told: Told, *, inherited: bool) -> list[ToolResult]:
        """Open a call with its first block; return what had to be settled to make room."""
        call = self._open.get(told.call_id)
        if call is not None:
            self._add(call, told)
            return []
        if self.is_repeat(told.call_id.encode()):
            add_to(self._tallies.anomalies, "repeated-call")
            return []
        settled = []
        if len(self._open) >= MAX_OPEN:
            ended = (call_id for call_id, call in self._open.items() if call.ended)
            settled.append(self._settle(next(ended, next(iter(self._open)))))
        self._open[told.call_id] = _Open(inherited, [told])
        return [result for result in settled if result is not None]

    def look(self, told: Told) -> None:
        """Note a look: its result will belong to the command that runs as that task, if one does."""
        for call in self._open.values():
            if told.task is not None and call.task == told.task and not call.ended:
                self._forget_look(call)
                self._add(call, told)
                self._looks[told.call_id] = call

    def _forget_look(self, call: _Open) -> None:
        look = call.look
        if look is not None:
            self._looks.pop(look, None)
            call.drop_look()

    def looks_at_something(self, task: str | None) -> bool:
        """Say whether an open call goes on as this task."""
        return task is not None and any(call.task == task for call in self._open.values())

    def add(self, told: Told) -> None:
        """Add a result to its open call; one too many only confirms the conflict that the last one made."""
        call = self._open.get(told.call_id)
        if call is not None:
            self._add(call, told)
            return
        call = self._looks[told.call_id]
        if tells_end(told, call.task):
            self._add(call, told)
        else:
            self._forget_look(call)

    def _add(self, call: _Open, told: Told) -> None:
        """Add a block to a call, unless it is one of a line that the host has written before."""
        ref = told.ref
        if any((known.ref.sha256, known.ref.part) == (ref.sha256, ref.part) for known in call.lines):
            add_to(self._tallies.anomalies, "repeated-line")
        elif len(call.lines) < MAX_CALL_LINES:
            call.lines.append(told)

    def settle_ended(self) -> list[ToolResult]:
        """Return the results of open calls that something told the end of, in file order of their calls."""
        ended = [call_id for call_id, call in self._open.items() if call.ended]
        return [result for call_id in ended if (result := self._settle(call_id)) is not None]

    def _settle(self, call_id: str) -> ToolResult | None:
        call = self._open.pop(call_id)
        if call.look is not None:
            self._looks.pop(call.look, None)
            if not call.ended:
                call.drop_look()
        return join(call.lines, inherited=call.inherited)

    def is_repeat(self, what: bytes) -> bool:
        """Say whether ``what`` (a call id, a prompt's line) is remembered; remember it from now on."""
        digest = sha256(what).digest()[:_SEEN_BYTES]
        if digest in self._seen:
            return True
        if len(self._seen) >= MAX_SEEN:
            del self._seen[next(iter(self._seen))]
        self._seen[digest] = None
        return False

    def close(self) -> list[ToolResult]:
        """Settle and count everything; calls that nothing but the call itself was told of give no result."""
        results = [result for call_id in list(self._open) if (result := self._settle(call_id)) is not None]
        for key in list(self._recent):
            self._count(key)
        return results

    # --------------------------------------------------------------------------------------------- for a cursor

    def open_calls(self) -> Iterable[tuple[bool, list[Told]]]:
        """Return the open calls in order, each as whether it is inherited and its blocks."""
        return [(call.inherited, call.lines) for call in self._open.values()]

    def reopen(self, lines: list[Told], *, inherited: bool) -> None:
        """Take up an open call of a cursor."""
        call = _Open(inherited, lines)
        self._open[lines[0].call_id] = call
        if call.look is not None:
            self._looks[call.look] = call

    def recent(self) -> tuple[tuple[str, int, int], ...]:
        """Return what is known of the recent calls, and what is remembered of earlier ones."""
        calls = [(key, results, bits) for key, (results, bits) in self._recent.items()]
        seen = binascii.b2a_base64(b"".join(self._seen), newline=False).decode("ascii")
        return (*calls, (_SEEN_KEY + seen, 0, 0)) if seen else tuple(calls)

    def restore(self, recent: Iterable[tuple[str, int, int]]) -> None:
        """Take up the recent calls of a cursor. Raises: ``ValueError`` where the digests are none."""
        for key, results, bits in recent:
            if key.startswith(_SEEN_KEY):
                seen = binascii.a2b_base64(key[len(_SEEN_KEY) :], strict_mode=True)
                self._seen = {seen[at : at + _SEEN_BYTES]: None for at in range(0, len(seen), _SEEN_BYTES)}
            else:
                self._recent[key] = [results, bits]
