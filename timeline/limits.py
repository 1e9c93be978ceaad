"""Every bound of the application, with its unit, its reason and its source.

Bounds of the signed format stand in ``sidecars``, bounds of transcript lines in ``adapters``; here is what the
application adds.
"""

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB

# -- reading transcripts (T11, T19) ----------------------------------------------------------------------------
PREFIX_BYTES_MAX: Final = 4 * KIB
"""Bytes of a transcript that enrollment may read for its identity (T11)."""

INDEX_BYTES_MIN: Final = 64 * KIB
INDEX_BYTES_MAX: Final = 16 * MIB
INDEX_BYTES_DEFAULT: Final = 16 * MIB
"""Bytes that one indexing operation may cover (T19). A command runs as many operations as the file needs."""

INDEX_TOOL_BYTES_DEFAULT: Final = 4 * MIB
"""Bytes that one call of the indexing tool covers where it does not say (reference interface)."""

HEAD_BYTES: Final = 64 * KIB
"""Bytes at the beginning of a followed file that are compared at every use: its header decides how lines are read.
Headers of current hosts have 22 to 27 KB (formats §1.10); of a longer one the rest is left to the prefix proof."""

TAIL_BYTES: Final = 256 * KIB
"""Bytes before the end of what was committed that are compared at every use of a followed file, at least."""

READ_BYTES: Final = 1 * MIB
"""The one reused read buffer: larger falls out of the processor's cache, smaller costs calls."""

# -- events (T23, T34) -----------------------------------------------------------------------------------------
EVENTS_PER_SOURCE_MAX: Final = 4096
"""Events kept for a source; the oldest by position go first (T34, ADR 0008)."""

USER_MESSAGES_PER_SOURCE_MAX: Final = 256
"""User messages among them; they take what room the other events leave, and never that of one (T33)."""

CARDS_MAX: Final = 8
"""Cards in one answer (T23)."""

WINDOW_SECONDS_MAX: Final = 900
"""Half-width of a time window; wider would be a broad scan (T14, reference interface)."""

QUERY_CHARACTERS_MAX: Final = 128
"""One search term; longer is no term of the vocabulary."""

FUZZY_SCORE_MIN: Final = 80
"""Similarity in per cent below which a mistyped term is refused instead of guessed."""

# -- consent (T6) ----------------------------------------------------------------------------------------------
RECEIPT_SECONDS: Final = 15 * 60
RECEIPTS_PENDING_MAX: Final = 32
RECALL_SECONDS_DEFAULT: Final = 30 * 24 * 3600
RECALL_SECONDS_MIN: Final = 60
RECALL_SECONDS_MAX: Final = 90 * 24 * 3600
"""How long the frozen snapshot of an ended session may be recalled."""

FOLLOW_SECONDS_DEFAULT: Final = 12 * 3600
FOLLOW_SECONDS_MIN: Final = 60
FOLLOW_SECONDS_MAX: Final = 48 * 3600
"""How long a session that goes on may be followed; then its last generation is a frozen snapshot."""

HOOK_INPUT_BYTES_MAX: Final = 1 * MIB
"""A hook's standard input; a prompt may be long, but is not kept."""

HOOK_RUNS_MAX: Final = 64
"""Objective results of a session, the newest ones, that the claims of one message are compared with."""

SESSION_INDEX_BYTES_MAX: Final = 1 * MIB
"""How much of the end of a host's own list of sessions is looked at: some 4,000 sessions."""

GIVEN_UP_MAX: Final = 32
"""Replaced sidecar files that may lie there before they are removed together, within one opened state."""

# -- permits (T15, D7) -----------------------------------------------------------------------------------------
PERMIT_SECONDS: Final = 60
"""How long a permitted call may take to arrive: the host may ask the user in between."""

PERMITS_MAX: Final = 64
"""Permits that wait; a further one pushes the oldest out (reference interface)."""

TOOL_USES_MAX: Final = 1024
"""Tool uses that are remembered as permitted, so that none is permitted twice."""

TOOL_USE_CHARACTERS_MAX: Final = 256
"""A host's id of one tool use (reference interface)."""

SEARCH_CHARACTERS_MIN: Final = 3
SEARCH_CHARACTERS_MAX: Final = 512
"""The query of a tool call (reference interface); it holds two terms."""

# -- the world model's tools (docs/spec/capture.md) --------------------------------------------------------------
STABLE_ID_CHARACTERS_MAX: Final = 32 + 1 + 191
"""A namespace, a colon and a name (reference interface)."""

