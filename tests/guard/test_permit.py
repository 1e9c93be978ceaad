"""Permits: one call, one minute, one process, one request; and a refusal that tells nobody anything."""

import threading
from typing import Any

import pytest

from tests.guard.callers import (
    CHILD,
    MAIN,
    OTHER,
    call_like,
    capable,
    codex,
    codex_call,
    grant,
    plain,
    search_request,
)
from tests.simulators.worlds import NOW_MS, refusal_of
from timeline.errors import EnrollmentUnavailableError
from timeline.guard.permit import Permit, PermitBook
from timeline.guard.request import Request, Tool, parse_request
from timeline.guard.transport import Bond, Call, Caller, CallNames
from timeline.hosts import HOSTS
from timeline.limits import PERMIT_SECONDS, PERMITS_MAX, TOOL_USES_MAX

REQUEST = search_request()
SESSION = {"codex": MAIN}


def admitted(_permit: Permit) -> None:
    """Everything still stands."""


def issued(host: str, use: str = "call-1", *, book: PermitBook | None = None, **more: Any) -> PermitBook:
    """A book with one permit."""
    found = PermitBook() if book is None else book
    found.issue(REQUEST, grant(host, **more), use, NOW_MS)
    return found


def spend(
    book: PermitBook, call: Call, request: Request = REQUEST, *, now_ms: int = NOW_MS, admit: Any = admitted
) -> Bond | str:
    """How the call was attributed, or why it was refused."""
    found: list[Bond] = []
    refused = refusal_of(lambda: found.append(book.spend(request, call, now_ms, admit).bond))
    return refused or found[0]


@pytest.mark.requirement("T15", "D7")
@pytest.mark.parametrize("host", HOSTS)
def test_a_permit_serves_exactly_one_call(host: str) -> None:
    """The second is refused as if there had never been one."""
    book = issued(host)
    call = call_like(grant(host).transport, "call-1")

    assert spend(book, call) is (Bond.PROVED if host == "codex" else Bond.PROCESS)
    assert spend(book, call) == "timeline-permit-required"
    assert len(book) == 0


@pytest.mark.requirement("T15", "D7")
@pytest.mark.parametrize("host", HOSTS)
def test_without_a_permit_nothing_goes_through(host: str) -> None:
    """A book is empty after every restart."""
    call = call_like(grant(host).transport, "call-1")

    assert spend(issued(host), call) in Bond
    assert spend(PermitBook(), call) == "timeline-permit-required"


@pytest.mark.requirement("T15")
@pytest.mark.parametrize("host", HOSTS)
def test_a_permit_ends_after_a_minute(host: str) -> None:
    """The end itself is outside; before its issue the clock went back, and it stays unspent."""
    call = call_like(grant(host).transport, "call-1")
    end = NOW_MS + PERMIT_SECONDS * 1000

    assert spend(issued(host), call, now_ms=end - 1) in Bond
    late = issued(host)
    assert spend(late, call, now_ms=end) == (
        "timeline-permit-expired" if host == "codex" else "timeline-permit-required"
    )
    assert len(late) == 0
    early = issued(host)
    assert spend(early, call, now_ms=NOW_MS - 1) == "timeline-permit-required"
    assert spend(early, call) in Bond


@pytest.mark.requirement("T15", "D7")
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize(
    "request_",
    [
        search_request("pytest passed"),
        search_request(windowSeconds=1),
        search_request(at="2026-08-20T10:00:00Z"),
        search_request(includePriorSessions=True),
        parse_request(Tool.INDEX, {}),
        parse_request(Tool.STATUS, {}),
        parse_request(Tool.CAPTURE, {"query": "pytest failed", "eventId": "timeline-event:" + "0" * 32}),
    ],
)
def test_another_request_is_refused_and_the_permitted_one_still_works(host: str, request_: Request) -> None:
    """Any changed argument; only who is shown to be of the session learns that there is a permit."""
    book = issued(host)
    call = call_like(grant(host).transport, "call-1")

    refused = spend(book, call, request_)

    assert refused == ("timeline-permit-other-request" if host == "codex" else "timeline-permit-required")
    assert spend(book, call) in Bond


