"""What is already known and bears on a task: at most six confirmed items for one resumable capsule (W44 to W46). Pure.

The question is made of the capsule's own words and answered by comparing words; nothing is opened, nothing is
guessed, and the same state gives the same answer. Only what the reader may see, is in force, established and
disputed by nothing can be an item.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal

import msgspec

from sidecars.assertion import KnowledgeKind
from timeline.world.capsules import Capsule, continuation_context
from timeline.world.knowledge import Item, format_item, knowledge_items
from timeline.world.presentation import AUTHORITY
from timeline.world.standing import Standing

TASK_CONTEXT_SCHEMA: Final = "agentspine.task-knowledge-context/v1"

ITEMS_MAX: Final = 6
TERMS_MAX: Final = 64
TERM_CHARACTERS_MIN: Final = 3
MATCHES_MIN: Final = 2
"""Terms that an item must hold, or all of them where the question has fewer. All bounds here are the reference's."""

TERMS_BYTES_MAX: Final = 1024
"""Of the terms that an answer shows, in UTF-8; all of them are looked for. They must not displace the items."""

_WEIGHTS: Final[Mapping[KnowledgeKind | None, int]] = {
    "error-lesson": 40,
    "decision": 30,
    "user-preference": 20,
    "fact": 10,
}
"""What a kind adds to the score; kinds that are not here are never items."""

_MATCH_WEIGHT: Final = 100
_WORD: Final = re.compile(r"[^\W_]+")

# Without the marks on their letters, since terms have none.
_STOP_WORDS: Final = frozenset(
    (
        "about after all also and any are because been before but can could did does done for from get had has have "
        "her here him his how into its may must not now off once one only our out over own same she should some "
        "step such task than that the their them then there these they this those too under until use very was were "
        "what when where which who why will with would you your "
        "aber alle als also am auch auf aus bei bin bis bist damit dann das dass dem den denn der des die dies diese "
        "diesem diesen dieser dieses doch dort durch ein eine einem einen einer eines fur habe haben hat hatte hier "
        "ich ihm ihn ihr ihre ist jede jeder kann kein keine man mit muss nach nicht noch nun nur oder schon sein "
        "seine sich sie sind soll uber und uns unser vom von vor war warum was weil wenn wer wie wir wird wurde zum "
        "zur zwischen"
    ).split()
)

Status = Literal["not-requested", "unavailable", "terminal", "no-query", "no-match", "available"]


class Relevant(msgspec.Struct, frozen=True):
    """One confirmed item and the terms of the question that it holds, sorted."""

    item: Item
    matched_terms: tuple[str, ...]

    @property
    def score(self) -> int:
        """How much it bears on the question; a lesson more than a fact, another match more than either."""
        return _MATCH_WEIGHT * len(self.matched_terms) + _WEIGHTS[self.item.assertion.entry.knowledge]


class TaskContext(msgspec.Struct, frozen=True):
    """The answer: how it came out, of which task, for which terms, with which items, and how many more there were."""

    status: Status
    task: str | None = None
    terms: tuple[str, ...] = ()
    items: tuple[Relevant, ...] = ()
    omitted: int = 0


def task_context(standing: Standing, task: str | None, *, max_items: int = ITEMS_MAX) -> TaskContext:
    """What bears on a task, of all that stands for its reader. ``standing`` covers every subject.

    At most six items are given, however many ``max_items`` allows.
    """
    if task is None:
        return TaskContext("not-requested")
    context = continuation_context(standing, task=task)
    if (capsule := context.only) is None:
        return TaskContext("unavailable", task)
    if capsule.continuation.is_completed:
        return TaskContext("terminal", task)
    terms = query_terms(capsule)
    if not terms:
        return TaskContext("no-query", task)
    found = _relevant(knowledge_items(standing), terms)
    shown = found[: min(max_items, ITEMS_MAX)]
    status: Status = "available" if found else "no-match"
    return TaskContext(status, task, terms, shown, len(found) - len(shown))


def query_terms(capsule: Capsule) -> tuple[str, ...]:
    """The words of objective, next step and open questions, each once, in this order and at most 64."""
    continuation = capsule.continuation
    texts = [continuation.objective]
    if continuation.next_step is not None:
        texts.append(continuation.next_step.summary)
    texts += [question.question for question in continuation.open_questions]
    words = (word for text in texts for word in words_of(text) if word not in _STOP_WORDS)
    return tuple(dict.fromkeys(words))[:TERMS_MAX]


def words_of(text: str) -> Iterator[str]:
    """The words of a text in small letters and without marks; those shorter than three are left out."""
    plain = "".join(
        character for character in unicodedata.normalize("NFKD", text) if not unicodedata.combining(character)
    )
    return (word for word in _WORD.findall(plain.lower()) if len(word) >= TERM_CHARACTERS_MIN)


def format_task_context(context: TaskContext) -> dict[str, Any]:
    """The view in the reference's shape; each item is one of the typed view, with the terms that it matched."""
    return {
        "schema": TASK_CONTEXT_SCHEMA,
        "status": context.status,
        "taskId": context.task,
        "queryTerms": list(_shown(context.terms)),
        "items": [
            {**format_item(found.item), "relevance": {"matchedTerms": list(found.matched_terms)}}
            for found in context.items
        ],
        "omitted": context.omitted,
        "authority": AUTHORITY,
    }


def _shown(terms: tuple[str, ...]) -> Iterator[str]:
    """The first terms, as many as fit."""
    left = TERMS_BYTES_MAX
    for term in terms:
        left -= len(term.encode())
        if left < 0:
            return
        yield term


def _relevant(items: Iterable[Item], terms: tuple[str, ...]) -> tuple[Relevant, ...]:
    needed = min(MATCHES_MIN, len(terms))
    found = []
    for item in items:
        if item.status == "confirmed" and item.assertion.entry.knowledge in _WEIGHTS:
            matched = set(terms).intersection(words_of(_text_of(item)))
            if len(matched) >= needed:
                found.append(Relevant(item, tuple(sorted(matched))))
    return tuple(_once(sorted(found, key=_order)))


def _text_of(item: Item) -> str:
    entry = item.assertion.entry
    return " ".join((entry.subject, entry.predicate, entry.value, entry.reason or ""))


def _order(found: Relevant) -> tuple[int, int, str]:
    entry = found.item.assertion.entry
    return (-found.score, -entry.observed_at, entry.id)


def _once(found: Iterable[Relevant]) -> Iterator[Relevant]:
    """What says the same of the same is given once, by the first that does."""
    said = set()
    for one in found:
        entry = one.item.assertion.entry
        identity = (entry.knowledge, entry.subject, entry.predicate, entry.value)
        if identity not in said:
            said.add(identity)
            yield one
