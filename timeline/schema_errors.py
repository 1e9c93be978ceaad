"""What stops a database from being brought back to an older version. Reason codes are interface."""

from timeline.errors import StateError


class SchemaBackError(StateError):
    """The older program could not read this log, or the database is in use; nothing was changed."""

    reason = "schema-back-refused"
    default_hint = "put back a backup from before the update (`timeline restore`), or stay with this program"
