"""The tools as a host sees them: names, descriptions, closed schemas and hints. Pure.

Names and fields are the reference's. Its scope fields (root, session, tenant and so on) are left out: a model could
only guess them, and the guard compares whatever a host adds against the real ones and refuses what differs. So the
schemas stay closed and small, and the server passes every argument on instead of refusing it by the schema: a refusal
of the guard has a reason.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from timeline.guard.asked import KNOWLEDGE_KINDS, PRIVACIES
from timeline.guard.request import Tool
from timeline.limits import (
    INDEX_BYTES_MAX,
    INDEX_BYTES_MIN,
    SEARCH_CHARACTERS_MAX,
    SEARCH_CHARACTERS_MIN,
    WINDOW_SECONDS_MAX,
    WORLD_ITEMS_MAX,
)

Schema = Mapping[str, object]


class OfferedTool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool as it is offered.

    ``read_only`` is what a host may rely on: nothing outside Timeline's own derived files changes. ``properties``
    are those of its input schema.
    """

    name: str
    title: str
    description: str
    properties: Schema = MappingProxyType({})
    required: tuple[str, ...] = ()
    read_only: bool = True

    @property
    def input_schema(self) -> dict[str, object]:
        """The JSON Schema of the arguments, closed."""
        schema: dict[str, object] = {
            "type": "object",
            "properties": dict(self.properties),
            "additionalProperties": False,
        }
        return {**schema, "required": list(self.required)} if self.required else schema


_SEARCH_PROPERTIES: Final[Schema] = MappingProxyType(
    {
        "at": {"type": "string", "description": "Exact UTC time, such as 2026-01-31T10:00:00Z"},
        "query": {
            "type": "string",
            "minLength": SEARCH_CHARACTERS_MIN,
            "maxLength": SEARCH_CHARACTERS_MAX,
            "description": "At least two words: runner, label, outcome or count, such as `pytest failed`",
        },
        "windowSeconds": {
            "type": "integer",
            "minimum": 0,
            "maximum": WINDOW_SECONDS_MAX,
            "description": "How far from `at` an event may lie; 0 by default",
        },
        "includePriorSessions": {
            "type": "boolean",
            "description": "Search an earlier session of this task instead of this one",
        },
        "includePriorProviders": {
            "type": "boolean",
            "description": "With includePriorSessions: other agents' sessions too, where the owner allows it",
        },
    }
)

INDEX: Final = OfferedTool(
    name=Tool.INDEX.value,
    title="Index this session",
    description=(
        "Read what is new in this session's transcript and note its test and check results, without keeping text. "
        "Call it before a search for something that just happened. Says how much was read and what was not understood."
    ),
    properties=MappingProxyType(
        {
            "maxBytes": {
                "type": "integer",
                "minimum": INDEX_BYTES_MIN,
                "maximum": INDEX_BYTES_MAX,
                "description": "Bytes to read at most",
            }
        }
    ),
)
"""Read-only: it writes Timeline's own derived files, which can be dropped and built again, and nothing of the user."""

SEARCH: Final = OfferedTool(
    name=Tool.SEARCH.value,
    title="Find what really ran",
    description=(
        "Find results of tests and checks that really ran, re-checked against the transcript: by time (`at`), by "
        "words (`query`), or both. Use it before claiming that something passed or failed earlier. At most 8 cards. "
        "`not-found` is a miss and not a success; `stale` and `unavailable` mean that nothing can be said."
    ),
    properties=_SEARCH_PROPERTIES,
)

CAPTURE: Final = OfferedTool(
    name=Tool.CAPTURE.value,
    title="Keep one result",
    description=(
        "Keep one found result in the world model as a measurement. Give the `id` of a card as eventId, and the same "
        "`at` or `query` that found it."
    ),
    properties=MappingProxyType(
        {
            "eventId": {"type": "string", "pattern": "^timeline-event:[0-9a-f]{32}$"},
            **{
                name: {key: value for key, value in schema.items() if key != "description"}
                for name, schema in _SEARCH_PROPERTIES.items()
                if isinstance(schema, dict)
            },
            "interpretation": {"type": "object", "description": "Of a captured user message; closed schema"},
        }
    ),
    required=("eventId",),
    read_only=False,
)
"""Not read-only: what it keeps outlives the session. It destroys nothing, and the same capture twice is one."""

STATUS: Final = OfferedTool(
    name=Tool.STATUS.value,
    title="Timeline status",
    description="Whether this session is enrolled and indexed, and what is missing. Opens no transcript.",
)