PREDICATE_CHARACTERS_MAX: Final = 128
ANSWER_CHARACTERS_MAX: Final = 64 * 1024
"""Of an answer in free text that is to be checked; as much as is read of it."""

WORLD_ITEMS_DEFAULT: Final = 100
WORLD_ITEMS_MAX: Final = 500
"""Items of each collection that a view may be asked for (reference interface)."""

SUGGESTIONS_PER_SUBJECT_MAX: Final = 256
"""Suggestions about one subject that a session may see when it makes another: each is verified when it is read."""

WORLD_READ_MAX: Final = 500
"""Assertions that are read for a view over all subjects, the newest that its reader may see: some 50 ms."""

HOOK_READ_MAX: Final = 32
HOOK_SUGGESTIONS_MAX: Final = 8
"""The same for a hook, which has a tenth of a second: some 20 ms, and more facts than fit; few of them suggestions."""

HOOK_ABOUT_MAX: Final = 16
"""Assertions of each kind about the task itself that a hook reads; three of them are quoted at most."""

HOOK_CONTEXT_BYTES_MAX: Final = 4 * KIB
"""A hook's whole answer that tells of what is remembered: every prompt pays for it."""

INTERPRETATION_BYTES_MAX: Final = 4 * KIB
"""The interpretation in a capture: four ids, a step of 500 characters and a question of 300."""

# -- external anchors (X5, integrity §1.3, §3.3) ---------------------------------------------------------------
FRESHNESS_SECONDS_DEFAULT: Final = 24 * 3600
"""How old the newest confirmation may be where no anchor answers: a day without a network goes on, a week does not."""

DEADLINE_MS_DEFAULT: Final = 2000
"""How long one anchor may take; a command waits for it."""

UNWITNESSED_MAX_DEFAULT: Final = 1000
"""Leaves that may follow what a quorum has confirmed: some hours of work without a network."""

ANCHOR_SKEW_SECONDS: Final = 300
"""How far a confirmation may lie in our future: the witness's clock is not ours."""

# -- the MCP server (docs/spec/mcp.md) --------------------------------------------------------------------------
MCP_LINE_BYTES_MAX: Final = 1 * MIB
"""One message of a host; a tool call of ours has less than 1 KiB."""

MCP_ANSWER_BYTES_MAX: Final = 16_000
"""One tool result, text and structured content together: what a model reads costs its owner."""

MCP_FIELD_BYTES_MAX: Final = 2 * KIB
"""A field that may be left out when an answer is too large; no field of ours but the cards comes near."""

MCP_REQUESTS_MAX: Final = 64
"""Requests of one session that were read and not yet answered; the next one is not read before."""

MCP_CALLS_MAX: Final = 2
"""Tool calls of one session that run at once; hosts call one after the other, or a few together."""

MCP_CALL_SECONDS: Final = 60.0
"""How long a tool may wait for its turn and its answer: an index of a long transcript takes seconds."""

MCP_SESSIONS_MAX: Final = 256
"""Sessions at once; one more is closed."""

MCP_DRAIN_SECONDS: Final = 2.0
"""How long calls under way may take to end when a host or the daemon closes."""

# -- files -----------------------------------------------------------------------------------------------------
CONFIG_BYTES_MAX: Final = 64 * KIB
SUPPRESSION_BYTES_MAX: Final = 64 * MIB
"""The list of what was forgotten: a million and more digests of 44 bytes each."""

KEY_BYTES_MAX: Final = 4 * KIB
NOTE_BYTES_MAX: Final = 64 * KIB
PATH_BYTES_MAX: Final = 4096
HOST_FILE_BYTES_MAX: Final = 32 * MIB
"""A host's own configuration file; Claude Code keeps much besides in one of its two."""

BACKUP_FILE_BYTES_MAX: Final = 8 * 1024 * MIB - 1
"""One file of a backup: what the size field of a tar header can state (POSIX.1-1988, ustar)."""

FILE_READS_MAX: Final = 8
"""Times that a private file is opened when a writer replaces it each time before it is read."""

LOG_READS_MAX: Final = 8
"""Times that a reader without the lock reads the log when each reading is overtaken by a commit."""

LOCK_WAIT_SECONDS: Final = 10.0
SQLITE_BUSY_MS: Final = 5000
CLOCK_SKEW_MS: Final = 1000
"""How far the clock may stand before the newest recorded time without a refusal."""