@pytest.mark.requirement("T15", "D7", "X1")
@pytest.mark.parametrize(
    "call",
    [
        codex_call(caller=codex(MAIN, pid=101)),
        codex_call(caller=codex(MAIN, started=6)),
        codex_call(caller=codex(OTHER)),
        codex_call(caller=plain("claude")),
        codex_call(caller=Caller()),
        codex_call(thread=OTHER, session=OTHER),
        codex_call(thread=CHILD),
    ],
)
def test_another_transport_is_refused_and_the_permitted_one_still_works(call: Call) -> None:
    """A call that names the permitted one is told so: it knows that already."""
    book = issued("codex")

    assert spend(book, call) == "timeline-permit-other-transport"
    assert spend(book, codex_call()) is Bond.PROVED


@pytest.mark.requirement("D7", "X1")
@pytest.mark.parametrize(
    "call",
    [
        codex_call("call-2"),
        codex_call("call-2", thread=OTHER, session=OTHER),
        codex_call("call-2", caller=codex(OTHER, pid=101), thread=OTHER, session=OTHER),
        Call("codex", codex(MAIN, OTHER), CallNames()),
        Call("kimi", plain("kimi")),
        Call("codex", capable("a" * 64, MAIN)),
    ],
)
def test_a_foreign_call_learns_nothing(call: Call) -> None:
    """The same answer whether somebody else is permitted this request or nobody is."""
    assert spend(issued("codex"), call) == spend(PermitBook(), call) == "timeline-permit-required"


@pytest.mark.requirement("D7", "X1")
@pytest.mark.parametrize("host", ["claude", "king", "kimi"])
def test_another_process_learns_nothing(host: str) -> None:
    """Nor does a process with the pid of one that has ended, nor one below another host."""
    for caller in (plain(host, 101), plain(host, started=6), plain("codex"), Caller()):
        book = issued(host)
        assert spend(book, Call(host, caller)) == "timeline-permit-required"
        assert len(book) == 1


# -- several sessions of one process ---------------------------------------------------------------------------


@pytest.mark.requirement("D7", "X1")
@pytest.mark.parametrize("host", ["claude", "king", "kimi"])
def test_two_sessions_of_a_process_that_ask_the_same_are_ambiguous(host: str) -> None:
    """Neither is served, and both permits stay; once one has ended the other one counts."""
    book = issued(host, session="a")
    book.issue(REQUEST, grant(host, session="b"), "call-2", NOW_MS + 1000)
    call = Call(host, plain(host))

    assert spend(book, call, now_ms=NOW_MS + 1000) == "transport-ambiguous"
    assert len(book) == 2
    assert spend(book, call, now_ms=NOW_MS + PERMIT_SECONDS * 1000) is Bond.PROCESS


@pytest.mark.requirement("D7")
@pytest.mark.parametrize("host", ["claude", "king", "kimi"])
def test_a_claimed_session_tells_two_sessions_apart(host: str) -> None:
    """Where the host takes what the hook hands on, the call says whose it is; of nobody else's permit."""
    book = issued(host, session="a")
    book.issue(REQUEST, grant(host, session="b"), "call-2", NOW_MS)
    call = Call(host, plain(host))
    spent = book.spend(search_request(sessionId="b"), call, NOW_MS, admitted)

    assert spent.permit.binding.session == "b"
    assert spend(book, call, search_request(sessionId="c")) == "timeline-permit-required"
    assert spend(book, call, search_request(sessionId="b")) == "timeline-permit-required"
    assert spend(book, call) is Bond.PROCESS


