"""Where a PostgreSQL anchor is: a URI in libpq's form, narrowed to what can be pinned in a policy.

It names its host and its database, so that no variable of the environment chooses them; it holds no password; and
another machine is asked only over TLS with a verified name, because the server's answers are not signed: who could
speak for it could hide a newer tree. Everything else is libpq's own (password file, certificates).
"""

import re
from typing import Final
from urllib.parse import unquote

import msgspec

from timeline.anchors.errors import AnchorAddressError
from timeline.witness.endpoint import is_loopback

ADDRESS_CHARACTERS_MAX: Final = 512
"""As the policy leaf has it (``sidecars.leaf.AnchorAddress``)."""

PORT_DEFAULT: Final = 5432

_URI = re.compile(r"postgres(?:ql)?://([^/?#]*)/([^/?#]+)(?:\?([^?#]+))?")
_PRINTABLE = re.compile(r"[\x21-\x7e]+")
_ESCAPE_BROKEN = re.compile(r"%(?![0-9A-Fa-f]{2})|%00")
_HOST_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_HOST_NUMBER = re.compile(r"[0-9A-Fa-f:.]+")
_PLACE = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^:\[\]]*))(?::(.+))?")
_PORT = re.compile(r"[1-9][0-9]{0,4}")

_PLACES: Final = frozenset({"host", "port", "user"})
_FILES: Final = frozenset({"passfile", "sslcert", "sslkey", "sslrootcert"})
_OPTIONS: Final = _FILES | {"channel_binding", "require_auth", "sslmode"}
_SECRETS: Final = frozenset({"password", "sslpassword"})


class Dsn(msgspec.Struct, frozen=True):
    """A checked address. ``host`` is a name, a number, or the folder of a Unix socket; ``options`` are libpq's."""

    host: str
    port: int
    database: str
    user: str | None
    options: tuple[tuple[str, str], ...]

    @property
    def socket_path(self) -> str | None:
        """The Unix socket, where it is one."""
        return f"{self.host}/.s.PGSQL.{self.port}" if self.host.startswith("/") else None

    def parameters(self) -> dict[str, str]:
        """The same for libpq, with what would otherwise come from the environment."""
        # A loopback name must not lead elsewhere: without TLS nobody would notice.
        host = (
            "127.0.0.1" if self.host == "localhost" and not dict(self.options).get("sslmode") else self.host
        )
        given = {"host": host, "hostaddr": "", "port": str(self.port), "dbname": self.database}
        if self.user is not None:
            given["user"] = self.user
        return {**given, "sslmode": "disable", "gssencmode": "disable", **dict(self.options)}


def parse_dsn(address: str) -> Dsn:
    """Read ``postgresql://[user@]host[:port]/database[?option=value&...]``.

    The folder of a Unix socket stands as ``?host=/folder``, or with ``%2F`` in place of the host.

    Raises:
        AnchorAddressError: another form, a password in it, or another machine without ``sslmode=verify-full``.
    """
    if len(address) > ADDRESS_CHARACTERS_MAX or not _PRINTABLE.fullmatch(address):
        raise _refused(f"must be 1 to {ADDRESS_CHARACTERS_MAX} printable characters without spaces")
    if _ESCAPE_BROKEN.search(address):
        raise _refused("every % must begin an escape such as %2F, and none may be %00")
    parts = _URI.fullmatch(address)
    if parts is None:
        raise _refused("must be postgresql://[user@]host[:port]/database[?option=value]")
    authority, database, query = parts.group(1), _decode(parts.group(2)), _read_query(parts.group(3))
    userinfo, at, place = authority.rpartition("@")
    if ":" in userinfo:
        raise _password()
    if at:
        _put(query, "user", _decode(userinfo))
    host, port = _split_place(place)
    if host:
        _put(query, "host", host)
    if port:
        _put(query, "port", port)
    dsn = Dsn(
        host=_check_host(query.pop("host", "")),
        port=_check_port(query.pop("port", str(PORT_DEFAULT))),
        database=database,
        user=query.pop("user", None),
        options=tuple(sorted(query.items())),
    )
    _check_options(dsn)
    return dsn


def _read_query(text: str | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in [] if text is None else text.split("&"):
        name, equals, value = pair.partition("=")
        if name in _SECRETS:
            raise _password()
        if name not in _PLACES | _OPTIONS:
            raise _refused(f"options may be {', '.join(sorted(_PLACES | _OPTIONS))}")
        if not equals or not value:
            raise _refused(f"the option {name} must have a value")
        _put(found, name, _decode(value))
    return found


def _put(found: dict[str, str], name: str, value: str) -> None:
    if name in found:
        raise _refused(f"{name} must be given once")
    if not value:
        raise _refused(f"{name} must not be empty")
    found[name] = value


def _split_place(place: str) -> tuple[str, str]:
    """Host and port of the part before the path, each empty where it is not given."""
    parts = _PLACE.fullmatch(place)
    if parts is None:
        raise _refused("the host must be one name, one number in brackets, or a folder")
    return _decode(parts.group(1) or parts.group(2)), parts.group(3) or ""


def _check_host(host: str) -> str:
    if not host:
        raise _refused("must name its host, or the folder of its socket")
    if not host.startswith("/") and not _HOST_NAME.fullmatch(host) and not _HOST_NUMBER.fullmatch(host):
        raise _refused("the host must be one name, one number, or an absolute folder")
    return host


def _check_port(port: str) -> int:
    if not _PORT.fullmatch(port) or int(port) > 65535:
        raise _refused("the port must be 1 to 65535")
    return int(port)


def _check_options(dsn: Dsn) -> None:
    options = dict(dsn.options)
    for name in _FILES & options.keys():
        if not options[name].startswith("/") and (name, options[name]) != ("sslrootcert", "system"):
            raise _refused(f"the option {name} must be an absolute path")
    here = dsn.socket_path is not None or is_loopback(dsn.host)
    if options.get("sslmode", "verify-full" if here else "") != "verify-full":
        message = "a database on another machine must be asked with sslmode=verify-full"
        raise AnchorAddressError(
            message,
            hint="add ?sslmode=verify-full and, if need be, &sslrootcert=/path; its answers are not signed",
        )


def _decode(text: str) -> str:
    try:
        decoded = unquote(text, errors="strict")
    except UnicodeDecodeError as error:
        raise _refused("escapes must be UTF-8") from error
    if not decoded.isprintable():
        raise _refused("escapes must not be control characters")
    return decoded


def _password() -> AnchorAddressError:
    return AnchorAddressError("a PostgreSQL address must hold no password")


def _refused(rule: str) -> AnchorAddressError:
    # The address itself is not repeated: it might hold a password after all.
    return AnchorAddressError(f"PostgreSQL address: {rule}")
