"""An ssh-agent that keeps the owner key in memory and asks its owner before each signature.

The protocol is that of draft-ietf-sshm-ssh-agent ("SSH Agent Protocol"): messages of a 4-byte length, a type and
fields, over the Unix socket that ``SSH_AUTH_SOCK`` names. Spoken directly, since it is four messages. Key and
signature are those of RFC 8709 (``ssh-ed25519``): the same Ed25519 as ours, so that what the agent signs verifies with
the pinned key. An agent is not believed: each signature is verified before it is used.
"""

import socket
from collections.abc import Mapping
from typing import Final

from sidecars.keys import KeyRef, Verifier
from timeline.owner_errors import AgentRefusedError, AgentUnavailableError

_KIND: Final = b"ssh-ed25519"
_REQUEST_IDENTITIES: Final = 11
_IDENTITIES_ANSWER: Final = 12
_SIGN_REQUEST: Final = 13
_SIGN_RESPONSE: Final = 14
_REMOVE_IDENTITY: Final = 18
_ADD_ID_CONSTRAINED: Final = 25
_SUCCESS: Final = 6
_CONSTRAIN_CONFIRM: Final = 2

ANSWER_BYTES_MAX: Final = 256 * 1024
"""OpenSSH's own bound of a message."""

ANSWER_SECONDS: Final = 5.0
"""For everything but a signature, which waits for a person."""

CONFIRM_SECONDS: Final = 120.0
"""How long the agent's owner may take to agree."""


class AgentSigner:
    """Signs with a key that an agent holds; its owner is asked by the agent each time."""

    def __init__(self, path: str, verifier: Verifier) -> None:
        """Take the agent's socket and the public key."""
        self._path = path
        self.verifier = verifier

    @property
    def name(self) -> str:
        """The key name."""
        return self.verifier.name

    @property
    def ref(self) -> KeyRef:
        """How its signatures name the key."""
        return self.verifier.ref

    def sign(self, message: bytes) -> bytes:
        """The 64-byte signature over ``message``, verified.

        Raises:
            AgentUnavailableError: the agent does not answer, or answers something else.
            AgentRefusedError: it did not sign.
            BadSignatureError: it signed with another key, or something else.
        """
        request = _text(_blob(self.verifier)) + _text(message) + bytes(4)  # no flags
        answer = _ask(self._path, _SIGN_REQUEST, request, CONFIRM_SECONDS)
        if answer[0] != _SIGN_RESPONSE:
            refused = "the ssh-agent did not sign with the owner key"
            raise AgentRefusedError(refused)
        kind, rest = _take(_take(answer[1:])[0])
        signature = _take(rest)[0]
        if kind != _KIND:
            raise _unusable()
        self.verifier.verify(message, signature)
        return signature


def find_agent(environment: Mapping[str, str]) -> str | None:
    """The socket of the agent that the environment names, if any."""
    return environment.get("SSH_AUTH_SOCK") or None


def holds_key(path: str, verifier: Verifier) -> bool:
    """Whether the agent holds this key.

    Raises:
        AgentUnavailableError: it does not answer, or answers something else.
    """
    answer = _ask(path, _REQUEST_IDENTITIES, b"", ANSWER_SECONDS)
    if answer[0] != _IDENTITIES_ANSWER:
        raise _unusable()
    count, rest = int.from_bytes(answer[1:5], "big"), answer[5:]
    wanted = _blob(verifier)
    for _ in range(count):
        blob, rest = _take(rest)
        _comment, rest = _take(rest)
        if blob == wanted:
            return True
    return False


def add_key(path: str, verifier: Verifier, seed: bytes) -> None:
    """Give the key to the agent, on condition that it asks before each signature.

    Raises:
        AgentUnavailableError: it does not answer, or does not take that condition.
    """
    public = verifier.public_key
    fields = (_KIND, public, seed + public, b"timeline owner key")
    body = b"".join(_text(field) for field in fields) + bytes([_CONSTRAIN_CONFIRM])
    if _ask(path, _ADD_ID_CONSTRAINED, body, ANSWER_SECONDS)[0] != _SUCCESS:
        message = "the ssh-agent does not take a key that it has to ask for before each signature"
        raise AgentUnavailableError(message, hint="use the passphrase alone: leave --agent out")


def remove_key(path: str, verifier: Verifier) -> bool:
    """Let the agent forget the key; whether it had it.

    Raises:
        AgentUnavailableError: it does not answer.
    """
    return _ask(path, _REMOVE_IDENTITY, _text(_blob(verifier)), ANSWER_SECONDS)[0] == _SUCCESS


def _ask(path: str, kind: int, body: bytes, seconds: float) -> bytes:
    """The answer to one message: its type and its fields."""
    message = bytes([kind]) + body
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(seconds)
            connection.connect(path)
            connection.sendall(len(message).to_bytes(4, "big") + message)
            size = int.from_bytes(_receive(connection, 4), "big")
            if not 0 < size <= ANSWER_BYTES_MAX:
                raise _unusable()
            return _receive(connection, size)
    except (OSError, ValueError) as error:
        unavailable = "the ssh-agent that SSH_AUTH_SOCK names does not answer"
        raise AgentUnavailableError(unavailable) from error


def _receive(connection: socket.socket, size: int) -> bytes:
    pieces = b""
    while len(pieces) < size:
        piece = connection.recv(size - len(pieces))
        if not piece:
            raise _unusable()
        pieces += piece
    return pieces


def _blob(verifier: Verifier) -> bytes:
    return _text(_KIND) + _text(verifier.public_key)


def _text(content: bytes) -> bytes:
    return len(content).to_bytes(4, "big") + content


def _take(content: bytes) -> tuple[bytes, bytes]:
    """The first length-prefixed field, and what follows it."""
    size = int.from_bytes(content[:4], "big")
    if len(content) < 4 + size:
        raise _unusable()
    return content[4 : 4 + size], content[4 + size :]


def _unusable() -> AgentUnavailableError:
    return AgentUnavailableError("the ssh-agent answered something that is no answer to what it was asked")
