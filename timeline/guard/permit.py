"""One-use permits: the right to make one guarded tool call, used up by it (T15, D7).

The host's hook asks for one before the call, the server demands it at the call. A permit lives 60 seconds, in memory
only: a restart forgets it, which fails closed. It is bound to the request, the session's enrollment, the selected
source and the transport. It is taken before anything of a transcript is opened; a call over another transport, with
another request, or after a change of the enrollment leaves it where it is, for the call that it was issued for.

A refusal says no more than its caller knows already: that his own call was permitted otherwise is told only to whom
the host's own word, or a launcher's capability, shows to be of that session.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import msgspec

from timeline.binding import Binding
from timeline.errors import AccessError
from timeline.guard.errors import (
    PermitExpiredError,
    PermitOtherRequestError,
    PermitOtherTransportError,
    PermitRepeatedError,
    PermitRequiredError,
    RequestError,
    ScopeMismatchError,
    TransportAmbiguousError,
)
from timeline.guard.request import Request, Tool, check_claims
from timeline.guard.transport import Bond, Call, Misfit, Transport, attribute_call, tool_use_digest
from timeline.limits import PERMIT_SECONDS, PERMITS_MAX, TOOL_USE_CHARACTERS_MAX, TOOL_USES_MAX

_PERMIT_MS: Final = PERMIT_SECONDS * 1000


class Permit(msgspec.Struct, frozen=True):
    """One permit; times are UTC milliseconds.

    ``enrollment_id`` is the session's own, ``source_ref`` that of the selected source; both are ``None`` where nothing
    is enrolled and only the status is asked. ``switched`` says that the hook's environment holds the owner's switch
    for other hosts.
    """

    tool: Tool
    request_digest: str
    binding: Binding
    enrollment_id: str | None
    source_ref: str | None
    transport: Transport
    tool_use: str
    switched: bool
    issued_at: int
    expires_at: int

    def is_live(self, now_ms: int) -> bool:
        """Whether it may be spent; the end itself is outside, and so is a clock that went back before its issue."""
        return self.issued_at <= now_ms < self.expires_at

    def is_for(self, request: Request) -> bool:
        """Whether this is the request that was permitted."""
        return request.tool is self.tool and self.request_digest == request.digest(
            self.binding, self.enrollment_id, self.source_ref
        )


class Grant(msgspec.Struct, frozen=True):
    """What the hook has found to be asked for: who asks, under which consent, of which source, over what."""

    binding: Binding
    enrollment_id: str | None
    source_ref: str | None
    transport: Transport
    switched: bool = False


class Spent(msgspec.Struct, frozen=True):
    """A permit that is gone, and how its call was attributed."""

    permit: Permit
    bond: Bond


Admit = Callable[[Permit], None]
"""Raises unless what the permit was issued under still stands, the scope that the call claims included."""


class PermitBook:
    """The permits that wait; for any number of threads. Time comes in as an argument, in UTC milliseconds."""

    def __init__(self) -> None:
        """Empty, as after every restart."""
        self._lock = threading.Lock()
        self._permits: list[Permit] = []
        self._used: OrderedDict[tuple[str, str, str, str], None] = OrderedDict()

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._permits)

    def issue(self, request: Request, grant: Grant, tool_use: str, now_ms: int) -> Permit:
        """Permit one call; ``tool_use`` is the host's id of it. The newest 64 are kept.

        Raises:
            PermitRepeatedError: this tool use was permitted before.
            RequestError: the id is none.
        """
        if not 0 < len(tool_use) <= TOOL_USE_CHARACTERS_MAX or not tool_use.isprintable():
            message = f"the id of the tool use: must be 1 to {TOOL_USE_CHARACTERS_MAX} printable characters"
            raise RequestError(message)
        transport, digest = grant.transport, tool_use_digest(tool_use)
        permit = Permit(
            tool=request.tool,
            request_digest=request.digest(grant.binding, grant.enrollment_id, grant.source_ref),
            binding=grant.binding,
            enrollment_id=grant.enrollment_id,
            source_ref=grant.source_ref,
            transport=transport,
            tool_use=digest,
            switched=grant.switched,
            issued_at=now_ms,
            expires_at=now_ms + _PERMIT_MS,
        )
        used = (transport.host, transport.session, transport.thread, digest)
        with self._lock:
            if used in self._used:
                message = "this tool use was permitted before"
                raise PermitRepeatedError(message)
            self._used[used] = None
            if len(self._used) > TOOL_USES_MAX:
                self._used.popitem(last=False)
            self._drop_expired(now_ms)
            self._permits = [*self._permits, permit][-PERMITS_MAX:]
        return permit

    def spend(self, request: Request, call: Call, now_ms: int, admit: Admit) -> Spent:
        """Take the permit of a call for good. ``admit`` is asked before: what it raises leaves the permit unspent.

        Raises:
            PermitRequiredError: there is none for this call.
            PermitExpiredError, PermitOtherRequestError, PermitOtherTransportError: there is one, and it is not for
                this call as it came.
            TransportAmbiguousError: several sessions of the process are permitted this request.
            AccessError, ClockError: what ``admit`` raises.
        """
        with self._lock:
            try:
                return self._spend(request, call, now_ms, admit)
            finally:
                self._drop_expired(now_ms)

    def _spend(self, request: Request, call: Call, now_ms: int, admit: Admit) -> Spent:
        judged = [(p, attribute_call(p.transport, p.tool_use, call)) for p in self._permits]
        found = [Spent(p, bond) for p, bond in judged if isinstance(bond, Bond) and p.is_for(request)]
        fitting = [s for s in found if s.permit.is_live(now_ms) and _is_claimed(request, s.permit)]
        if not fitting:
            raise _refusal(request, call, now_ms, judged)
        if len({(spent.permit.transport.session, spent.permit.transport.thread) for spent in fitting}) > 1:
            message = "several sessions of the host's process are permitted this request"
            raise TransportAmbiguousError(message)
        spent = fitting[0]
        admit(spent.permit)
        self._permits = [permit for permit in self._permits if permit is not spent.permit]
        return spent

    def _drop_expired(self, now_ms: int) -> None:
        self._permits = [permit for permit in self._permits if now_ms < permit.expires_at]


def _is_claimed(request: Request, permit: Permit) -> bool:
    """Whether the scope that the arguments claim is that of the permit."""
    try:
        check_claims(request, permit.binding, permit.enrollment_id)
    except ScopeMismatchError:
        return False
    return True


def _refusal(
    request: Request, call: Call, now_ms: int, judged: list[tuple[Permit, Bond | Misfit]]
) -> AccessError:
    """Why nothing can be spent, as far as the caller may know: of another session he learns nothing."""
    own = [permit for permit, bond in judged if _is_own(bond, call)]
    same = [permit for permit in own if permit.is_for(request)]
    if any(permit.is_live(now_ms) for permit in same):
        message = "the arguments claim another scope than that of the session"
        return ScopeMismatchError(message)
    if any(permit.expires_at <= now_ms for permit in same):
        message = f"the permit ended {PERMIT_SECONDS} s after it was issued"
        return PermitExpiredError(message)
    if any(permit.is_live(now_ms) for permit in own):
        message = "another request than this one is permitted"
        return PermitOtherRequestError(message)
    if any(bond is Misfit.NAMED for _, bond in judged):
        message = "the permitted call comes from another process or thread"
        return PermitOtherTransportError(message)
    message = "no permit for this call"
    return PermitRequiredError(message)


def _is_own(bond: Bond | Misfit, call: Call) -> bool:
    """Whether the call was shown to be of the permit's session; the same process alone does not show it."""
    return isinstance(bond, Bond) and (bond is not Bond.PROCESS or call.names.thread is not None)