@pytest.mark.requirement("D7")
@pytest.mark.parametrize("host", ["claude", "king", "kimi"])
def test_two_sessions_that_ask_differently_are_not_ambiguous(host: str) -> None:
    """The request says whose it is."""
    book = issued(host, session="a")
    other = search_request("pytest passed")
    book.issue(other, grant(host, session="b"), "call-2", NOW_MS)

    assert book.spend(other, Call(host, plain(host)), NOW_MS, admitted).permit.binding.session == "b"
    assert book.spend(REQUEST, Call(host, plain(host)), NOW_MS, admitted).permit.binding.session == "a"


@pytest.mark.requirement("D7")
def test_one_session_may_ask_the_same_twice_at_once() -> None:
    """Two permits of one session are as good as each other; each serves one call."""
    book = issued("kimi", "call-1")
    issued("kimi", "call-2", book=book)
    call = Call("kimi", plain("kimi"))

    assert [spend(book, call) for _ in range(3)] == [Bond.PROCESS, Bond.PROCESS, "timeline-permit-required"]


@pytest.mark.requirement("D7", "X1")
def test_sessions_agents_and_forks_of_one_background_process() -> None:
    """Each is served its own permit, by what Codex says, in any order."""
    book = PermitBook()
    sides = [(MAIN, MAIN, "call-1"), (MAIN, CHILD, "call-2"), (OTHER, OTHER, "call-3")]
    for session, thread, use in sides:
        issued("codex", use, book=book, session=session, thread=thread)

    for session, thread, use in reversed(sides):
        call = codex_call(use, thread=thread, session=session)
        spent = book.spend(REQUEST, call, NOW_MS, admitted)
        assert (spent.permit.transport.session, spent.permit.transport.thread) == (session, thread)


@pytest.mark.requirement("X1")
def test_a_host_without_call_ids_is_served_by_thread() -> None:
    """0.142.5 says the thread alone: weaker, and said so."""
    book = issued("codex")

    assert spend(book, codex_call(None, thread=OTHER, session=OTHER)) == "timeline-permit-required"
    assert spend(book, codex_call(None), search_request("pytest passed")) == "timeline-permit-other-request"
    assert spend(book, codex_call(None)) is Bond.PROCESS


# -- scope and enrollment --------------------------------------------------------------------------------------


@pytest.mark.requirement("T7", "T8", "T12")
@pytest.mark.parametrize(
    "claim",
    [
        {"tenantId": "foreign"},
        {"userId": "bob"},
        {"taskId": "release"},
        {"sessionId": OTHER},
        {"goalId": "goal-1"},
        {"enrollmentDigest": "0" * 64},
        {"agent_spine_scope": {"portal_ref": "portal-1"}},
    ],
)
def test_a_foreign_scope_leaves_the_permit(claim: dict[str, Any]) -> None:
    """What the arguments claim is compared once more at the call."""
    book = issued("codex")

    assert spend(book, codex_call(), search_request(**claim)) == "timeline-scope-mismatch"
    assert spend(book, codex_call(), search_request(tenantId="local", sessionId=MAIN)) is Bond.PROVED


@pytest.mark.requirement("T12", "T15")
def test_what_stands_no_longer_leaves_the_permit() -> None:
    """A changed enrollment refuses the call; the permit is neither spent nor worth anything."""
    book = issued("codex")

    def changed(_permit: Permit) -> None:
        message = "not enrolled"
        raise EnrollmentUnavailableError(message)

    assert spend(book, codex_call(), admit=changed) == "private-enrollment-unavailable"
    assert len(book) == 1
    assert spend(book, codex_call()) is Bond.PROVED


# -- issuing ---------------------------------------------------------------------------------------------------


