"""What the daemon does when a host's hook comes: a receipt, a permit, a reading, and seldom a word.

The hook prints what is answered here, in its host's own dialect. A prompt gives a receipt; a guarded tool a permit or
a refusal; a tool that ran lets a followed transcript be read on. A session that may know is reminded of where its task
stands, as it begins and at each prompt, and its user is told what captured runs say of the agent's claims when it
stops. Whatever fails is written down and says nothing: only a guarded tool is ever
refused, and the server refuses it as well, since hosts skip hooks.
"""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from timeline import dialects
from timeline.activity import PermitStanding
from timeline.daemon.callers import see_caller
from timeline.daemon.errors import DaemonStoppingError
from timeline.daemon.following import Following
from timeline.daemon.server import ClientRequest
from timeline.daemon.shared import HOOK_SECONDS, Shared
from timeline.dialects import HookEvent
from timeline.errors import StateMissingError
from timeline.guard.errors import GroupSuppressedError
from timeline.guard.request import WRITING, tool_named
from timeline.guard.transport import Caller, nearest_host
from timeline.limits import RECEIPTS_PENDING_MAX
from timeline.permitting import Denied, Permitted, lifecycle_hint, permit_call
from timeline.service import REFUSALS, Session, receive_prompt
from timeline.stop_telling import claims_at_stop, told_at_stop
from timeline.telling import told_at_start, told_before_answer

if TYPE_CHECKING:
    from timeline.guard.receipt import Receipt

_READS_ON: Final = frozenset(
    {"PostToolUse", "PostToolUseFailure", "Stop", "SessionEnd", "PreCompact", "PostCompact"}
)
"""Events after which the host has written something that a followed source may show."""

_CONSENT_TRIES: Final = 3
_CONSENT_PAUSE_SECONDS: Final = 1.0
"""How often, and how long apart, it is looked for the prompt in the transcript after each event of its session."""

_HINTS: Final = frozenset({"SessionStart", "PostCompact"})
"""Events after which the model has forgotten what happened, or has not known it."""

REMINDER_SECONDS: Final = 0.08
"""How long a hook may wait for what is remembered; its process gives up after 130 ms, and would print nothing at all.
"""


CLAIMS_SECONDS: Final = 1.0
"""How long the hook at Stop may wait: what its host has written since is read and committed first."""


