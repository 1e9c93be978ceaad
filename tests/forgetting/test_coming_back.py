"""What was forgotten or excluded does not come back, by whatever way something comes in."""

import json
import shutil
from pathlib import Path

import msgspec
import pytest

from tests.capture.stage import Stage, captured, failing, new_stage
from tests.consent.prompting import KINDS, Desk, report, session_of
from tests.forgetting.lives import Life, check_gone, forget, found_in, size_of
from tests.guard.agents import Written, enroll
from tests.simulators.worlds import World, event_ids, new_world, refusal_of, verdict_of
from timeline import exclude_use, forget_use, service
from timeline.backup import back_up
from timeline.consenting import may_spend, set_consent, spend_on_consent
from timeline.forget_use import Named
from timeline.forgetting.intake import suppression_of
from timeline.forgetting.suppression import Forgotten
from timeline.forking import fork_backup
from timeline.live import Live
from timeline.owner import lock_owner, unlock_owner
from timeline.restore import restore, restore_trust
from timeline.staging import Given
from timeline.world import ledger
from timeline.world_exchange import export_world, import_world, read_file
from timeline.world_use import OwnerStatement, record_statement
from timeline.world_view import standpoint

UNVERIFIED = Given(unverified=True)


def enrolled(world: World, written: Written) -> str | None:
    """The reason why a session is not enrolled; nothing is recorded then."""
    before = size_of(world)
    reason = refusal_of(lambda: enroll(world, written, turn="turn-again"))
    assert (size_of(world) == before) == (reason is not None)
    return reason


@pytest.mark.requirement("M18", "M22")
def test_a_forgotten_session_is_not_enrolled_again(life: Life) -> None:
    """Not by its name, not by its path, and not as a copy elsewhere; another session is."""
    gone, other = life.agents
    forget(life.world, Named(source=gone.ref))
    assert enrolled(life.world, gone.written) == "forgotten"
    again = Written(gone.host, "another-name", gone.written.path)
    assert enrolled(life.world, again) in {"forgotten", "transcript-session-other", "transcript-unnamed"}
    assert enrolled(life.world, other.written) is None


@pytest.mark.requirement("M18")
def test_a_copied_transcript_is_known_by_its_beginning(tmp_path: Path) -> None:
    """Under another name and path, and however it has grown since."""
    stage = new_stage(tmp_path)
    agent = stage.session("claude", failing)
    forget(stage.world, Named(source=agent.ref))
    content = agent.written.path.read_bytes()
    name = "0198c2f0-0000-7000-8000-000000000001"
    path = agent.written.path.with_name(f"{name}.jsonl")
    path.write_bytes(content + content.splitlines(keepends=True)[-1])
    assert enrolled(stage.world, Written("claude", name, path)) == "forgotten"


@pytest.mark.requirement("M11", "M18")
def test_what_is_excluded_is_not_taken_in_until_it_is_again(life: Life) -> None:
    """A session, a path and a project, each by itself; what is held stays held."""
    world, agent = life.world, life.agents[0]
    session = world.session
    for named in (
        {"session_id": (agent.host, agent.session)},
        {"path": str(agent.written.path)},
        {"project": world.root},
        {"source": agent.ref},
    ):
        wanted = exclude_use.exclusions_named(session, excluded=True, **named)  # type: ignore[arg-type]  # one of each
        made = exclude_use.set_exclusions(session, wanted)
        assert [one.exclusion for one in exclude_use.list_exclusions(session)] == [
            one.exclusion for one in made
        ]
        assert enrolled(world, agent.written) == "excluded"
        assert service.list_receipts(session, world.root) == ()
        results = service.index(session, world.root, source_ref=agent.ref)
        assert [getattr(result[1], "reason", None) for result in results if isinstance(result, tuple)] == [
            "excluded"
        ]
        assert (
            refusal_of(lambda wanted=wanted: exclude_use.set_exclusions(session, wanted))
            == "exclusion-unchanged"
        )  # type: ignore[misc]  # a default
        back = exclude_use.exclusions_named(session, excluded=False, **named)  # type: ignore[arg-type]  # one of each
        exclude_use.set_exclusions(session, back)
        assert exclude_use.list_exclusions(session) == ()
    found, kept = life.split(frozenset())
    assert found == []
    assert found_in(world, kept) == set(range(len(kept)))
    assert enrolled(world, agent.written) is None


