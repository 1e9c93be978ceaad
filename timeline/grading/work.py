"""How what is read in a work becomes a claim: the work's class decides intent, distance and verification (G25). Pure.

In fiction only what happens in the story is fictional. That a novel argues something, what its theme is, and what a
reader made of it are claims of their own about the work, as good as any.
"""

from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from sidecars.graded import MILLION, Claim, ClaimSource, Intent, Mutability, SourceType, WorkClass

Extract: TypeAlias = Literal["statement", "theme", "argument", "reaction"]
"""What was taken from a work: something that it states as so, what it is about, what it argues, or what a reader made
of it."""


class Work(NamedTuple):
    """A work or source document as it is catalogued. ``root`` is what its independence is counted on, if known."""

    id: str
    work_class: WorkClass
    author: str
    root: str | None
    verification: int | None


class _Rule(NamedTuple):
    intent: Intent
    source_type: SourceType


_RULES: Final[dict[WorkClass, _Rule]] = {
    "fiction": _Rule("fictional", "self"),
    "autobiography": _Rule("asserted", "observed"),
    "biography": _Rule("asserted", "secondhand"),
    "paper": _Rule("asserted", "observed"),
    "reference": _Rule("asserted", "cited"),
    "conversation": _Rule("asserted", "secondhand"),
    "data": _Rule("asserted", "observed"),
}
"""By what a statement in a work of a class is meant and how its author came to it, about somebody else. What the author
says of himself is a report of his own, at no distance."""


class Extracted(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was read in a work. ``reader`` says whose reaction it is, and is there for a reaction alone.

    ``intent`` is what the wording of a conversation or a text signals; it can only take belief away, never add it.
    """

    id: str
    extract: Extract
    subject: str
    key: str
    domain: str
    value: str
    mutability: Mutability
    said_at: int
    intent: Intent = "asserted"
    reader: str | None = None
    session: str | None = None


def decide_intent(work_class: WorkClass, extract: Extract, signalled: Intent) -> Intent:
    """What a claim was meant as: what the story of a work of fiction tells is fictional, whatever its wording."""
    rule = _RULES[work_class]
    return rule.intent if extract == "statement" and rule.intent != "asserted" else signalled


def decide_source(work: Work, found: Extracted) -> ClaimSource:
    """Who says a claim, from how far, and how well verified the work is.

    A reader's reaction is his own: neither the work's root nor its verification is behind it.
    """
    if found.reader is not None:
        return ClaimSource(entity=found.reader, source_type="self", session=found.session, root=found.session)
    own = found.extract != "statement" or found.subject == work.author
    source_type: SourceType = "self" if own else _RULES[work.work_class].source_type
    return ClaimSource(
        entity=work.author,
        source_type=source_type,
        hops=0 if source_type == "self" else 1,
        session=found.session,
        verification=work.verification,
        root=work.root,
    )


def make_claim(work: Work, found: Extracted) -> Claim:
    """The claim that something read in a work makes. Themes, arguments and reactions are about the work itself."""
    return Claim(
        id=found.id,
        subject=found.subject if found.extract == "statement" else work.id,
        key=found.key,
        domain=found.domain,
        value=found.value,
        intent=decide_intent(work.work_class, found.extract, found.intent),
        mutability=found.mutability,
        said_at=found.said_at,
        sources=(decide_source(work, found),),
    )


# -- verification ----------------------------------------------------------------------------------------------

RELIABILITY_MAX: Final = 5
CITATIONS_MAX: Final = 5
"""Citations beyond as many say nothing more."""


def decide_verification(
    *, reliability: int | None = None, peer_reviewed: bool | None = None, citations: int | None = None
) -> int | None:
    """V in millionths: the mean of what was assessed, ``None`` if nothing was (G9, G10).

    ``reliability`` is on the scale from 0 (failed) to 5. Peer review that was passed counts 0.8, one that was failed 0;
    ``citations`` count 0.5 and 0.1 for each up to five. Corroboration by others is no part of it: it is seen in the
    voices of a value, and would count twice.
    """
    assessed = []
    if reliability is not None:
        assessed.append(min(reliability, RELIABILITY_MAX) * MILLION // RELIABILITY_MAX)
    if peer_reviewed is not None:
        assessed.append(800_000 if peer_reviewed else 0)
    if citations is not None:
        assessed.append(500_000 + 100_000 * min(citations, CITATIONS_MAX))
    return sum(assessed) // len(assessed) if assessed else None
