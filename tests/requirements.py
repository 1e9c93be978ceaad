"""Every requirement of this project with its status: data, read by tests/test_requirements.py.

Letters: T session timeline, D fixed by the user, W world model, H holes found in the reference (a) to (i),
P typed provenance, N what the provenance paper's artifact leaves out, M correction and deletion, G grading,
X beyond all sources. The sentences are short reminders in our own words, not the requirement's full text.

To change a status, move the id: ``HELD`` needs a test that names the id and breaks when the behaviour does;
``DIVERGES`` needs the same and a reason with its ADR or design section; ``DEFERRED`` needs a reason; an id in
none of the three is open.
"""

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """How far a requirement is met."""

    HELD = "held"
    DIVERGES = "diverges"
    DEFERRED = "deferred"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One item: ``reason`` is required where the status is ``diverges`` or ``deferred``."""

    id: str
    sentence: str
    status: Status
    reason: str = ""

    def __post_init__(self) -> None:
        """Refuse an entry that explains nothing, or explains what needs no explanation."""
        explained = self.status in (Status.DIVERGES, Status.DEFERRED)
        if not self.sentence or explained != bool(self.reason):
            raise ValueError(f"{self.id}: a sentence, and a reason exactly where it diverges or is deferred")


HELD: frozenset[str] = frozenset(
    (
        "T1 T2 T3 T4 T5 T6 T7 T8 T9 T10 T11 T12 T13 T15 T16 T17 T18 T19 T20 T21 T22 T23 T24 T25 T26 "
        "T27 T28 T29 T30 T31 T32 T33 T34 T35 T36 T37 T38 T39 T40 T41 T42 T43 T44 T45 T46 T47 T48 T49 T50 "
        "T51 T52 T53 T54 T55 T56 T57 T58 T59 T60 T61 T62 T63 T65 T66 T67 T68 T69 T70 T71 T73 "
        "D1 D2 D3 D4 D5 D6 D7 D8 "
        "W1 W2 W3 W4 W5 W6 W7 W8 W9 W10 W11 W12 W13 W14 W15 W16 W17 W18 W19 W20 W21 W22 W23 W24 W25 W26 "
        "W27 W28 W29 W30 W31 W32 W33 W34 W35 W36 W37 W38 W39 W40 W41 W42 W43 W44 W45 W46 W47 W48 W49 W50 "
        "W51 W52 W53 W54 W55 W56 W58 W59 W60 W61 W62 W63 W65 W67 "
        "H-a H-b H-c H-d H-e H-f H-g H-h H-i "
        "P1 P2 P3 P4 P6 P7 P8 P9 P10 P11 P12 P13 P14 P15 P16 P17 P18 P19 P20 P21 P22 P23 P24 P25 P26 P27 P28 "
        "P29 P30 P31 P32 P33 P34 P35 P36 P37 P38 P39 P40 P41 P42 P43 P44 P45 P46 P48 P49 P50 P51 "
        "N1 N2 N3 N4 N5 N6 N7 N8 N9 N11 N14 N15 "
        "M1 M2 M3 M4 M5 M6 M7 M8 M9 M10 M11 M12 M13 M14 M15 M16 M17 M18 M19 M20 M21 M22 M24 "
        "G1 G2 G3 G4 G5 G6 G7 G8 G9 G10 G11 G12 G13 G14 G15 G16 G17 G18 G19 G20 G21 G22 G23 G24 G25 G26 G27 "
        "G28 G29 G30 "
        "X1 X2 X3 X4 X5 X6 X7 X8 X9 X10 X11 X12 X13 X14"
    ).split()
)

DIVERGES: dict[str, str] = {
    "W57": "a session that its owner has enrolled has the local route of its task; any other has none (ADR 0022)",
    "W64": "a lock of the operating system, no heartbeat, and no bound of 5 MiB but on a file that is imported",
    "W66": "assertions are leaves of the signed log; `timeline world export` makes world-model.json",
    "P5": "subjects and predicates are open names of the ledger's form; only modalities are closed (ADR 0026)",
    "N10": "a record's salt and bytes are destroyed and the pages rewritten; nothing is encrypted (ADR 0027)",
    "T72": "a copy of a Claude session that nothing marks cannot be told from one file (ADR 0016)",
    "T14": "a snapshot is never extended; a file is followed only where the owner asked for it (ADR 0013)",
}

DEFERRED: dict[str, str] = {
    "T64": "needs a live model in a live host; the technical tests claim no semantics",
    "P47": "the seven tracks are a study with live models; its protocol is in docs/acceptance.md",
    "N12": "the study with baselines and ablations needs live models; its protocol is in docs/acceptance.md",
    "N13": "`python -m benchmarks asking` measures through ledger and disk; no live host is timed",
    "M23": "the text of ACT-C09 is not published; our own protocol is in docs/acceptance.md",
}

_SENTENCES: tuple[tuple[str, str], ...] = (
    # -- T, session timeline
    ("T1", "Transcripts are read in place; no copy of one is made."),
    ("T2", "A sidecar keeps typed, bounded facts and opaque references; it keeps no transcript text."),
    ("T3", "Every sidecar carries a signature that is checked before anything in it is used."),
    ("T4", "What is recalled belongs to one private task and says context-only; it permits nothing."),
    ("T5", "Each host has an adapter of its own, and what none of them knows is refused."),
    ("T6", "Only a checked prompt event yields a receipt; it ends soon and is spent by one use."),
    ("T7", "A receipt names source, host, session, scope and route; changing any one of them refuses it."),
    ("T8", "Values from a model, half a route, a group or unknown visibility never lead to an enrollment."),
    ("T9", "`timeline-receipt --root` exists and gives the pending receipt of a project."),
    ("T10", "`timeline-enroll` takes root and receipt, and refuses without the confirmation flag."),
    ("T11", "Enrolling looks at fixed metadata and at no more than 4 KiB of content."),
    ("T12", "Source, root, host and scope are checked again before every use."),
    ("T13", "Other bytes than those enrolled end the snapshot."),
    ("T14", "A snapshot is not followed, widened, refreshed, retried or replaced by another source."),
    ("T15", "A permit from PreToolUse serves exactly one call."),
    ("T16", "The indexing tool takes a byte budget."),
    ("T17", "The search tool takes a time or terms, and two switches for prior sessions and hosts."),
    ("T18", "The capture tool takes an event and how it was found, and optionally an interpretation."),
    ("T19", "Indexing runs one at a time, within 64 KiB to 16 MiB an operation."),
    ("T20", "A search is an exact UTC window or two terms, nothing looser."),
    ("T21", "One search opens at most one transcript."),
    ("T22", "Before a card is shown its lines are read again, within bounds, and compared."),
    ("T23", "An answer holds at most eight cards."),
    ("T24", "A search that finds nothing says so; it never searches wider."),
    ("T25", "Another session is recalled only over the very same private route."),
    ("T26", "Another host needs the environment switch and both flags, and keeps its own enrollment."),
    ("T27", "Each guarded call uses up a fresh permit."),
    ("T28", "A captured item's provenance is taken from the source as just reopened."),
    ("T29", "Only reviewed, objective fields pass into the world model."),
    ("T30", "Direct, replayed, foreign, expired, unsafe or changed input writes nothing."),
    ("T31", "Results that disagree stay a conflict."),
    ("T32", "The same result captured twice is one result, also after a restart."),
    ("T33", "Up to 256 references to user messages are kept, and never push out stronger evidence."),
    ("T34", "All events of a source together are capped at 4096."),
    ("T35", "Neither message text nor words derived from it are indexed."),
    ("T36", "The technical query `user message` reaches the message lane."),
    ("T37", "Capturing a message rechecks one line of at most 2048 bytes, its route and its place."),
    ("T38", "A quoted message becomes an uninterpreted assumption, and nothing stronger."),
    ("T39", "With one candidate, one interpretation request bound to its source may follow."),
    ("T40", "With two or three candidates, only a clarification naming the whole sorted set is taken."),
    ("T41", "Every candidate carries host, session, message, both digests and its time."),
    ("T42", "The capture gate reopens every registered source."),
    ("T43", "A partial, reordered, altered, foreign, unknown or larger set is refused."),
    ("T44", "A repeated request changes nothing."),
    ("T45", "Two different proposals for one message conflict."),
    ("T46", "Both forms are private suggestions that name what they replace and claim no completion."),
    ("T47", "Neither form moves the continuation or permits anything."),
    ("T48", "Open candidates are recalled before the answer, also after restart and compaction."),
    ("T49", "Three candidates fit by a field-and-row encoding that loses nothing."),
    ("T50", "King's 1,200 bytes hold all candidates, rebuilt exactly from shared values and prefixes."),
    ("T51", "A result moves a continuation only under one confirmed contract of the same task and route."),
    ("T52", "The contract states step, label, total, success count and success beforehand."),
    ("T53", "Capturing under a contract keeps the raw measurement before the step is marked verified."),
    ("T54", "A failed result leaves the agreed step in place and starts no retry."),
    ("T55", "A good result moves to what the contract names next and nowhere else."),
    ("T56", "Late, stale, conflicting, foreign, replaced or suggested contracts move nothing."),
    ("T57", "A user's newer correction wins over an older contract."),
    ("T58", "Raw results that contradict each other remain visible as uncertain."),
    ("T59", "A strict correction is one whole native line with the English or German opening."),
    ("T60", "A correction replaces the next step of one continuation in its thread, and only that."),
    ("T61", "What is no such line, or not native, fresh, safe and private, corrects nothing."),
    ("T62", "Quotes, hypotheses, negations and claims of completion stay context."),
    ("T63", "Each host's tests run without the others'."),
    ("T64", "What a live model makes of the recall is judged apart from the technical checks."),
    ("T65", "Restoring the state alone, or a mix of state, head and anchor, is noticed."),
    ("T66", "One half-finished commit is repaired under the lock; more is refused."),
    ("T67", "State that is malformed, missing, altered, linked, moved or badly signed gives no card."),
    ("T68", "Restoring everything together is caught where an anchor lies outside."),
    ("T69", "Failing to verify ends recall only; it blocks no work and loops on nothing."),
    ("T70", "A Codex rollout is one plain, enrolled file below the sessions root with a valid header."),
    ("T71", "King's wire format is read through a guarded mapping of source and protocol."),
    ("T72", "Unknown, inherited, compressed or altered formats are refused."),
    ("T73", "Objective cards come from reviewed native tool results; talk never makes one."),
    # -- D, fixed by the user
    ("D1", "Python, with watchdog, pynacl, sqlite-utils, rapidfuzz, click and freezegun."),
    ("D2", "The top level holds pyproject.toml, the three packages, tests and fixtures/transcripts."),
    ("D3", "Sidecars are redacted, signed with Ed25519 and anchored by a head."),
    ("D4", "Search is bounded by a time window or by terms."),
    ("D5", "Reviewed objective results are captured into the world model."),
    ("D6", "`timeline-enroll` spends a one-use receipt."),
    ("D7", "Search and capture need a permit from PreToolUse."),
    ("D8", "A command verifies that nothing was rolled back."),
    # -- W, world model
    ("W1", "An assertion has exactly one of three evidence kinds, fixed for good."),
    ("W2", "Id, digest, time, subject, predicate, scope and value are required for every kind."),
    ("W3", "A suggestion cannot replace what is established."),
    ("W4", "A suggestion remains a proposal even where it equals a fact."),
    ("W5", "The ledger only grows."),
    ("W6", "Recording the same id with the same content again changes nothing."),
    ("W7", "The same id with other content is refused."),
    ("W8", "A newer established assertion may replace older ones of its subject and predicate only."),
    ("W9", "What was replaced stays in the history; the new one is the active view."),
    ("W10", "A context has facts, conflicts, proposals and stale items, each apart."),
    ("W11", "A fact is current, established and has one value that nothing disputes."),
    ("W12", "A conflict is active established values that differ."),
    ("W13", "Proposals are the active suggestions."),
    ("W14", "An item whose stated end has passed is stale."),
    ("W15", "A conflict takes its subject and predicate out of the facts and asks for resolution."),
    ("W16", "No averaged confidence makes a conflict disappear."),
    ("W17", "Expired evidence is never used again in silence."),
    ("W18", "A conflict ends only by a new established assertion that names all its members."),
    ("W19", "Briefings read this same model and treat only facts as established."),
    ("W20", "Five kinds of knowledge can be opted into."),
    ("W21", "The typed view stands on the same records; there is no second store."),
    ("W22", "A typed item keeps source, digest, both times, exact scope and optional references."),
    ("W23", "A decision carries a bounded rationale."),
    ("W24", "A typed item is confirmed, assumption, contradictory or superseded."),
    ("W25", "What is contradictory is no fact."),
    ("W26", "A correction names each predecessor; they are shown when asked for."),
    ("W27", "Old untyped assertions stay readable and untyped."),
    ("W28", "A briefing holds the bounded current view; history is opt-in."),
    ("W29", "Values and rationales shaped like secrets are refused on the way in and on load."),
    ("W30", "A reference to a source proves origin and nothing else."),
    ("W31", "A continuation has its own predicate and schema."),
    ("W32", "A continuation's subject is its task."),
    ("W33", "A continuation is bounded: objective, state, verified step, questions, one next step."),
    ("W34", "Continuation and last step both say which session and message they come from."),
    ("W35", "Completion needs a passed, measured step and nothing left open."),
    ("W36", "The resumable view takes only what is current, confirmed and undisputed."),
    ("W37", "Repeating a suggestion never makes it resumable."),
    ("W38", "Competing continuations are withheld until one replaces the other."),
    ("W39", "Earlier continuations are kept in the opt-in history."),
    ("W40", "A continuation outlives a restart and is briefed without opening a transcript."),
    ("W41", "Finished continuations are listed apart."),
    ("W42", "At most eight capsules are shown, or the one asked for."),
    ("W43", "A capsule is neither a lease nor a permission."),
    ("W44", "A chosen capsule brings at most six confirmed items found by a deterministic query."),
    ("W45", "That query leaves out the uncertain, stale, replaced, private, foreign and finished."),
    ("W46", "That query opens no source and grants nothing."),
    ("W47", "Portal and thread references are opaque and come from the whole authenticated route."),
    ("W48", "The runtime attaches them to knowledge about the current task; arguments cannot."),
    ("W49", "All four reading paths use the same pair."),
    ("W50", "Task knowledge is seen on its own route only, whatever else is equal."),
    ("W51", "A reader without a route does not see it."),
    ("W52", "A routed task does not inherit older unrouted knowledge."),
    ("W53", "Old records keep their bytes; migration is explicit and reviewed."),
    ("W54", "A replacement keeps subject, predicate, portal and thread."),
    ("W55", "General preferences and project lessons may be read across threads."),
    ("W56", "References are no input, reveal no raw id and grant nothing."),
    ("W57", "A host without the pair gets none of it."),
    ("W58", "Privacy is private, shared or one exact group."),
    ("W59", "A group reader sees its group and what is shared, and may not ask for private items."),
    ("W60", "Project items are seen in that project; unscoped ones with their installation."),
    ("W61", "Each record and each result says context-only."),
    ("W62", "Names that resemble authority, credentials or money are refused at any depth."),
    ("W63", "Permission, execution, signing and trust code never reads the model."),
    ("W64", "Writes are atomic, locked, bounded and private."),
    ("W65", "Corrupt, altered, invalid or authority-shaped stored data is refused."),
    ("W66", "The model lives in the external project state; the user's files are left alone."),
    ("W67", "The standards it follows are cited, and no foreign code is taken in."),
    # -- H, holes in the public reference
    ("H-a", "A correction that has expired does not bring back what it replaced."),
    ("H-b", "A correction the reader may not see still retires what it replaced."),
    ("H-c", "An older observation cannot replace a newer one."),
    ("H-d", "Authority-shaped names are caught without separators and in look-alike letters."),
    ("H-e", "Untyped assertions are scanned for secrets too."),
    ("H-f", "The evidence digest is compared with the evidence's bytes."),
    ("H-g", "Values are compared as values: 1 is 1.0, and key order is nothing."),
    ("H-h", "Recording one assertion is durable and does not rewrite the whole file."),
    ("H-i", "Replacing part of a three-way conflict leaves the rest a conflict."),
    # -- P, typed provenance and assertion guardrails
    ("P1", "A monotone head names the finite set of accepted objects, and no others."),
    ("P2", "An identifier gives one immutable version or an authenticated marker that it is gone."),
    ("P3", "Policies are versioned, authenticated and bound to their context."),
    ("P4", "Every governed channel passes the mediator."),
    ("P5", "A proposition is typed; world knowledge stays outside unless told as experience."),
    ("P6", "Under a fixed head another model sees the same claims."),
    ("P7", "Supported does not mean true, and unsupported does not mean false."),
    ("P8", "The graph is acyclic and labelled with role, proposition, interval and scope."),
    ("P9", "A derived vertex names rule, policy version and evaluator configuration."),
    ("P10", "A vertex's roots are its parentless ancestors that qualify as roots."),
    ("P11", "Two claims are independent when both have roots and share none."),
    ("P12", "Nine roles in three classes: observed, derived, unverified."),
    ("P13", "Promotion makes a new vertex with its exact dependencies."),
    ("P14", "A report may be interpreted and a prior may become a hypothesis."),
    ("P15", "Nothing that depends on the unverified class enters the observed one."),
    ("P16", "An observation needs a checked capture path, device, commitment and time."),
    ("P17", "A report needs a checked author and channel; a message is never an observation."),
    ("P18", "Every claim traces in finitely many steps to roots or markers."),
    ("P19", "False corroboration, injected summaries, time tricks and probing are withstood."),
    ("P20", "What trust rests on is stated, and what is out of scope as well."),
    ("P21", "What exists and what this reader may see are two different sets."),
    ("P22", "A resolution is a status, flags, supporting claims and a decision witness."),
    ("P23", "Supported holds exactly where a claim supports and the policy is met."),
    ("P24", "The policy asks for validity, required independence and intact derivation."),
    ("P25", "Rivals that both have support give Supported and Conflicted, with both shown."),
    ("P26", "The decision witness is bound to the head, minimal, and empty only for plain absence."),
    ("P27", "Each kind of finding has its own obligations to the decision witness."),
    ("P28", "A witness of pure absence binds head, question and policy."),
    ("P29", "A decision witness never justifies releasing content."),
    ("P30", "Withheld holds exactly where something relevant lies outside the reader's part."),
    ("P31", "Decisions that must look alike share one view."),
    ("P32", "Unknown denies nothing, and other reasoning goes on."),
    ("P33", "A scope never grows by itself."),
    ("P34", "After a revocation support survives only over a path without the revoked."),
    ("P35", "Replacement, invalidation, conflict and erasure are recorded transitions."),
    ("P36", "Mediation extracts, resolves and gates; every revision starts over."),
    ("P37", "A moved head forces a new projection unless an old one is permitted and labelled."),
    ("P38", "Units are ordered, named once, and separate content from status."),
    ("P39", "Content is released only as an exact member of the supported set with all checks."),
    ("P40", "A status answer comes from the view's own set; equal views give equal sets."),
    ("P41", "An output passes when all its units do."),
    ("P42", "Each unit leaves a binding, and each output a trace of them."),
    ("P43", "Admission, projection and mediation report their assurance one by one."),
    ("P44", "Rates of unsupported output, coverage, prevention and latency are measured."),
    ("P45", "Eight classes of origin each require their own provenance fields."),
    ("P46", "Each permitted promotion binds what the table says; the prohibited one is impossible."),
    ("P47", "The seven evaluation tracks are a study of their own."),
    ("P48", "Unknown and withheld are rendered alike."),
    ("P49", "Privacy between related persons: isolation, consent of both, one-sided revocation."),
    ("P50", "Erasing a key makes items unavailable and recomputes what stood on them."),
    ("P51", "What would refute the approach is fixed before it is measured."),
    # -- N, what the paper's artifact leaves out
    ("N1", "Semantic units come from structured slots; a heuristic extractor is measured and labelled."),
    ("N2", "Decision witnesses are sealed and opened by right only."),
    ("N3", "Views are configurable, and equal views and outputs are checked."),
    ("N4", "Provenance is resolved over the whole graph, not over flat root lists."),
    ("N5", "Scopes cover task, branch and relationship."),
    ("N6", "Decision witnesses and assertions are committed cryptographically."),
    ("N7", "Serialisation is canonical and artifact hashes are checked."),
    ("N8", "The target of a promotion must pass its origin's admission checks."),
    ("N9", "Concurrent use and crashes leave a valid history."),
    ("N10", "Erasure destroys a record's own key."),
    ("N11", "The store is durable."),
    ("N12", "The tool is compared end to end with baselines and ablations."),
    ("N13", "Latency is measured beyond a single function."),
    ("N14", "States of several claims together are enumerated."),
    ("N15", "Channels that nothing mediates are named and closed or declared."),
    # -- M, correction and deletion
    ("M1", "An item names its records, origin, author or process, time, scope and replacements."),
    ("M2", "Trusted metadata is set by the recording path; text cannot set it."),
    ("M3", "Text that says the owner approved is not the owner's approval."),
    ("M4", "What an agent deduced keeps its derivation and its doubt."),
    ("M5", "Recalling a statement again corroborates nothing."),
    ("M6", "Storing what was recalled, over and over, leaves the grade as it was."),
    ("M7", "Unknown lineage is not filled in."),
    ("M8", "A display name authenticates nobody."),
    ("M9", "A file that its host may edit is not promoted for that."),
    ("M10", "Scope holds from storage to retrieval."),
    ("M11", "Excluding a source, correcting a fact and removing derivatives are three operations."),
    ("M12", "A removal first shows exactly what it would touch."),
    ("M13", "A removal says on whose authority it acts."),
    ("M14", "A removal reports what changed, stayed and failed."),
    ("M15", "What happens to an item of several sources is settled before it is touched."),
    ("M16", "A deletion claims nothing about originals, backups or copies elsewhere."),
    ("M17", "Complete erasure is claimed only where the covered stores prove it."),
    ("M18", "A forgotten source does not come back within the declared coverage."),
    ("M19", "Deletion and immutable evidence are reconciled openly."),
    ("M20", "Records of runs are not rewritten in silence."),
    ("M21", "A partial failure can be resumed without repeating blindly."),
    ("M22", "Lineage, denial, preview, partial failure and re-ingestion are tested."),
    ("M23", "Scepticism about sources and reasoning about limits of deletion, as in ACT-C09."),
    ("M24", "The contract calls itself proposed."),
    # -- G, provenance grading
    ("G1", "Content has one of five intents."),
    ("G2", "The intent is decided when content comes in."),
    ("G3", "Only asserted and speculative content is graded."),
    ("G4", "Other intents keep their provenance, can be queried and never compete."),
    ("G5", "Conversation, autobiography and papers count as asserted unless said otherwise."),
    ("G6", "A grade joins source, distance and verification for a claim and a source."),
    ("G7", "The source part is computed; there is no way to set it."),
    ("G8", "Distance lowers trust at a rate of its source type."),
    ("G9", "Verification maps citations, corroboration, review and credentials to a scale."),
    ("G10", "Not assessed and failed are two different things, stored and shown as such."),
    ("G11", "Credibility is kept per entity and domain, with a general fallback."),
    ("G12", "Corroborated and contradicted claims, credentials and recency feed it."),
    ("G13", "Recomputing is periodic, deterministic, versioned and can be audited to its inputs."),
    ("G14", "The first algorithm is a ratio with decay."),
    ("G15", "A claim is immutable, slow to change, or stateful."),
    ("G16", "A conflict about the immutable is a contradiction and costs credibility."),
    ("G17", "A slow change is suspicious within a short window and drift across years."),
    ("G18", "For the stateful the newest holds, nobody is damaged, and the path is kept."),
    ("G19", "Credibility suffers only within one validity window of what cannot drift."),
    ("G20", "Where classes differ for one key the strictest rules."),
    ("G21", "Only independent sources corroborate; one session is one voice."),
    ("G22", "Distance and verification belong to a source, intent and mutability to a claim."),
    ("G23", "The product is never stored."),
    ("G24", "The first contradiction rule compares values of one key under the strictest class."),
    ("G25", "The class of a work sets what its records inherit; reactions to fiction are real."),
    ("G26", "Old rows are filled with stated defaults."),
    ("G27", "Verdicts take grades into account."),
    ("G28", "Being replaced is not being deleted."),
    ("G29", "The migration can be taken back."),
    ("G30", "The open questions of the proposal are answered and written down."),
    # -- X, beyond all sources
    ("X1", "Stock hosts suffice: a call is bound by peer credentials and process ancestry."),
    ("X2", "Real transcripts of all hosts give objective cards that agree with the corpus."),
    ("X3", "A result belongs to the call that ran the runner; printed summaries give none."),
    ("X4", "An enrollment may follow a growing file by proving each extension."),
    ("X5", "An anchor elsewhere refuses a complete restore."),
    ("X6", "One event can be proved offline with public keys alone."),
    ("X7", "Keys rotate by both signatures; an old generation under a new key is refused."),
    ("X8", "A third party's tampering suite is refused on the read path."),
    ("X9", "Hook, index, search and idle costs are measured as ratios within one run."),
    ("X10", "`timeline doctor` shows what really works, with the command that mends what does not."),
    ("X11", "After forgetting, no raw byte of the value is left in a file of ours."),
    ("X12", "What a reader may not see changes no byte of the answer."),
    ("X13", "The owner's key is apart and needs the owner's presence."),
    ("X14", "Not-found is said only where every event of the sources asked is accounted for."),
)


def _status(name: str) -> tuple[Status, str]:
    if name in HELD:
        return Status.HELD, ""
    if name in DIVERGES:
        return Status.DIVERGES, DIVERGES[name]
    if name in DEFERRED:
        return Status.DEFERRED, DEFERRED[name]
    return Status.OPEN, ""


REQUIREMENTS: tuple[Requirement, ...] = tuple(
    Requirement(name, sentence, *_status(name)) for name, sentence in _SENTENCES
)
