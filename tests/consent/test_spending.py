"""Standing consent in a whole timeline: what the daemon may enroll by it, and what it may not."""

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from adapters.base import Adapter
from sidecars.envelope import parse_envelope
from sidecars.leaf import Enrollment
from tests.consent.prompting import KINDS, CodexTalk, Desk, report, session_of
from tests.e2e.test_handwritten_leaf import Desk as Forger
from tests.e2e.test_handwritten_leaf import insert
from tests.simulators.worlds import World, contents, leaves_of, refusal_of, search_once, verdict_of
from timeline import consenting, service
from timeline.backup import back_up
from timeline.consenting import list_consents, set_consent, spend_on_consent
from timeline.forking import fork_backup
from timeline.guard.receipt import Receipt
from timeline.limits import FOLLOW_SECONDS_DEFAULT, RECALL_SECONDS_DEFAULT, RECEIPT_SECONDS
from timeline.live import Live
from timeline.staging import Given
from timeline.state import open_state
from timeline.view import Standing


def consented(desk: Desk, *, follow: bool = True, host: str | None = None) -> None:
    """The owner consents, before the prompts that follow."""
    set_consent(session_of(desk.world), desk.world.root, host or desk.kind.host, follow=follow, allowed=True)


def prompted(desk: Desk, *, after_ms: int = 1_000, attested: bool = True) -> Receipt:
    """A prompt: the hook first, then the host writes it."""
    desk.at(after_ms)
    receipt = report(desk, attested=attested)
    desk.talk.prompt("make the tests pass")
    desk.write()
    return receipt


def spent(desk: Desk, receipt: Receipt) -> Enrollment | None:
    """What the daemon does at the next event of the session."""
    return spend_on_consent(session_of(desk.world), receipt)


def standings(world: World) -> list[Standing]:
    """Give what became of each enrollment, oldest first."""
    with open_state(world.locations, world.session.ports) as state:
        return [source.standing for source in state.view.sources]


@pytest.mark.requirement("T6", "D6")
def test_a_prompt_is_enrolled_by_itself_once_it_is_written(desk: Desk) -> None:
    """On every host: the enrollment names the owner's leaf, is signed by the log key, and the log verifies."""
    consented(desk)
    desk.at(1_000)
    receipt = report(desk)
    assert spent(desk, receipt) is None
    desk.talk.prompt("make the tests pass")
    desk.write()
    enrollment = spent(desk, receipt)
    assert enrollment is not None
    (consent,) = list_consents(session_of(desk.world), desk.world.root)
    assert (enrollment.consent, enrollment.mode) == (consent.leaf, "follow")
    assert enrollment.binding == receipt.binding
    assert enrollment.source.size == desk.path.stat().st_size
    (signature,) = parse_envelope(leaves_of(desk.world)[-1][2]).signatures
    assert not signature.key.name.endswith("/owner")
    assert verdict_of(desk.world, deep=True)[0] == "ok"
    assert spent(desk, receipt) is None


@pytest.mark.requirement("T6")
def test_what_is_enrolled_on_a_consent_is_indexed_and_found(codex: Desk) -> None:
    """It is an enrollment like any other; its times are the configured ones."""
    consented(codex)
    enrollment = spent(codex, prompted(codex))
    assert enrollment is not None
    assert enrollment.expires_at == enrollment.confirmed_at + FOLLOW_SECONDS_DEFAULT * 1000
    assert enrollment.recall_until == enrollment.confirmed_at + RECALL_SECONDS_DEFAULT * 1000
    assert isinstance(codex.talk, CodexTalk)
    codex.talk.rollout.command("pytest -q", "== 11 passed in 0.1s ==\n", 0)
    codex.write()
    (result,) = service.index(codex.world.session, codex.world.root)
    assert not isinstance(result, tuple)
    assert result.events == 1
    assert json.loads(search_once(codex.world))["status"] == "found"


def test_without_follow_each_prompt_renews_the_snapshot(codex: Desk) -> None:
    """A snapshot ends with the next change, so the next prompt replaces it."""
    consented(codex, follow=False)
    first, second = (spent(codex, prompted(codex, after_ms=after)) for after in (1_000, 60_000))
    assert first is not None
    assert second is not None
    assert (first.mode, second.mode) == ("snapshot", "snapshot")
    assert standings(codex.world) == [Standing.REPLACED, Standing.ACTIVE]


def test_a_session_that_is_followed_is_left_as_it_is(codex: Desk) -> None:
    """The next prompt of the same session changes nothing; once following has ended, it is enrolled anew."""
    consented(codex)
    assert spent(codex, prompted(codex)) is not None
    again = prompted(codex, after_ms=60_000)
    before = contents(codex.world.folder / "state")
    assert spent(codex, again) is None
    assert contents(codex.world.folder / "state") == before
    late = prompted(codex, after_ms=FOLLOW_SECONDS_DEFAULT * 1000 + 2_000)
    assert spent(codex, late) is not None
    assert standings(codex.world) == [Standing.REPLACED, Standing.ACTIVE]


