"""The SQL that makes a database an anchor, for its administrator; the client never runs it."""

import pkgutil
import re
from typing import Final

from timeline.errors import UsageError

ROLE_DEFAULT: Final = "timeline_client"
"""The role as the file names it."""

_ROLE = re.compile(r"[a-z_][a-z0-9_]{0,62}")
"""A name that SQL reads the same with and without quotes; PostgreSQL keeps 63 bytes of one."""


def format_schema(role: str = ROLE_DEFAULT) -> str:
    """The SQL of schema, function and grants for this role.

    Raises:
        UsageError: the role's name would need quotes, or begins like a role of the system.
    """
    if not _ROLE.fullmatch(role) or role.startswith("pg_"):
        message = "a role must be 1 to 63 of a-z, 0-9 and _, begin with no digit and not with pg_"
        raise UsageError(message, hint="quote the role in the printed SQL yourself if it has another name")
    content = pkgutil.get_data("timeline.anchors", "postgres.sql")
    if content is None:
        message = "the package holds no timeline/anchors/postgres.sql"
        raise RuntimeError(message)
    return content.decode("utf-8").replace(ROLE_DEFAULT, role)
