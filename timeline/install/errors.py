"""What stops Timeline from being set up in a host, or from being taken out of it.

Reason codes are interface, as those of ``timeline.errors``. Each of them means that no file was changed, but for
``HookTrustError``: by then the hooks stand, and only the host does not trust them yet.
"""

from timeline.errors import TimelineError, UsageError


class InstallError(TimelineError):
    """A host's configuration cannot be changed."""

    reason = "install-error"


class HostFileError(InstallError):
    """What stands at the place of a host's file is no plain file that can be replaced."""

    reason = "host-file-unusable"
    default_hint = "put a regular file of yours there, or move away what stands there; nothing was changed"


class HostFileReadOnlyError(InstallError):
    """A host's file, or its folder, is read-only; it was made so on purpose."""

    reason = "host-file-read-only"
    default_hint = "make the file and its folder writable, run the command, and protect it again"


class HostFileSyntaxError(InstallError):
    """A host's file is not text of its kind, or is written in a way that cannot be extended safely."""

    reason = "host-file-not-understood"
    default_hint = "correct the file, or add by hand what `timeline install HOST --dry-run` shows"


class HostNameTakenError(InstallError):
    """The host has a server called `timeline` already, and it is not this program."""

    reason = "host-server-name-taken"
    default_hint = "rename the other server in the named file, then run the command again"


class HostFileChangedError(InstallError):
    """A host's file was changed while we worked on it."""

    reason = "host-file-changed-meanwhile"
    default_hint = "close the host, then run the command again: it goes on from what stands there"


class InstallRecordError(InstallError):
    """The record of what was installed is not one that this program has written."""

    reason = "install-record-invalid"
    default_hint = "move the named record away; then only what is ours is spliced out of the host's file"


class InstallScopeError(UsageError):
    """The host has no hooks for one project alone, and without hooks nothing is recalled."""

    reason = "install-scope-unsupported"
    default_hint = "install for the user: leave --project out"


class InstallUnconfirmedError(UsageError):
    """Nobody can be asked whether the shown changes are to be made."""

    reason = "install-unconfirmed"
    default_hint = "look at them with --dry-run, then add --yes"


class HookTrustError(InstallError):
    """The host was not told that its user trusts our hooks; until it is, it skips them without a word."""

    reason = "hook-trust-unavailable"
    default_hint = "start the host and trust the hooks there (Codex: type /hooks)"
