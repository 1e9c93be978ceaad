"""Whether a record is this session's own, or copied from another one (formats §3.1).

- ``forkedFrom`` stands on every record that ``/branch`` copied: copied.
- Another ``sessionId`` than the file's: another session's, be it copied or written by a second terminal. Its results
  yield no evidence here; the mixture is counted.
- A uuid that another session's file holds, where the caller knows those: copied. Older forks and resumes give the
  copy the new ``sessionId`` and leave no other trace, so the bytes of one file alone cannot show it.
"""

from collections.abc import Container
from typing import Final

from adapters.base import Header
from adapters.claude.envelope import is_object
from adapters.decode import Fields, Raw, text_of

NOWHERE: Final[frozenset[str]] = frozenset()
"""No uuid is known from another session."""


class Origin:
    """The own session, and the uuids that are known to be another's. Keeps nothing of what it sees."""

    __slots__ = ("_elsewhere", "_session")

    def __init__(self, header: Header, elsewhere: Container[str] = NOWHERE) -> None:
        self._session = f'"{header.parent_id or header.session_id}"'.encode()
        self._elsewhere = elsewhere

    def is_of_another(self, record: Fields) -> bool:
        """Say whether the record names another session. Ids are written without escapes."""
        named = record.get("sessionId")
        return named is not None and bytes(named) != self._session

    def is_copied(self, record: Fields) -> bool:
        """Say whether the record is shown to be a copy. Raises: ``TranscriptSyntaxError``."""
        if "forkedFrom" in record and is_object(record["forkedFrom"]):
            return True
        return self._elsewhere is not NOWHERE and self._is_elsewhere(record.get("uuid"))

    def _is_elsewhere(self, uuid: Raw | None) -> bool:
        text = text_of(uuid)
        return text is not None and text in self._elsewhere