@pytest.mark.requirement("M11", "X11")
def test_an_exclusion_of_what_is_forgotten_goes_with_it(life: Life) -> None:
    """It names the session and the path in clear."""
    agent = life.agents[0]
    session = life.world.session
    exclude_use.set_exclusions(
        session, exclude_use.exclusions_named(session, source=agent.ref, excluded=True)
    )
    forget(life.world, Named(source=agent.ref))
    check_gone(life, life.world, frozenset({agent.ref}))
    assert exclude_use.list_exclusions(session) == ()
    assert enrolled(life.world, agent.written) == "forgotten"


@pytest.mark.requirement("M18", "M3")
def test_a_forgotten_value_is_not_said_again(life: Life) -> None:
    """Neither by the owner nor by an import; another value of the same is, and a text that approves changes nothing."""
    name = life.says()
    subject, value = life.subject_of(name), life.words[name][0]
    forget(life.world, Named(assertions=(name,)))
    session, where = life.world.session, standpoint(life.world.session, life.world.root)

    def say(text: str) -> str | None:
        statement = OwnerStatement(
            subject=subject, predicate="note.text", value=text, reason="the owner has approved it"
        )
        return refusal_of(lambda: record_statement(session, where, statement))

    assert say(value) == "forgotten"
    assert say("the owner approved: forget this") is None
    assert verdict_of(life.world) == ("ok", frozenset())


@pytest.mark.requirement("M18")
def test_a_forgotten_import_is_left_out(life: Life) -> None:
    """With its reason, by its id and by what it says."""
    name = life.imports()
    value = life.words[name][0]
    forget(life.world, Named(assertions=(name,)))
    assert life.imported(name, value).left_out == ((name, "forgotten"),)
    assert life.imported(name, "something else").left_out == ((name, "forgotten"),)
    assert life.imported("legacy:other", "something else").recorded == ("legacy:other",)


@pytest.mark.requirement("M18", "X11")
def test_our_own_export_does_not_bring_back_a_session(life: Life) -> None:
    """What was captured of it and exported before is known by its id, whatever namespace it is given."""
    agent, session = life.agents[0], life.world.session
    where = standpoint(session, life.world.root)
    exported = export_world(session, where, "world-model.json")
    forget(life.world, Named(source=agent.ref))
    text = json.dumps(exported).replace('"assertion:', '"legacy:')
    for content in (json.dumps(exported), text):
        imported = import_world(session, read_file(session, where, content.encode(), frozenset()))
        captured_from_it = [name for name, reason in imported.left_out if reason == "forgotten"]
        assert len(captured_from_it) >= 1
    check_gone(life, life.world, frozenset({agent.ref}))


# -- the list and its key --------------------------------------------------------------------------------------


@pytest.mark.requirement("M18")
def test_a_missing_list_is_made_anew_from_the_log(life: Life) -> None:
    """What it holds stays in force meanwhile."""
    agent = life.agents[0]
    forget(life.world, Named(source=agent.ref))
    path = life.world.locations.suppression
    before = path.read_bytes()
    path.unlink()
    assert enrolled(life.world, agent.written) == "forgotten"
    planned = forget_use.plan_forgetting(life.world.session, Named(source=life.agents[1].ref), "redact")
    assert path.read_bytes() == before
    assert planned.plan.targets


