"""The owner key under a passphrase: nothing signs without it, and no interruption leaves the owner without a key."""

import os
import shutil
import socket
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from sidecars.errors import BadSignatureError
from sidecars.keys import Signer
from tests.presence.chains import PASSPHRASE, Owned
from timeline import backup, formats, keyfile, owner, restore, sealing, ssh_agent, unlocking
from timeline.errors import KeyMismatchError, TimelineError
from timeline.keyfile import OWNER, find_owner, is_form_due, key_path
from timeline.keystore import load_keystore, read_pins
from timeline.owner_errors import (
    AgentRefusedError,
    AgentUnavailableError,
    OwnerKeyLockedError,
    OwnerLockStandingError,
    PassphraseError,
    PassphraseUnfitError,
)
from timeline.sealing import LockedSigner, format_sealed, parse_sealed, unseal_key
from timeline.staging import Given

TYPE = "event_msg/new_thing"


@pytest.fixture
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seal, and take what was sealed, at a cost that only a test takes."""
    monkeypatch.setattr(sealing, "COST", sealing.Cost(1, 8 * 1024 * 1024))
    monkeypatch.setattr(sealing, "COST_MIN", sealing.Cost(1, 8 * 1024 * 1024))


def test_a_key_is_sealed_at_the_cost_that_is_promised() -> None:
    """And nothing below libsodium's lowest is taken."""
    assert (sealing.COST.passes, sealing.COST.memory_bytes) == (3, 256 * 1024 * 1024)
    assert (sealing.COST_MIN.passes, sealing.COST_MIN.memory_bytes) == (2, 64 * 1024 * 1024)


def consent(owned: Owned) -> None:
    """Record a decision that needs the owner key."""
    formats.accept_type(owned.session, "codex", TYPE)


def with_passphrase(owned: Owned, passphrase: str = PASSPHRASE) -> Owned:
    """The same timeline for who types this passphrase."""

    def unlock(sealed: sealing.SealedKey) -> Signer:
        return Signer(sealed.verifier.name, unseal_key(sealed, passphrase))

    ports = msgspec.structs.replace(owned.session.ports, unlock=unlock)
    return msgspec.structs.replace(owned, session=msgspec.structs.replace(owned.session, ports=ports))


def key_bytes(owned: Owned) -> bytes:
    """The owner key's file as it stands."""
    return key_path(owned.session.locations, OWNER).read_bytes()


@pytest.mark.requirement("X13")
def test_a_locked_key_signs_for_nobody_without_the_passphrase(locked: Owned) -> None:
    """No process can consent, whatever else it has; the log's own key is still at work."""
    before = locked.size
    with pytest.raises(OwnerKeyLockedError):
        consent(locked)
    with pytest.raises(PassphraseError):
        consent(with_passphrase(locked, "wrong horse battery"))
    assert locked.size == before
    consent(with_passphrase(locked))
    assert locked.size == before + 1
    assert load_keystore(locked.session.locations).log.sign(b"x")


@pytest.mark.requirement("X13")
def test_the_plain_key_is_nowhere_once_it_is_locked(owned: Owned, _cheap: None) -> None:
    """Not in any file of the timeline, and not where its bytes lay."""
    plain = key_bytes(owned)
    with key_path(owned.session.locations, OWNER).open("rb") as held:
        owner.lock_owner(owned.session, PASSPHRASE)
        assert set(held.read()) == {0}
    secret = plain.split(b"\n")[1]
    files = [path for path in owned.folder.rglob("*") if path.is_file() and not path.is_symlink()]
    assert not [path for path in files if secret in path.read_bytes()]
    assert stat.S_IMODE(key_path(owned.session.locations, OWNER).stat().st_mode) == 0o600