_ID: Final = {"type": "string", "description": "Such as task:release"}

RECORD: Final = OfferedTool(
    name=Tool.RECORD.value,
    title="Suggest something to remember",
    description=(
        "A suggestion stays a proposal and replaces nothing: only a capture measures, only the owner "
        "confirms. No secrets, no permissions."
    ),
    properties=MappingProxyType(
        {
            "id": _ID,
            "subjectId": {"type": "string"},
            "predicate": {"type": "string"},
            "value": {"description": "Any JSON but null"},
            "evidenceKind": {"const": "model-suggestion"},
            "knowledgeKind": {"enum": list(KNOWLEDGE_KINDS)},
            "privacy": {"enum": list(PRIVACIES)},
            "reason": {"type": "string"},
            "expiresAt": {"type": "string"},
            "purposes": {"type": "array"},
            "about": {"type": "string"},
            "derivation": {"type": "object"},
        }
    ),
    required=("id", "subjectId", "predicate", "value", "evidenceKind"),
    read_only=False,
)
"""Not read-only, as a capture. The same suggestion twice is one. What names its evidence is taken where a caller gives
it, and not asked for: a model could only make it up."""

CONTEXT: Final = OfferedTool(
    name=Tool.CONTEXT.value,
    title="What is known",
    description=(
        "What the world model holds: facts (measured or confirmed), conflicts, proposals and stale items, each apart, "
        "and typed knowledge. Rely on facts only; a conflict is for the owner to resolve."
    ),
    properties=MappingProxyType(
        {
            "subjectId": _ID,
            "includePrivate": {
                "type": "boolean",
                "description": "Also what is private, as all task state is",
            },
            "includeKnowledgeHistory": {"type": "boolean"},
            "continuationTaskId": {"type": "string", "description": "Add what helps to go on with this task"},
            "maxItems": {"type": "integer", "minimum": 1, "maximum": WORLD_ITEMS_MAX},
        }
    ),
)

BRIEFING: Final = OfferedTool(
    name=Tool.BRIEFING.value,
    title="Where the task stands",
    description="One short view of this session's task: how to go on, what is settled, what is disputed.",
)

_ABOUT: Final[Schema] = MappingProxyType({"subjectId": _ID, "predicate": {"type": "string"}})

RESOLVE: Final = OfferedTool(
    name=Tool.RESOLVE.value,
    title="What may be said",
    description=(
        "How a question stands: supported (with sentences to say, attributed), conflicted, stale, or unrecorded. "
        "Unrecorded never means false. `asOf` stands for the answer: give it to world_mediate."
    ),
    properties=MappingProxyType(
        {
            **_ABOUT,
            "purpose": {"type": "string", "description": "What for, such as planning"},
            "at": {"type": "string", "description": "Exact UTC time that is asked about; now by default"},
            "asOf": {"type": "string", "description": "Of an earlier answer: is it still this one?"},
        }
    ),
    required=("subjectId", "predicate"),
)

MEDIATE: Final = OfferedTool(
    name=Tool.MEDIATE.value,
    title="Check an answer before giving it",
    description=(
        "Checks what you are about to assert, unit by unit (at most 20), or looks for claims in a text. A unit is "
        "passed, qualified or blocked; say the returned text and nothing of what is blocked."
    ),
    properties=MappingProxyType(
        {
            "units": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "id": {"type": "string"},
                        "subjectId": {"type": "string"},
                        "predicate": {"type": "string"},
                        "value": {},
                        "status": {"type": "string"},
                        "at": {"type": "string"},
                        "asOf": {"type": "string"},
                    },
                },
            },
            "text": {"type": "string"},
            "purpose": {"type": "string"},
        }
    ),
)
"""Read-only: what it keeps are digests of what it has checked, for the owner, and no word of it."""

TOOLS: Final = (INDEX, SEARCH, CAPTURE, STATUS, RECORD, CONTEXT, BRIEFING, RESOLVE, MEDIATE)
"""All tools, in the order in which a host lists them."""

NAMES: Final = frozenset(tool.name for tool in TOOLS)

INSTRUCTIONS: Final = (
    "Timeline says what really ran in this and earlier sessions, from the hosts' own records and re-checked. "
    "Everything it returns is context only: it permits nothing and asks for nothing. Each tool call needs the "
    "owner's consent for this session; where it is missing, the answer says what the owner can do."
)
"""What `initialize` tells the model."""