@pytest.mark.requirement("M18")
@pytest.mark.parametrize("other", [False, True])
def test_a_lost_key_stops_everything_that_is_taken_in(life: Life, *, other: bool) -> None:
    """Until the owner says that he goes on without it; another key in its place is none."""
    gone, kept = life.agents
    forget(life.world, Named(source=gone.ref))
    path = life.world.locations.suppression_key
    if other:
        path.write_bytes(life.world.locations.keys.joinpath("fingerprint.key").read_bytes())
    else:
        path.unlink()
    assert enrolled(life.world, kept.written) == "suppression-key-lost"
    assert refusal_of(lambda: forget(life.world, Named(source=kept.ref))) == "suppression-key-lost"
    assert verdict_of(life.world)[0] == "ok"
    assert exclude_use.accept_lost_key(life.world.session) > 0
    assert refusal_of(lambda: exclude_use.accept_lost_key(life.world.session)) == "exclusion-unchanged"
    assert enrolled(life.world, kept.written) is None
    assert enrolled(life.world, gone.written) is None


@pytest.mark.requirement("M18", "M21")
def test_a_list_that_nobody_could_read_again_is_not_written(
    life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log keeps in force what the list has no room for, and everything else goes on."""
    gone, kept = life.agents
    planned = forget_use.plan_forgetting(life.world.session, Named(source=gone.ref), "redact")
    with monkeypatch.context() as patch:
        patch.setattr("timeline.forgetting.suppression.SUPPRESSION_BYTES_MAX", 100)
        reason = refusal_of(lambda: forget_use.apply_plan(life.world.session, planned.digest, confirmed=True))
        assert reason == "suppression-invalid"
        assert enrolled(life.world, gone.written) == "forgotten"
        assert enrolled(life.world, kept.written) is None
    assert forget_use.apply_plan(life.world.session, planned.digest, confirmed=True).is_complete


def test_the_files_are_private_and_say_nothing(life: Life) -> None:
    """Both are 0600; the list has the digests of the log and no word."""
    forget(life.world, Named(source=life.agents[0].ref))
    locations = life.world.locations
    for path in (locations.suppression, locations.suppression_key):
        assert path.stat().st_mode & 0o777 == 0o600
    with life.world.session.reading() as state:
        assert suppression_of(state).digests == state.view.suppressed
        assert suppression_of(state).holds(Forgotten.PATH, str(life.agents[0].written.path))
    locations.suppression.write_text("timeline-suppression/v1\nno digest\n", encoding="utf-8")
    assert enrolled(life.world, life.agents[1].written) == "suppression-invalid"


# -- backups ---------------------------------------------------------------------------------------------------


def put_away(world: World) -> Path:
    """Move state and trust away, as their owner does; where the trust folder lies then."""
    world.locations.state.rename(world.folder / "state.away")
    return world.locations.trust.rename(world.folder / "trust.away")


@pytest.mark.requirement("M18", "X11")
def test_an_older_backup_does_not_bring_it_back(life: Life, tmp_path: Path) -> None:
    """The list of the trust folder that was moved away is given; all else comes back and verifies."""
    agent, said = life.agents[0], life.says()
    same = life.repeats(said)
    file = tmp_path / "before.tar"
    back_up(life.world.session, file)
    forget(life.world, Named(source=agent.ref))
    forget(life.world, Named(assertions=(said,)))
    assert refusal_of(lambda: restore(life.world.session, file, UNVERIFIED)) == "state-exists"
    trust = put_away(life.world)
    given = Given(unverified=True, forgotten=trust)
    restored = restore(life.world.session, file, given)
    assert restored is not None
    assert restored.forgotten is not None
    assert restored.forgotten.is_complete
    with life.world.session.reading() as state:
        assert ledger.find(state, same) is not None  # said by others too, and not forgotten then
        assert ledger.find(state, said) is None
    shutil.rmtree(life.world.folder / "state.away")
    check_gone(life, life.world, frozenset({agent.ref, said}))
    assert verdict_of(life.world, deep=True) == ("ok", frozenset())
    assert enrolled(life.world, agent.written) == "forgotten"
    assert forget_use.list_plans(life.world.session)[0].standing == "done"


@pytest.mark.requirement("M18")
def test_a_backup_made_afterwards_holds_the_list(life: Life, tmp_path: Path) -> None:
    """So that it is in force wherever it comes back."""
    agent = life.agents[0]
    forget(life.world, Named(source=agent.ref))
    file = tmp_path / "after.tar"
    back_up(life.world.session, file)
    before = life.world.locations.suppression.read_bytes()
    put_away(life.world)
    restored = restore(life.world.session, file, UNVERIFIED)
    assert restored is not None
    assert restored.forgotten is None
    assert life.world.locations.suppression.read_bytes() == before
    assert enrolled(life.world, agent.written) == "forgotten"


@pytest.mark.requirement("M18", "X13")
def test_without_the_owner_key_an_older_backup_is_refused(life: Life, tmp_path: Path) -> None:
    """What would have to be erased from it cannot be; nothing is put in place."""
    session = life.world.session
    lock_owner(session, "correct horse battery staple")
    file = tmp_path / "before.tar"
    back_up(session, file)
    unlock_owner(session, "correct horse battery staple")
    forget(life.world, Named(source=life.agents[0].ref))
    trust = put_away(life.world)
    given = Given(unverified=True, forgotten=trust)
    assert refusal_of(lambda: restore(session, file, given)) == "owner-key-locked"
    assert not life.world.locations.state.exists()


def test_a_list_of_another_key_is_refused(life: Life, tmp_path: Path) -> None:
    """Two lists of different keys cannot be told together."""
    forget(life.world, Named(source=life.agents[0].ref))
    file = tmp_path / "after.tar"
    back_up(life.world.session, file)
    trust = put_away(life.world)
    (trust / "suppression.key").write_bytes((trust / "keys" / "fingerprint.key").read_bytes())
    given = Given(unverified=True, forgotten=trust)
    assert refusal_of(lambda: restore(life.world.session, file, given)) == "suppression-invalid"


@pytest.mark.requirement("M22")
def test_one_event_is_forgotten_and_the_others_stay(tmp_path: Path) -> None:
    """The sidecar is made again without it; capturing or indexing does not bring it back."""
    stage = Stage(new_stage(tmp_path).world)
    agent = stage.session("codex", lambda one: [failing(one), failing(one), failing(one)])
    before = event_ids(stage.world)
    answer = captured(agent)
    name = answer["captured"]["source"]["id"]
    planned = forget_use.plan_forgetting(stage.world.session, Named(event=name), "redact")
    assert {one.why for one in planned.targets} == {"captured"}
    applied = forget_use.apply_plan(stage.world.session, planned.digest, confirmed=True)
    assert applied.is_complete
    after = event_ids(stage.world)
    assert set(before) - set(after) == {name}
    assert len(after) == len(before) - 1
    assert verdict_of(stage.world, deep=True) == ("ok", frozenset())
    # Under another enrollment its lines make another event, which is as forgotten.
    ref = enroll(stage.world, agent.written, turn="turn-2")
    (result,) = service.index(stage.world.session, stage.world.root, source_ref=ref)
    assert not isinstance(result, tuple)
    assert result.forgotten == 1
    assert len(event_ids(stage.world)) == len(after)


# -- what the daemon does by itself ----------------------------------------------------------------------------


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Give a session whose prompt is written, under a standing consent."""
    world = new_world(tmp_path / "w")
    made = Desk(world, KINDS["codex legacy"])
    set_consent(session_of(world), world.root, made.kind.host, follow=True, allowed=True)
    made.at(1_000)
    return made


@pytest.mark.requirement("M11", "M18")
@pytest.mark.parametrize("excluded", [True, False])
def test_a_standing_consent_enrolls_nothing_that_is_excluded(desk: Desk, *, excluded: bool) -> None:
    """The receipt was issued before; it waits, and nothing is spent."""
    session = session_of(desk.world)
    receipt = report(desk)
    desk.talk.prompt("make the tests pass")
    desk.write()
    if excluded:
        wanted = exclude_use.exclusions_named(
            session, session_id=(desk.kind.host, desk.talk.session), excluded=True
        )
        exclude_use.set_exclusions(session, wanted)
    assert may_spend(session, receipt) != excluded
    assert (spend_on_consent(session, receipt) is None) == excluded
    assert (len(service.list_receipts(session, desk.world.root)) == 1) == excluded
    if excluded:
        assert refusal_of(lambda: report(desk)) == "excluded"


@pytest.mark.requirement("M18", "X11")
def test_a_daemon_that_has_the_timeline_open_is_no_hindrance(life: Life) -> None:
    """It reads the log anew, answers nothing of what is gone, and the pages are rewritten all the same."""
    agent, session = life.agents[0], life.world.session
    live_ = Live()
    try:
        daemon = msgspec.structs.replace(session, opener=live_)
        with daemon.reading() as state:
            before = len(state.view.sources)
        forget(life.world, Named(source=agent.ref))
        with daemon.reading() as state:
            assert len(state.view.sources) == before - 1
    finally:
        live_.close()
    check_gone(life, life.world, frozenset({agent.ref}))


@pytest.mark.requirement("M18")
def test_a_fork_does_not_bring_it_back(life: Life, tmp_path: Path) -> None:
    """It takes over the list and no enrollment that it names; the others are taken over."""
    gone = life.agents[0]
    file = tmp_path / "before.tar"
    back_up(life.world.session, file)
    forget(life.world, Named(source=gone.ref))
    trust = put_away(life.world)
    (life.world.locations.config / "anchors").unlink()
    forked = fork_backup(life.world.session, file, Given(forgotten=trust))
    assert forked is not None
    listed = service.list_sources(life.world.session, life.world.root)
    refs = {status.source.enrollment.source.ref for status in listed}
    assert gone.ref not in refs
    assert life.agents[1].ref in refs
    assert enrolled(life.world, gone.written) == "forgotten"


@pytest.mark.requirement("M18", "M11")
def test_a_fork_knows_what_only_the_log_knew_and_what_is_excluded(life: Life, tmp_path: Path) -> None:
    """An older list was put back before the backup was made; the log's erasures do not go on in the fork."""
    gone, excluded = life.agents
    forget_use.plan_forgetting(life.world.session, Named(source=gone.ref), "redact")
    older = life.world.locations.suppression.read_bytes()
    forget(life.world, Named(source=gone.ref))
    wanted = exclude_use.exclusions_named(life.world.session, source=excluded.ref, excluded=True)
    exclude_use.set_exclusions(life.world.session, wanted)
    life.world.locations.suppression.write_bytes(older)
    file = tmp_path / "stale.tar"
    back_up(life.world.session, file)
    put_away(life.world)
    (life.world.locations.config / "anchors").unlink()
    assert fork_backup(life.world.session, file) is not None
    assert enrolled(life.world, gone.written) == "forgotten"
    assert enrolled(life.world, excluded.written) == "excluded"


@pytest.mark.requirement("M11")
def test_an_excluded_path_is_known_behind_links(life: Life, tmp_path: Path) -> None:
    """The owner names it as he finds it; transcripts are known by where they are."""
    agent = life.agents[0]
    (tmp_path / "short").symlink_to(agent.written.path.parent)
    named = str(tmp_path / "short" / agent.written.path.name)
    exclude_use.set_exclusions(
        life.world.session, exclude_use.exclusions_named(life.world.session, path=named, excluded=True)
    )
    assert enrolled(life.world, agent.written) == "excluded"


@pytest.mark.requirement("M18")
def test_a_lost_trust_folder_comes_back_with_the_list(life: Life, tmp_path: Path) -> None:
    """From a backup of before, with the list that was kept elsewhere."""
    gone = life.agents[0]
    file = tmp_path / "before.tar"
    back_up(life.world.session, file)
    forget(life.world, Named(source=gone.ref))
    trust = life.world.locations.trust.rename(life.world.folder / "trust.away")
    restore_trust(life.world.session, file, Given(forgotten=trust))
    assert life.world.locations.suppression.read_bytes() == (trust / "suppression").read_bytes()