def test_each_host_has_its_own_consent(codex: Desk) -> None:
    """What one host's sessions may, another's may not, in the same project."""
    consented(codex)
    assert spent(codex, prompted(codex)) is not None
    kimi = Desk(codex.world, KINDS["kimi"])
    assert spent(kimi, prompted(kimi)) is None
    consented(kimi)
    assert spent(kimi, prompted(kimi, after_ms=2_000)) is not None
    assert standings(codex.world) == [Standing.ACTIVE, Standing.ACTIVE]


# -- what is not spent -----------------------------------------------------------------------------------------


def _none(_desk: Desk) -> None:
    """Nobody has consented."""


def _other_host(desk: Desk) -> None:
    consented(desk, host="claude")


def _other_project(desk: Desk) -> None:
    other = Path(desk.world.root).parent / "other"
    other.mkdir()
    set_consent(session_of(desk.world), str(other), desk.kind.host, follow=True, allowed=True)


def _removed(desk: Desk) -> None:
    consented(desk)
    set_consent(session_of(desk.world), desk.world.root, desk.kind.host, follow=False, allowed=False)


@pytest.mark.requirement("T6", "T8")
@pytest.mark.parametrize("prepare", [_none, _other_host, _other_project, _removed])
def test_a_receipt_that_no_consent_covers_is_not_spent(codex: Desk, prepare: Callable[[Desk], None]) -> None:
    """It waits for the owner, who can still spend it by hand."""
    prepare(codex)
    receipt = prompted(codex)
    before = contents(codex.world.folder / "state")
    assert spent(codex, receipt) is None
    assert contents(codex.world.folder / "state") == before
    assert service.enroll(codex.world.session, codex.world.root, receipt.id, confirmed=True).consent is None


@pytest.mark.requirement("T6")
def test_a_receipt_without_its_prompt_is_not_spent(codex: Desk) -> None:
    """A forged hook call shows in nothing that the host writes: work goes on, and no prompt comes."""
    consented(codex)
    codex.talk.prompt("make the tests pass")
    codex.write()
    codex.at(1_000)
    receipt = report(codex)
    codex.talk.work(codex.talk.raw_prompt() + "\n")
    codex.write()
    assert spent(codex, receipt) is None
    assert standings(codex.world) == []


@pytest.mark.requirement("T6")
def test_a_receipt_that_no_host_stands_behind_is_not_spent(codex: Desk) -> None:
    """Whoever reported the prompt, it was not seen to be a host's hook."""
    consented(codex)
    assert spent(codex, prompted(codex, attested=False)) is None
    assert spent(codex, prompted(codex, after_ms=2_000)) is not None


def test_a_prompt_before_the_consent_is_not_covered(codex: Desk) -> None:
    """The owner has consented to later prompts."""
    codex.at(-1_000)
    receipt = report(codex)
    codex.talk.prompt("make the tests pass")
    codex.write()
    codex.at(0)
    consented(codex)
    assert spent(codex, receipt) is None


def test_a_revoked_session_stays_revoked(codex: Desk) -> None:
    """What the owner took back by hand is given back by hand; other sessions are enrolled as before."""
    consented(codex)
    enrollment = spent(codex, prompted(codex))
    assert enrollment is not None
    service.revoke(codex.world.session, enrollment.enrollment_id)
    later = prompted(codex, after_ms=60_000)
    assert spent(codex, later) is None
    assert standings(codex.world) == [Standing.REVOKED]
    service.enroll(codex.world.session, codex.world.root, later.id, confirmed=True)
    assert standings(codex.world) == [Standing.REVOKED, Standing.ACTIVE]


@pytest.mark.parametrize("gone", ["ended", "spent"])
def test_a_receipt_that_is_gone_enrolls_nothing(codex: Desk, gone: str) -> None:
    """By its time, or by the owner who was faster."""
    consented(codex, follow=False)
    receipt = prompted(codex)
    if gone == "ended":
        codex.at(1_000 + RECEIPT_SECONDS * 1000)
    else:
        service.enroll(codex.world.session, codex.world.root, receipt.id, confirmed=True)
    before = len(leaves_of(codex.world))
    assert spent(codex, receipt) is None
    assert len(leaves_of(codex.world)) == before


