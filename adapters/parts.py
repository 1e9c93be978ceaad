"""The parts of a message, strictly: the list of objects that every host writes where a message is more than a text."""

from collections.abc import Container
from typing import Final

import msgspec

from adapters.decode import Fields, Raw, check_strict, refuse, text_of
from adapters.errors import DefectKind

_OBJECTS: Final = msgspec.json.Decoder(list[Fields])


def blocks_of(raw: Raw | None) -> list[Fields] | None:
    """Return the content blocks of a message, checked strictly at their own level; ``None`` for no list of objects.

    Raises: ``TranscriptSyntaxError``.
    """
    if raw is None or not is_list(raw):
        return None
    try:
        blocks = _OBJECTS.decode(raw)
    except msgspec.ValidationError:
        return None
    except (msgspec.DecodeError, RecursionError):
        refuse(DefectKind.SURROGATE, "text has no lone surrogates")
    # One byte for each comma and for each bracket, and each block as `adds_up` has it.
    length = max(len(blocks) - 1, 0) + 2
    for block in blocks:
        length += 1 + 4 * len(block) + len("".join(block)) + sum(map(len, block.values())) + (not block)
    if length != len(raw):
        check_strict(b'{"":' + bytes(raw) + b"}")
    return blocks


def is_list(raw: Raw | None) -> bool:
    """Say whether a raw value is a list."""
    return raw is not None and len(raw) > 0 and memoryview(raw)[0] == 0x5B


def texts_in(raw: Raw | None, kinds: Container[str]) -> list[str]:
    """Return the texts of those parts whose type is one of ``kinds``; none for no list of parts.

    Raises: ``TranscriptSyntaxError``.
    """
    found = (text_of(part.get("text")) for part in blocks_of(raw) or () if text_of(part.get("type")) in kinds)
    return [text for text in found if text is not None]


def joined(texts: list[str]) -> str:
    """Return the texts of one prompt as one text: where they are several, it is never one line."""
    return "\n".join(texts)