@pytest.mark.requirement("T15")
@pytest.mark.parametrize("host", HOSTS)
def test_a_tool_use_is_permitted_once(host: str) -> None:
    """Also after its permit was spent or has ended; another session may have the same id."""
    book = issued(host)
    call = call_like(grant(host).transport, "call-1")

    def again(now_ms: int = NOW_MS) -> str | None:
        return refusal_of(lambda: book.issue(search_request("pytest passed"), grant(host), "call-1", now_ms))

    assert again() == "timeline-permit-repeated"
    assert spend(book, call) in Bond
    assert again() == "timeline-permit-repeated"
    assert again(NOW_MS + 10 * PERMIT_SECONDS * 1000) == "timeline-permit-repeated"
    assert len(book) == 0
    book.issue(REQUEST, grant(host, session=OTHER), "call-1", NOW_MS)
    book.issue(REQUEST, grant(host), "call-2", NOW_MS)


@pytest.mark.parametrize("use", ["", "x" * 257, "a\nb", "\0"])
def test_a_tool_use_without_an_id_is_not_permitted(use: str) -> None:
    """Nothing could tell it from the next."""
    book = PermitBook()

    assert refusal_of(lambda: book.issue(REQUEST, grant("kimi"), use, NOW_MS)) == "timeline-request-invalid"
    assert len(book) == 0


@pytest.mark.requirement("T15")
def test_the_newest_permits_are_kept() -> None:
    """The sixty-fifth pushes out the first; what is remembered of uses does not grow without end."""
    book = PermitBook()
    for number in range(PERMITS_MAX + 1):
        issued("codex", f"call-{number}", book=book)

    assert len(book) == PERMITS_MAX
    assert spend(book, codex_call("call-0")) == "timeline-permit-required"
    assert spend(book, codex_call("call-1")) is Bond.PROVED
    assert spend(book, codex_call(f"call-{PERMITS_MAX}")) is Bond.PROVED
    for number in range(PERMITS_MAX + 1, TOOL_USES_MAX + 1):
        issued("codex", f"call-{number}", book=book)
    issued("codex", "call-0", book=book)


def test_ended_permits_make_room() -> None:
    """They are dropped at the next use, not kept until somebody asks for them."""
    book = issued("kimi")
    later = NOW_MS + PERMIT_SECONDS * 1000

    book.issue(REQUEST, grant("kimi"), "call-2", later)

    assert len(book) == 1


def test_a_permit_holds_no_id_and_no_query() -> None:
    """What the host and the model have written stands in it as digests."""
    permit = PermitBook().issue(REQUEST, grant("codex"), "call-secret", NOW_MS)

    assert "call-secret" not in repr(permit)
    assert "pytest" not in repr(permit)


# -- races -----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("T15")
@pytest.mark.parametrize("host", HOSTS)
def test_of_two_that_spend_at_once_one_wins(host: str) -> None:
    """Both are held at the door of the same permit; the second comes when it is gone."""
    book = issued(host)
    call = call_like(grant(host).transport, "call-1")
    at_the_door, go = threading.Event(), threading.Event()
    results: list[Bond | str] = []

    def slow(_permit: Permit) -> None:
        at_the_door.set()
        assert go.wait(5)

    first = threading.Thread(target=lambda: results.append(spend(book, call, admit=slow)))
    second = threading.Thread(target=lambda: results.append(spend(book, call)))
    first.start()
    assert at_the_door.wait(5)
    second.start()
    go.set()
    for thread in (first, second):
        thread.join(5)
        assert not thread.is_alive()

    assert sorted(str(result) for result in results) == sorted(
        [str(Bond.PROVED if host == "codex" else Bond.PROCESS), "timeline-permit-required"]
    )


@pytest.mark.requirement("T15")
def test_many_threads_get_as_many_calls_as_permits() -> None:
    """Eight threads, four permits of one session: four calls, and the book is empty."""
    book = PermitBook()
    for number in range(4):
        issued("kimi", f"call-{number}", book=book)
    barrier = threading.Barrier(8)
    results: list[Bond | str] = []

    def run() -> None:
        barrier.wait(5)
        results.append(spend(book, Call("kimi", plain("kimi"))))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)

    assert results.count(Bond.PROCESS) == 4
    assert results.count("timeline-permit-required") == 4
    assert len(book) == 0