@pytest.mark.requirement("X13")
def test_unlocking_brings_the_same_key_back(owned: Owned, _cheap: None) -> None:
    """And wrong steps are refused before anything is changed."""
    plain = key_bytes(owned)
    with pytest.raises(OwnerLockStandingError):
        owner.unlock_owner(owned.session, PASSPHRASE)
    assert owner.lock_owner(owned.session, PASSPHRASE).locked
    sealed = key_bytes(owned)
    with pytest.raises(OwnerLockStandingError):
        owner.lock_owner(owned.session, PASSPHRASE)
    with pytest.raises(PassphraseError):
        owner.unlock_owner(owned.session, "wrong horse battery")
    assert key_bytes(owned) == sealed
    assert not owner.unlock_owner(owned.session, PASSPHRASE).locked
    assert key_bytes(owned) == plain


@pytest.mark.parametrize("passphrase", ["", "short one 1", "ä" * 513])
def test_an_unfit_passphrase_is_refused(owned: Owned, passphrase: str) -> None:
    """Too short to resist trying, or longer than a line; the key stays as it is."""
    plain = key_bytes(owned)
    with pytest.raises(PassphraseUnfitError):
        owner.lock_owner(owned.session, passphrase)
    assert key_bytes(owned) == plain


class Stopped(Exception):  # noqa: N818  (what a test does, and no error)
    """The process was stopped here."""


def stopping(step: Callable[..., None], *, after: bool) -> Callable[..., None]:
    """A step that is stopped before it, or right after it."""

    def stop(*arguments: object) -> None:
        if after:
            step(*arguments)
        raise Stopped

    return stop


