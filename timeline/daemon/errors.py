"""What the daemon refuses."""

from timeline.errors import StateBusyError, TimelineError


class DaemonError(TimelineError):
    """The daemon cannot do what was asked."""

    reason = "daemon-unavailable"
    default_hint = "look at `timeline daemon status` and `timeline daemon logs`"


class DaemonRunningError(StateBusyError):
    """Another daemon of this user holds the lock."""

    reason = "daemon-running"
    default_hint = "it is one per user: `timeline daemon status` shows it"


class SecondServerError(DaemonError):
    """A process of the host has another MCP connection, which came earlier; this one need not be the host's."""

    reason = "transport-second-server"
    default_hint = "the host's own server answers; if there is none any more, start the host again"


class DaemonBusyError(DaemonError):
    """Too much is asked at once, or something takes too long."""

    reason = "daemon-busy"
    default_hint = "try again in a moment"


class DaemonStoppingError(DaemonError):
    """It is about to end."""

    reason = "daemon-stopping"
    default_hint = "try again: the next client starts another one"


class PeerError(DaemonError):
    """The process at the other end of the socket is not known, or is another user's."""

    reason = "peer-refused"
    default_hint = "only processes of the same user may speak to the daemon"
