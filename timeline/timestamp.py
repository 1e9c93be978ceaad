"""RFC 3161 timestamps: somebody else's word that bytes existed at a time. Needs the extra ``timestamps``.

Who has a response and the authority's certificates verifies offline. It is an upper bound of age and nothing more: an
old state that was put back carries its old timestamp, and the bytes may be much older than it.

The certificates are the verifier's and never the response's own: those that it brings are believed only as far as
they lead to a root that was given. They must have been valid when the time was stated, not now (RFC 3161, annex B).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from timeline.errors import TimestampRefusedError, TimestampUnavailableError, UsageError

if TYPE_CHECKING:
    from cryptography.x509 import Certificate
    from rfc3161_client.tsp import TimeStampResponse

RESPONSE_BYTES_MAX: Final = 64 * 1024
"""A response with a chain of certificates takes 2 to 7 KB."""

CHAIN_BYTES_MAX: Final = 64 * 1024
_NAME_CHARACTERS_MAX: Final = 200


class Timestamp(msgspec.Struct, frozen=True):
    """At ``at_ms`` (UTC milliseconds, by the authority's clock) the bytes existed, says ``authority``.

    ``authority`` is the subject of the signing certificate, bounded and without control characters.
    """

    at_ms: int
    authority: str


def verify_timestamp(response: bytes, message: bytes, chain: bytes) -> Timestamp:
    """What an authority's response states about ``message``; ``chain`` are its certificates, in PEM or one in DER.

    Raises:
        TimestampUnavailableError: the extra is not installed.
        UsageError: the chain is none, or has no root.
        TimestampRefusedError: not a response, not over these bytes, or not signed under the chain.
    """
    try:
        from rfc3161_client import VerificationError, VerifierBuilder, decode_timestamp_response
    except ImportError as error:
        message_ = "RFC 3161 timestamps need the extra `timestamps`"
        raise TimestampUnavailableError(message_) from error
    roots, between, leaves = _read_chain(chain)
    if len(response) > RESPONSE_BYTES_MAX:
        raise _refused(f"a timestamp response must be at most {RESPONSE_BYTES_MAX} bytes")
    refusals: tuple[type[Exception], ...] = (VerificationError, *_unreadable())
    try:
        builder = VerifierBuilder(roots=list(roots), intermediates=list(between))
        if leaves:
            builder = builder.tsa_certificate(leaves[0])
        decoded = decode_timestamp_response(response)
        builder.build().verify_message(decoded, message)
        at_ms = round(decoded.tst_info.gen_time.timestamp() * 1000)
        return Timestamp(at_ms, _signer_of(decoded, leaves))
    except refusals as error:
        # The library's words may quote the input; which rule was broken is said only as far as it is ours.
        raise _refused(
            "the response must be one over exactly these bytes, signed under the given chain"
        ) from error


def _refused(rule: str) -> TimestampRefusedError:
    return TimestampRefusedError(f"timestamp: {rule}")


def _read_chain(
    chain: bytes,
) -> "tuple[Sequence[Certificate], Sequence[Certificate], Sequence[Certificate]]":
    """The roots, the authorities between, and the signer's certificate where the chain has it."""
    from cryptography import x509

    roots: list[Certificate] = []
    between: list[Certificate] = []
    leaves: list[Certificate] = []
    unreadable = _unreadable()
    try:
        if len(chain) > CHAIN_BYTES_MAX:
            raise ValueError("too large")
        is_pem = chain.lstrip().startswith(b"-----")
        read = (
            x509.load_pem_x509_certificates if is_pem else lambda der: [x509.load_der_x509_certificate(der)]
        )
        for certificate in dict.fromkeys(read(chain)):
            if certificate.issuer == certificate.subject:
                roots.append(certificate)
            else:
                (between if _is_authority(certificate) else leaves).append(certificate)
    except unreadable as error:
        message = "the chain must be certificates in PEM, or one in DER"
        raise UsageError(message, hint="give the file that the timestamp authority publishes") from error
    if not roots or len(leaves) > 1:
        message = "the chain must have a self-signed root, and at most one certificate that is no authority's"
        raise UsageError(message, hint="give the whole chain of one timestamp authority")
    return roots, between, leaves


def _is_authority(certificate: "Certificate") -> bool:
    """Whether a certificate may sign others."""
    from cryptography import x509

    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


def _unreadable() -> tuple[type[Exception], ...]:
    """What the two libraries raise for bytes that are no certificate or response: more than they document."""
    from cryptography import exceptions, x509

    return (
        ValueError,
        TypeError,
        OverflowError,
        exceptions.UnsupportedAlgorithm,
        x509.DuplicateExtension,
        x509.InvalidVersion,
        x509.UnsupportedGeneralNameType,
    )


def _signer_of(response: "TimeStampResponse", certificates: "Sequence[Certificate]") -> str:
    """The name of the certificate that the signed attributes name, whatever else the response brings along."""
    from cryptography import x509

    carried = [x509.load_der_x509_certificate(der) for der in response.signed_data.certificates]
    (signer,) = response.signed_data.signer_infos
    for certificate in (*certificates, *carried):
        if (certificate.issuer, certificate.serial_number) == (signer.issuer, signer.serial_number):
            name = certificate.subject.rfc4514_string()
            return "".join(c if c.isprintable() else "?" for c in name)[:_NAME_CHARACTERS_MAX]
    raise _refused("its signer's certificate must be given or carried")
