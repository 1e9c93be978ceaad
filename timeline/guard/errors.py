"""What stops a guarded tool call: the request, the scope it claims, the transport, or the permit.

Reason codes are interface, as those of ``timeline.errors``; where the reference has one, it is the same. No message
says whether anything exists outside the scope of the caller: what is not his is refused as what is not there.
"""

from timeline.errors import AccessError, UsageError

_AGAIN = "let the agent make the call again: the host's hook permits each call once"


# -- the request -----------------------------------------------------------------------------------------------


class RequestError(UsageError):
    """A tool's arguments are not those of its closed schema."""

    reason = "timeline-request-invalid"
    default_hint = "give only the fields that the tool's schema names, within their bounds"


class GroupSuppressedError(AccessError):
    """The call claims a group; what is recalled is private (T8)."""

    reason = "timeline-group-suppressed"
    default_hint = "timelines are private; leave the group out"


class SmuggledFieldError(AccessError):
    """The arguments hold a proof that only the guard itself makes."""

    reason = "timeline-proof-smuggled"
    default_hint = "leave the proof out; no argument can stand for it"


class ScopeClaimError(AccessError):
    """A scope field of the arguments is not of its form."""

    reason = "timeline-scope-invalid"
    default_hint = "leave the scope out: it comes from the session"


class ScopeConflictError(ScopeClaimError):
    """Two spellings of one scope field differ."""

    reason = "timeline-scope-conflict"


class ScopeMismatchError(ScopeClaimError):
    """A scope field of the arguments is not that of the session."""

    reason = "timeline-scope-mismatch"


# -- the transport ---------------------------------------------------------------------------------------------


class TransportError(AccessError):
    """The call does not come from a process of the host that it names."""

    reason = "transport-unbound"
    default_hint = (
        "hooks and the tool server must be started by the host itself, as `timeline install` sets it up"
    )


class TransportUnprovenError(TransportError):
    """The host's process does not hold the session that the call names."""

    reason = "transport-unproven"
    default_hint = "the host must have the session open; where it runs under another user, it cannot be seen"


class CapabilityError(TransportError):
    """A launcher's capability is malformed, incomplete, or that of another session."""

    reason = "local-transport-capability-required"
    default_hint = (
        "the launcher must set AGENTSPINE_TIMELINE_SESSION_CAPABILITY and AGENTSPINE_TIMELINE_TRANSPORT_SESSION_ID "
        "for this session, or neither"
    )


# -- the prompt and the standing consent -----------------------------------------------------------------------


class HookPeerError(AccessError):
    """The prompt was not reported from below a process of the host that it names (T6)."""

    reason = "hook-peer-unverified"
    default_hint = (
        "the host itself must start the hook: `timeline install` sets it up, `timeline doctor` looks"
    )


class ConsentHostError(UsageError):
    """A standing consent names a host that was never reviewed."""

    reason = "consent-provider-unknown"
    default_hint = "name one of the hosts that `timeline consent --help` lists"


class ConsentUnchangedError(UsageError):
    """The decision would change nothing: this is consented to already, or was not."""

    reason = "consent-unchanged"
    default_hint = "`timeline consent --list` says what is in force"


# -- the permit ------------------------------------------------------------------------------------------------


class PermitError(AccessError):
    """No permit lets this call through."""

    reason = "timeline-permit-refused"
    default_hint = _AGAIN


class PermitRequiredError(PermitError):
    """No permit is there that this call could spend: never issued, spent, or forgotten by a restart."""

    reason = "timeline-permit-required"
    default_hint = (
        f"{_AGAIN}; if it stays so, the hook does not run or the session is not enrolled: the owner runs `timeline "
        "doctor`"
    )


class PermitExpiredError(PermitError):
    """The permit of this call has ended."""

    reason = "timeline-permit-expired"


class PermitOtherRequestError(PermitError):
    """What is permitted is another request than this one."""

    reason = "timeline-permit-other-request"
    default_hint = f"the arguments must be those that the hook saw; {_AGAIN}"


class PermitOtherTransportError(PermitError):
    """The call names a permitted one, and does not come over its transport."""

    reason = "timeline-permit-other-transport"


class PermitRepeatedError(PermitError):
    """The host's id of this tool use was permitted before (T15)."""

    reason = "timeline-permit-repeated"


class TransportAmbiguousError(PermitError):
    """Several sessions of one host process are permitted the same request, and the host does not say whose it is."""

    reason = "transport-ambiguous"
    default_hint = "ask in one session at a time, or give the sessionId in the arguments"


# -- what a permitted call asks for ----------------------------------------------------------------------------


class PriorSessionError(AccessError):
    """No other session of the same private task may be recalled here (T25)."""

    reason = "timeline-prior-session-unavailable"
    default_hint = "enroll and index an earlier session of this task, or search this session alone"


class CrossProviderError(AccessError):
    """Other hosts are asked for, and the owner's switch does not say so (T26)."""

    reason = "timeline-cross-provider-disabled"
    default_hint = (
        "the owner sets cross_provider = true in config.toml, or AGENTSPINE_TIMELINE_CROSS_PROVIDER=1 where the host "
        "starts the tool server"
    )
