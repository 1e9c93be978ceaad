"""The one spelling of our own JSON payloads: closed structures in RFC 8785 form.

A payload is decoded into a closed structure, encoded again and compared. That refuses, in one step, duplicate
keys, other number spellings, spaces, defaults written out and every other second spelling; a third party needs
only RFC 8785 to do the same. Constraints stand in the types and hold for values made in memory too, because
formatting goes through the same decoder.
"""

from typing import Annotated, Final, TypeVar

import msgspec

from sidecars.digest import DIGEST_PATTERN
from sidecars.encoding import INTEGER_MAX
from sidecars.errors import MalformedError, NonCanonicalError

T = TypeVar("T", bound=msgspec.Struct)

_ENCODER: Final = msgspec.json.Encoder(order="sorted")

# -- field types, shared by all payloads -----------------------------------------------------------------------

Count = Annotated[int, msgspec.Meta(ge=0, le=INTEGER_MAX)]
"""A size, offset, index, count or UTC milliseconds."""

TimeMs = Annotated[int, msgspec.Meta(ge=0, le=253_402_300_799_999)]
"""UTC milliseconds since the epoch, up to the end of year 9999."""

DigestText = Annotated[str, msgspec.Meta(pattern=DIGEST_PATTERN)]
"""A ``Digest`` in its one spelling."""

Identifier = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9._:-]{0,63}\Z")]
"""A short name that cannot carry prose (T2)."""

TypeName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/-]{0,63}\Z")]
"""A name from a format, such as ``codex-rollout-jsonl/v1`` or a host's record type."""

Origin = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9./:_-]{0,127}\Z")]
"""The identity of a log; also a valid C2SP key name."""

SourceRef = Annotated[str, msgspec.Meta(pattern=r"^source:[0-9a-f]{32}\Z")]
"""An opaque reference to one enrolled transcript."""

ProjectRoot = Annotated[str, msgspec.Meta(pattern=r"^/[^\x00-\x1f\x7f]*\Z", max_length=4096)]
"""The canonical path of a project."""

Decimal = Annotated[str, msgspec.Meta(pattern=r"^(0|-?[1-9][0-9]{0,19})\Z")]
"""A 64-bit number of the file system, as text because RFC 8785 stops at 2^53 - 1."""

EnrollmentRef = Annotated[str, msgspec.Meta(pattern=r"^timeline-enrollment:[0-9a-f]{32}\Z")]
"""An opaque reference to one enrollment."""

Vkey = Annotated[str, msgspec.Meta(max_length=256)]
"""A C2SP vkey; the length is checked here, the form where the leaf is."""


def format_struct(value: msgspec.Struct, decoder: "msgspec.json.Decoder[T]", what: str) -> bytes:
    """The RFC 8785 bytes of ``value``, checked by reading them back.

    Raises:
        MalformedError: a field of ``value`` is out of its bounds or type.
    """
    try:
        encoded = _ENCODER.encode(value)
    except (UnicodeEncodeError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise MalformedError(f"{what} holds a value that has no JSON form") from error
    decode_struct(encoded, decoder, what)
    return encoded


def parse_struct(encoded: bytes, decoder: "msgspec.json.Decoder[T]", what: str) -> T:
    """The value that ``encoded`` is the one spelling of.

    Raises:
        MalformedError: not JSON, an unknown or missing field, or a value out of bounds.
        NonCanonicalError: another spelling.
    """
    value = decode_struct(encoded, decoder, what)
    try:
        again = _ENCODER.encode(value)
    except (UnicodeEncodeError, RecursionError) as error:
        raise MalformedError(f"{what} holds text that has no UTF-8 form") from error
    if again != encoded:
        raise NonCanonicalError(f"{what} must be in RFC 8785 form, without fields at their default")
    return value


def decode_struct(encoded: bytes, decoder: "msgspec.json.Decoder[T]", what: str) -> T:
    """Decode without comparing the spelling; for ``format_struct`` and ``parse_struct`` only.

    Raises:
        MalformedError: not JSON, an unknown or missing field, or a value out of bounds.
    """
    try:
        return decoder.decode(encoded)
    except msgspec.ValidationError as error:
        # The library's message may quote the value: only the field's path is taken, and the cause is not chained.
        _, found, path = str(error).rpartition(" - at ")
        where = f" at {path}" if found else ""
        raise MalformedError(f"{what} breaks its schema{where}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, OverflowError) as error:
        raise MalformedError(f"{what} must be one JSON object in UTF-8") from error