class Reception:
    """Hears the hooks; threads share it."""

    def __init__(self, shared: Shared, following: Following, preload: Callable[[], None]) -> None:
        """``preload`` readies the MCP server: its session begins within the second."""
        self._shared = shared
        self._following = following
        self._preload = preload
        self._turn = threading.Lock()
        self._pending: dict[tuple[str, str], Receipt] = {}
        """The newest receipt of each session, until a standing consent spends it or it ends."""

    def hear(self, request: ClientRequest) -> bytes:
        """What the hook has to print.

        Raises:
            TimelineError: it is no hook of a known host, or its use case is refused.
        """
        host = request.greeting.words[0] if request.greeting.words else ""
        event = dialects.parse_hook(host, request.body)
        self._saw_hook(event, request)
        if event.event == "SessionStart":
            self._preload()
        self._spend_on_consent(event)
        if event.event == "UserPromptSubmit":
            return self._prompted(event, request)
        if event.event == "PreToolUse" and event.tool is not None and tool_named(event.tool) is not None:
            return self._permit(event, request)
        if event.event in _READS_ON:
            self._following.read_on(event.host, event.session)
        if event.event in _HINTS:
            return self._hint(event, request)
        if units := claims_at_stop(event):
            told = self._remind(
                event, request, lambda session: told_at_stop(session, event, units), seconds=CLAIMS_SECONDS
            )
            return told or dialects.nothing(event.host, event.event)
        return dialects.nothing(event.host, event.event)

    def _hint(self, event: HookEvent, request: ClientRequest) -> bytes:
        """A source-blind word where something is enrolled, in a host that takes one then, and a briefing besides."""
        if (
            event.names_group
            or event.thread is not None
            or not dialects.takes_context(event.host, event.event)
        ):
            return dialects.nothing(event.host, event.event)
        try:
            text = self._shared.call(
                lambda session: lifecycle_hint(
                    session, host=event.host, hook_session=event.session, cwd=event.cwd
                ),
                wait_seconds=HOOK_SECONDS,
            )
        except StateMissingError:
            return b""
        briefed = self._remind(event, request, lambda session: told_at_start(session, event, text))
        return briefed or (dialects.context(event.host, event.event, text) if text else b"")

    def _remind(
        self,
        event: HookEvent,
        request: ClientRequest,
        tell: Callable[[Session], bytes | None],
        *,
        seconds: float | None = None,
    ) -> bytes | None:
        """What is remembered for a session itself that its host's own process asks for; ``None`` where it is late.

        It stands in nothing's way: what fails is written down.
        """
        above = nearest_host(request.peer.chain)
        if event.names_group or event.thread is not None or above is None or above.host != event.host:
            return None
        wait = REMINDER_SECONDS if seconds is None else seconds
        return self._shared.glance("reminder", tell, wait_seconds=wait)

    def _saw_hook(self, event: HookEvent, request: ClientRequest) -> None:
        host = nearest_host(request.peer.chain)
        size, now_ms = _size_of(event.transcript), self._shared.now_ms()
        self._shared.saw(
            lambda activity: activity.saw_hook(
                event.host,
                event.session,
                event.event,
                now_ms,
                project=event.cwd,
                transcript=event.transcript,
                size=size,
                process=None if host is None else (host.process.pid, host.process.started),
            )
        )

    # -- prompts -----------------------------------------------------------------------------------------------

    def _prompted(self, event: HookEvent, request: ClientRequest) -> bytes:
        """A receipt, and only where there is one, a reminder."""
        chain = request.peer.whole_chain()  # while the hook waits

        def issue(session: Session) -> bool:
            of_peer = msgspec.structs.replace(session, environment=request.peer.environment)
            try:
                receipt = receive_prompt(of_peer, event.host, request.body, peer=chain)
            except StateMissingError:
                return False  # nobody has run `timeline init`
            self._issued(event, receipt)
            return True

        if not self._shared.hurry("hook", issue, wait_seconds=HOOK_SECONDS):
            return dialects.nothing(event.host, event.event)
        reminded = self._remind(event, request, lambda session: told_before_answer(session, event))
        return reminded or dialects.nothing(event.host, event.event)

    def _issued(self, event: HookEvent, receipt: "Receipt") -> None:
        now_ms = self._shared.now_ms()
        self._shared.saw(lambda activity: activity.saw_receipt(event.host, event.session, now_ms))
        self._shared.diary.write("receipt", host=event.host, session=event.session, standing="issued")
        with self._turn:
            self._pending.pop((event.host, event.session), None)
            self._pending[event.host, event.session] = receipt
            if len(self._pending) > RECEIPTS_PENDING_MAX:
                del self._pending[next(iter(self._pending))]

    def _spend_on_consent(self, event: HookEvent) -> None:
        """Let the owner's standing consent spend this session's receipt, once its transcript shows the prompt."""
        with self._turn:
            receipt = self._pending.get((event.host, event.session))
        if receipt is not None:
            self._try_consent(receipt, _CONSENT_TRIES)

    def _try_consent(self, receipt: "Receipt", tries: int) -> None:
        key = (receipt.binding.host, receipt.binding.session)

        def spend() -> None:
            # Imported here: most timelines have no standing consent.
            from timeline.consenting import may_spend, spend_on_consent

            session = self._shared.session
            if not may_spend(session, receipt):
                self._forget(key, receipt)
            elif spend_on_consent(session, receipt) is not None:
                self._forget(key, receipt)
                self._shared.diary.write("receipt", host=key[0], session=key[1], standing="spent")
                self._following.refresh()
            elif tries > 1:
                # Some hosts call the hook of a tool before they have written the prompt.
                later = threading.Timer(_CONSENT_PAUSE_SECONDS, self._try_consent, (receipt, tries - 1))
                later.daemon = True
                later.start()

        try:
            self._shared.worker.post(f"consent:{key[0]}:{key[1]}", spend)
        except DaemonStoppingError:  # the receipt waits in the state
            return

    def _forget(self, key: tuple[str, str], receipt: "Receipt") -> None:
        with self._turn:
            if self._pending.get(key) is receipt:
                del self._pending[key]

    # -- permits -----------------------------------------------------------------------------------------------

    def _permit(self, event: HookEvent, request: ClientRequest) -> bytes:
        """Nothing also where the answer takes longer than the hook may: the server decides when the call comes."""
        try:
            if event.names_group:
                message = "the hook's input names a group"
                raise GroupSuppressedError(message)
            caller = see_caller(request.peer)
            found = self._shared.hurry(
                "hook", lambda session: self._decide(session, event, caller), wait_seconds=HOOK_SECONDS
            )
        except REFUSALS as error:
            found = Denied(error.reason, error.hint or "")
            self._decided(event, found)
        if isinstance(found, Denied):
            hint = f": {found.hint}" if found.hint else ""
            return dialects.deny(event.host, f"timeline: {found.reason}{hint}")
        if isinstance(found, Permitted) and found.dropped and found.permit.tool not in WRITING:
            # The host takes changed arguments only together with "allow", which may skip a question of its own: so
            # never for a tool that is more than reading.
            return dialects.rewrite(event.host, found.tool_input)
        return b""

    def _decide(self, session: Session, event: HookEvent, caller: Caller) -> Permitted | Denied | None:
        found = permit_call(
            session,
            self._shared.permits,
            host=event.host,
            hook_session=event.session,
            thread=event.thread,
            cwd=event.cwd,
            tool=event.tool or "",
            tool_input=event.tool_input or {},
            tool_use_id=event.tool_use or "",
            caller=caller,
        )
        self._decided(event, found)
        return found

    def _decided(self, event: HookEvent, found: Permitted | Denied | None) -> None:
        refused = found.reason if isinstance(found, Denied) else None
        standing: PermitStanding = "issued" if refused is None else "refused"
        now_ms = self._shared.now_ms()
        self._shared.saw(
            lambda activity: activity.saw_permit(event.host, event.session, standing, now_ms, reason=refused)
        )
        self._shared.diary.write(
            "permit", host=event.host, session=event.session, standing=standing, reason=refused
        )


def _size_of(path: str | None) -> int | None:
    if path is None:
        return None
    try:
        return Path(path).stat().st_size
    except OSError:
        return None
