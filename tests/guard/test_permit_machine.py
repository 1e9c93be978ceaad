"""The book of permits against a model of it: any order of issuing, spending, waiting and restarting."""

from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.guard.callers import CHILD, MAIN, OTHER, codex, codex_call, grant, plain, search_request
from tests.simulators.worlds import NOW_MS, refusal_of
from timeline.errors import EnrollmentUnavailableError
from timeline.guard.permit import Permit, PermitBook, Spent
from timeline.guard.transport import Call
from timeline.limits import PERMIT_SECONDS, PERMITS_MAX

QUERIES = ("pytest failed", "pytest passed")
SIDES = (
    ("codex", MAIN, MAIN),
    ("codex", MAIN, CHILD),
    ("codex", OTHER, OTHER),
    ("kimi", "a", "a"),
    ("kimi", "b", "b"),
)
SIDE = st.sampled_from(SIDES)
USE = st.sampled_from([f"call-{number}" for number in range(5)])
QUERY = st.sampled_from(QUERIES)


@dataclass(frozen=True, slots=True)
class Known:
    """One permit that the model knows of."""

    side: tuple[str, str, str]
    use: str
    query: str
    ends: int


class Permits(RuleBasedStateMachine):
    """What the book promises, with nothing of how it keeps it."""

    def __init__(self) -> None:
        """Begin with an empty book."""
        super().__init__()
        self.book = PermitBook()
        self.now_ms = NOW_MS
        self.permits: list[Known] = []
        self.used: set[tuple[tuple[str, str, str], str]] = set()

    @rule(side=SIDE, use=USE, query=QUERY)
    def issue(self, side: tuple[str, str, str], use: str, query: str) -> None:
        """Permit a call; the same use of the same agent is permitted once."""
        host, session, thread = side
        refused = refusal_of(
            lambda: self.book.issue(
                search_request(query), grant(host, session=session, thread=thread), use, self.now_ms
            )
        )
        assert (refused == "timeline-permit-repeated") == ((side, use) in self.used)
        if refused is None:
            self.used.add((side, use))
            self.permits.append(Known(side, use, query, self.now_ms + PERMIT_SECONDS * 1000))

    @rule(side=SIDE, use=USE, query=QUERY, other_process=st.booleans(), stands=st.booleans())
    def spend(
        self, side: tuple[str, str, str], use: str, query: str, *, other_process: bool, stands: bool
    ) -> None:
        """Call: served exactly where one permit fits, and only then is it gone."""
        fitting = [
            known
            for known in self.permits
            if not other_process
            and known.query == query
            and _fits(known, side, use)
            and self.now_ms < known.ends
        ]
        spent, refused = self._spend(side, use, query, pid=101 if other_process else 100, stands=stands)
        sessions = {known.side for known in fitting}
        if len(sessions) == 1 and stands:
            assert spent is not None
            assert (spent.permit.transport.session, spent.permit.transport.thread) == fitting[0].side[1:]
            self.permits.remove(fitting[0])
        elif len(sessions) == 1:
            assert refused == "private-enrollment-unavailable"
        elif sessions:
            assert refused == "transport-ambiguous"
        else:
            assert refused is not None
            assert refused.startswith("timeline-permit-")
        self._drop_ended()

    def _spend(
        self, side: tuple[str, str, str], use: str, query: str, *, pid: int, stands: bool
    ) -> tuple[Spent | None, str | None]:
        def admit(_permit: Permit) -> None:
            if not stands:
                message = "not enrolled"
                raise EnrollmentUnavailableError(message)

        host, session, thread = side
        call = (
            codex_call(use, thread=thread, session=session, caller=codex(MAIN, OTHER, CHILD, pid=pid))
            if host == "codex"
            else Call(host, plain(host, pid))
        )
        spent: list[Spent] = []
        refused = refusal_of(
            lambda: spent.append(self.book.spend(search_request(query), call, self.now_ms, admit))
        )
        return (spent[0] if spent else None), refused

    @rule(seconds=st.sampled_from([1, 20, PERMIT_SECONDS]))
    def wait(self, seconds: int) -> None:
        """Let time pass."""
        self.now_ms += seconds * 1000

    @rule()
    def restart(self) -> None:
        """A new process knows of no permit and of no use."""
        self.book = PermitBook()
        self.permits, self.used = [], set()

    def _drop_ended(self) -> None:
        self.permits = [known for known in self.permits if self.now_ms < known.ends]

    @invariant()
    def nothing_is_lost_or_kept(self) -> None:
        """What the model holds is there; what has ended may lie there until the next use."""
        live = sum(self.now_ms < known.ends for known in self.permits)
        assert live <= len(self.book) <= min(PERMITS_MAX, len(self.permits))


def _fits(known: Known, side: tuple[str, str, str], use: str) -> bool:
    """Codex names thread and use; of Kimi Code only the process is known, which is the same for both sessions."""
    if known.side[0] != side[0]:
        return False
    return side[0] == "kimi" or (known.side == side and known.use == use)


TestPermits = Permits.TestCase
TestPermits.settings = settings(stateful_step_count=30)