@pytest.mark.requirement("X13")
@pytest.mark.parametrize("locking", [True, False], ids=["lock", "unlock"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", ["write_atomic", "overwrite_private", "rename_private"])
def test_a_stop_at_any_step_leaves_one_of_the_two_forms(
    owned: Owned, _cheap: None, monkeypatch: pytest.MonkeyPatch, step: str, after: bool, locking: bool
) -> None:
    """The key is found at once, the next writing command finishes, and the owner consents."""
    locations = owned.session.locations
    if not locking:
        owner.lock_owner(owned.session, PASSPHRASE)
    change = owner.lock_owner if locking else owner.unlock_owner
    with monkeypatch.context() as patch:
        patch.setattr(keyfile, step, stopping(getattr(keyfile, step), after=after))
        with pytest.raises(Stopped):
            change(owned.session, PASSPHRASE)
    begun = not (step == "write_atomic" and not after)
    found = find_owner(locations, read_pins(locations).owner)
    assert isinstance(found, LockedSigner) == (locking == begun)
    before = owned.size
    consent(with_passphrase(owned))
    assert (owned.size, is_form_due(locations)) == (before + 1, False)
    assert isinstance(find_owner(locations, read_pins(locations).owner), LockedSigner) == (locking == begun)


def test_a_next_form_that_is_not_ours_is_left_out(owned: Owned) -> None:
    """Somebody's file beside the key changes nothing and goes."""
    plain = key_bytes(owned)
    stranger = key_path(owned.session.locations, keyfile.OWNER_NEXT)
    stranger.write_bytes(keyfile.format_key(bytes(32)))
    stranger.chmod(0o600)
    consent(owned)
    assert (key_bytes(owned), stranger.exists()) == (plain, False)


@pytest.mark.parametrize("number", range(6))
def test_a_changed_sealed_file_is_refused(locked: Owned, number: int) -> None:
    """Lower costs, another salt, box or key: none opens, and none is taken for another form."""
    content = key_bytes(locked)
    changes = (
        content.replace(b"argon2id 1 8388608", b"argon2id 1 8192"),
        content.replace(b"argon2id 1 8388608", b"argon2id 2 68719476736"),
        content.replace(b"argon2id 1 ", b"argon2id 01 "),
        content[:-8] + b"AAAAAAA\n",
        content + b"\n",
        content.replace(b"/v1", b"/v9"),
    )
    assert changes[number] != content
    key_path(locked.session.locations, OWNER).write_bytes(changes[number])
    with pytest.raises((KeyMismatchError, PassphraseError)):
        consent(with_passphrase(locked))


def test_a_box_that_holds_another_key_is_refused(locked: Owned) -> None:
    """Also where its passphrase is right."""
    sealed = parse_sealed(key_bytes(locked))
    forged = sealing.seal_key(sealed.verifier, bytes(32), PASSPHRASE, salt=bytes(16), nonce=bytes(24))
    key_path(locked.session.locations, OWNER).write_bytes(format_sealed(forged))
    with pytest.raises(KeyMismatchError, match="not the private key"):
        consent(with_passphrase(locked))


def test_a_passphrase_is_the_same_however_its_accents_are_composed(owned: Owned, _cheap: None) -> None:
    """Keyboards differ."""
    owner.lock_owner(owned.session, "zw\u00f6lf schl\u00fcssel")
    assert not owner.unlock_owner(owned.session, "zwo\u0308lf schlu\u0308ssel").locked


@pytest.mark.requirement("X13")
def test_a_backup_holds_the_sealed_key_and_a_restored_one_is_locked(locked: Owned, tmp_path: Path) -> None:
    """Whoever has the file cannot consent."""
    file = tmp_path / "backup.tar"
    backup.back_up(locked.session, file)
    sealed = key_bytes(locked)
    for folder in ("state", "trust"):
        shutil.rmtree(locked.folder / folder)
    restore.restore(with_passphrase(locked).session, file, Given(unverified=True))
    assert key_bytes(locked) == sealed
    with pytest.raises(OwnerKeyLockedError):
        consent(locked)


# -- ssh-agent -------------------------------------------------------------------------------------------------


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """Start a real ssh-agent whose owner answers every question with the exit code of a program."""
    program = shutil.which("ssh-agent")
    if program is None:
        pytest.skip("ssh-agent is not installed")
    started: list[subprocess.Popen[bytes]] = []
    folder = tmp_path / "agent"
    folder.mkdir(mode=0o700)

    def start(answer: str) -> str:
        path = str(folder / "socket")
        given = {"PATH": os.environ["PATH"], "SSH_ASKPASS": shutil.which(answer) or "", "DISPLAY": ":none"}
        running = subprocess.Popen(
            [program, "-D", "-a", path],
            env={**given, "SSH_ASKPASS_REQUIRE": "force"},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        started.append(running)
        assert running.stdout is not None
        running.stdout.readline()  # it listens
        return path

    yield start
    for running in started:
        running.terminate()
        running.wait(timeout=20)
        assert running.stdout is not None
        running.stdout.close()


def with_agent(owned: Owned, path: str) -> Owned:
    """The same timeline for who has this agent and no terminal."""
    environment = {"SSH_AUTH_SOCK": path}
    ports = msgspec.structs.replace(owned.session.ports, unlock=unlocking.unlock_with(environment))
    session = msgspec.structs.replace(owned.session, ports=ports, environment=environment)
    return msgspec.structs.replace(owned, session=session)


@pytest.fixture
def _no_terminal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("timeline.terminal._TERMINAL", str(tmp_path / "no terminal"))


@pytest.mark.requirement("X13")
@pytest.mark.usefixtures("_no_terminal")
def test_an_agent_signs_once_its_owner_has_agreed(locked: Owned, agent: Callable[[str], str]) -> None:
    """The key is lent with the passphrase, stays sealed on disk, and is taken back by unlocking."""
    lent = with_agent(locked, agent("true"))
    before = locked.size
    with pytest.raises(PassphraseError):
        owner.give_to_agent(lent.session, "wrong horse battery")
    with pytest.raises(OwnerKeyLockedError):  # the agent has nothing yet, and there is no terminal
        consent(lent)
    assert owner.give_to_agent(lent.session, PASSPHRASE) == msgspec.structs.replace(
        owner.find_lock(lent.session), locked=True, agent=True
    )
    consent(lent)
    assert locked.size == before + 1
    assert owner.unlock_owner(lent.session, PASSPHRASE).agent is False


@pytest.mark.requirement("X13")
@pytest.mark.usefixtures("_no_terminal")
def test_an_agent_whose_owner_says_no_signs_nothing(locked: Owned, agent: Callable[[str], str]) -> None:
    """And it is not asked for the passphrase instead."""
    lent = with_agent(locked, agent("false"))
    owner.give_to_agent(lent.session, PASSPHRASE)
    before = locked.size
    with pytest.raises(AgentRefusedError):
        consent(lent)
    assert locked.size == before


def answering(path: Path, answers: list[bytes]) -> threading.Thread:
    """An agent that says the same whatever it is asked."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen()

    def serve() -> None:
        with listener:
            for answer in answers:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


def framed(content: bytes) -> bytes:
    """A message of the agent protocol."""
    return len(content).to_bytes(4, "big") + content


def field(content: bytes) -> bytes:
    """A field of one."""
    return len(content).to_bytes(4, "big") + content


@pytest.mark.requirement("X13")
@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (framed(b"\x0e" + field(field(b"ssh-ed25519") + field(bytes(64)))), BadSignatureError),
        (framed(b"\x0e" + field(field(b"ssh-rsa") + field(bytes(64)))), AgentUnavailableError),
        (framed(b"\x0e" + field(field(b"ssh-ed25519") + field(bytes(7)))), BadSignatureError),
        (framed(b"\x0e\xff\xff\xff\xff"), AgentUnavailableError),
        (framed(b"\x05"), AgentRefusedError),
        (b"\xff\xff\xff\xff", AgentUnavailableError),
        (b"\0\0\0\0", AgentUnavailableError),
        (b"", AgentUnavailableError),
    ],
    ids=["another's", "another kind", "short", "cut off", "refused", "too long", "empty", "closed"],
)
def test_an_agent_is_not_believed(tmp_path: Path, answer: bytes, expected: type[Exception]) -> None:
    """Each signature is verified with the pinned key, and each answer is bounded."""
    path = tmp_path / "agent"
    thread = answering(path, [answer])
    with pytest.raises(expected):
        ssh_agent.AgentSigner(str(path), Signer("x", bytes(32)).verifier).sign(b"message")
    thread.join(20)


def test_an_agent_that_does_not_ask_is_not_given_the_key(locked: Owned, tmp_path: Path) -> None:
    """A key that signs for whoever asks would be no lock."""
    path = tmp_path / "agent"
    thread = answering(path, [framed(b"\x0c\0\0\0\0")] * 2 + [framed(b"\x05")])
    with pytest.raises(AgentUnavailableError, match="ask for before each signature"):
        owner.give_to_agent(with_agent(locked, str(path)).session, PASSPHRASE)
    thread.join(20)


@pytest.mark.usefixtures("_no_terminal")
def test_an_agent_that_is_gone_is_passed_over(locked: Owned, tmp_path: Path) -> None:
    """The passphrase is asked for instead; lending the key says what is wrong."""
    gone = with_agent(locked, str(tmp_path / "gone"))
    with pytest.raises(OwnerKeyLockedError):
        consent(gone)
    with pytest.raises(AgentUnavailableError):
        owner.give_to_agent(gone.session, PASSPHRASE)
    assert owner.find_lock(gone.session).agent is None


def test_every_refusal_says_what_to_do() -> None:
    """In the words of whoever has to act."""
    from timeline import owner_errors

    classes = [value for value in vars(owner_errors).values() if isinstance(value, type)]
    ours = [
        kind
        for kind in classes
        if issubclass(kind, TimelineError) and kind.__module__ == owner_errors.__name__
    ]
    assert len(ours) > 10
    assert all(kind.default_hint for kind in ours)