def test_a_consent_that_is_removed_meanwhile_enrolls_nothing(
    codex: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look into the transcript and the lock, the owner took it back: the log decides."""
    consented(codex)
    receipt = prompted(codex)
    look = consenting.shows_new_prompt

    def look_and_lose(receipt: Receipt, adapter: Adapter, project_of: Callable[[str], str]) -> bool:
        set_consent(session_of(codex.world), codex.world.root, "codex", follow=False, allowed=False)
        return look(receipt, adapter, project_of)

    monkeypatch.setattr(consenting, "shows_new_prompt", look_and_lose)
    assert spent(codex, receipt) is None
    assert standings(codex.world) == []
    assert service.list_receipts(codex.world.session, codex.world.root) == (receipt,)


def test_the_daemon_spends_on_the_timeline_that_it_keeps_open(codex: Desk) -> None:
    """The same use case, with an opener that has verified once."""
    live = Live()
    session = msgspec.structs.replace(session_of(codex.world), opener=live)
    consented(codex)
    receipt = prompted(codex)
    assert spend_on_consent(session, receipt) is not None
    assert live.openings == 1
    live.close()


# -- deciding --------------------------------------------------------------------------------------------------


def test_a_decision_is_said_once(codex: Desk) -> None:
    """The same again is refused and leaves no leaf; another mode is another decision."""
    session, root = session_of(codex.world), codex.world.root
    consented(codex)
    size = len(leaves_of(codex.world))
    again = refusal_of(lambda: set_consent(session, root, "codex", follow=True, allowed=True))
    other = refusal_of(lambda: set_consent(session, root, "kimi", follow=False, allowed=False))
    assert (again, other, len(leaves_of(codex.world))) == ("consent-unchanged", "consent-unchanged", size)
    made = set_consent(session, root, "codex", follow=False, allowed=True)
    assert made.consent is not None
    assert made.consent.leaf == size
    assert list_consents(session, root) == list_consents(session, None) == (made.consent,)


def test_taking_back_counts_what_stays_enrolled(codex: Desk) -> None:
    """The owner is told of the sessions that go on."""
    consented(codex)
    spent(codex, prompted(codex))
    made = set_consent(session_of(codex.world), codex.world.root, "codex", follow=True, allowed=False)
    assert (made.consent, made.enrolled) == (None, 1)
    assert standings(codex.world) == [Standing.ACTIVE]
    assert verdict_of(codex.world)[0] == "ok"


def test_a_consent_for_no_reviewed_host_is_refused(codex: Desk) -> None:
    """Nothing is recorded."""
    session = session_of(codex.world)
    refused = refusal_of(lambda: set_consent(session, codex.world.root, "vim", follow=True, allowed=True))
    assert refused == "consent-provider-unknown"


def test_a_fork_is_consented_to_anew(codex: Desk, tmp_path: Path) -> None:
    """Its owner states the enrollments by his own key; the standing consent ended with the old log."""
    consented(codex)
    enrollment = spent(codex, prompted(codex))
    assert enrollment is not None
    back_up(codex.world.session, tmp_path / "b.tar")
    place = World(tmp_path / "fork", codex.world.home, codex.world.clock)
    assert fork_backup(place.session, tmp_path / "b.tar", Given()) is not None
    with open_state(place.locations, place.session.ports) as state:
        assert state.view.consents == ()
        (source,) = state.view.active
        assert source.enrollment == msgspec.structs.replace(enrollment, consent=None)
    assert spent(Desk(place, codex.kind), prompted(codex, after_ms=2_000)) is None


# -- whoever has the log key alone -----------------------------------------------------------------------------


def forged(desk: Desk, change: Callable[[Enrollment], Enrollment]) -> str | None:
    """Write an enrollment by hand with the log key, with head and anchor as they were, and let the timeline read it."""
    world = desk.world
    enrollment = spent(desk, prompted(desk))
    assert enrollment is not None
    with open_state(world.locations, world.session.ports) as state:
        forger = Forger(leaves_of(world), state.keystore, enrollment.enrollment_id)
        body = change(
            msgspec.structs.replace(
                enrollment,
                enrollment_id="timeline-enrollment:" + "0" * 32,
                receipt_digest="A" * 43,
            )
        )
        row = forger.row(forger.leaf(body), state.keystore.log)
    insert(world, [row])
    return refusal_of(lambda: service.index(world.session, world.root))


def _elsewhere(body: Enrollment) -> Enrollment:
    return msgspec.structs.replace(body, binding=msgspec.structs.replace(body.binding, project="/elsewhere"))


@pytest.mark.requirement("T8")
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda body: msgspec.structs.replace(body, consent=None), "unknown-key"),
        (lambda body: msgspec.structs.replace(body, consent=0), "broken-link"),
        (_elsewhere, "broken-link"),
        (lambda body: body, None),
    ],
    ids=["no consent named", "another leaf named", "another project", "covered"],
)
def test_the_log_key_alone_enrolls_nothing_else(
    codex: Desk, change: Callable[[Enrollment], Enrollment], reason: str | None
) -> None:
    """Whoever reads the log refuses it; what the owner has consented to, the log key may say."""
    consented(codex)
    assert forged(codex, change) == reason


def test_the_log_key_does_not_bring_back_what_was_revoked(codex: Desk) -> None:
    """Written by hand behind the revocation, it contradicts the log."""
    consented(codex)
    enrollment = spent(codex, prompted(codex))
    assert enrollment is not None
    service.revoke(codex.world.session, enrollment.enrollment_id)
    with open_state(codex.world.locations, codex.world.session.ports) as state:
        forger = Forger(leaves_of(codex.world), state.keystore, "")
        body = msgspec.structs.replace(
            enrollment, enrollment_id="timeline-enrollment:" + "0" * 32, receipt_digest="A" * 43
        )
        row = forger.row(forger.leaf(body), state.keystore.log)
    insert(codex.world, [row])
    assert refusal_of(lambda: service.index(codex.world.session, codex.world.root)) == "log-refused"
