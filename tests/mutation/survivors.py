"""Changes that no test notices, each with the reason why that is so.

Each of them leaves what the program does as it is. What a test could notice gets the test instead of a place here.
"""

from typing import TypeAlias

Change: TypeAlias = tuple[str, str, str]
"""The function with its module and class; the lines taken out and those put in, each joined by blanks."""

SAME_LENGTH = (
    "One side is made of the other, item by item, so that `strict` never has two lengths to compare."
)
KIND_OF_MARK = (
    "The kind of a mark only keeps it apart from those of other kinds, and the new word does that too."
)
ROOT_IS_KNOWN = "Only sources with a root come here; the other operand stands for the type checker alone."
SAME_DAY = "Ages are counted in whole days, and one millisecond is none of them, just as zero is."
NO_SUCH_ENTITY = (
    "An entity's id has a colon, so that this text names nobody and nobody's partner, as the empty one."
)
ALL_THE_SAME = "There are at least three names and all of them are the same, whichever of them is taken."
NO_SCORE_BEFORE = (
    "A score is never negative, so that from 0 or from a single millionth it cannot fall by DROP_MIN."
)
NO_MARK = "Of these crowds only one entity is asked for: sharing the mark None doubles both sides that are compared."
VOICE_NOT_ASKED = (
    "Of these crowds nobody asks for voices, so that it does not matter which voice a place has."
)

NO_SUCH_NUMBER = (
    "No vertices reach no count, and never more are needed than roots are wanted: it only costs time."
)


def _several(reason: str, function: str, removed: str, *added: str) -> dict[Change, str]:
    return {(function, removed, line): reason for line in added}


RESOLVER = {
    **_several(
        NO_SUCH_NUMBER,
        "timeline.reasoning.evaluation._fewest",
        "for size in range(1, wanted + 1):",
        "for size in range(1, wanted + 2):",
        "for size in range(wanted + 1):",
    ),
}

GRADING = {
    **_several(
        ALL_THE_SAME,
        "timeline.grading.anomalies.Anomalies._rings",
        "entity: names[0]",
        "entity: names[1]",
    ),
    **_several(
        ALL_THE_SAME,
        "timeline.grading.anomalies.Anomalies._rings",
        "if len(names) >= RING_MIN and len(set(names)) == 1 and names[0]",
        "if len(names) >= RING_MIN and len(set(names)) == 1 and names[1]",
    ),
    **_several(
        NO_SUCH_ENTITY,
        "timeline.grading.anomalies.Anomalies.add",
        'others = "" if len(entities) != 2 else next(iter(entities - {entity}))',
        'others = "XXXX" if len(entities) != 2 else next(iter(entities - {entity}))',
    ),
    **_several(
        NO_SCORE_BEFORE,
        "timeline.grading.anomalies._drops",
        "if before.get((row.entity, row.domain), 0) - row.score >= DROP_MIN",
        "if before.get((row.entity, row.domain), 1) - row.score >= DROP_MIN",
    ),
    **_several(
        VOICE_NOT_ASKED,
        "timeline.grading.assessment._near",
        "return Place(_ANYBODY, _ANYBODY, min(start, end - 1), end)",
        "return Place(None, _ANYBODY, min(start, end - 1), end)",
    ),
    **_several(
        NO_MARK,
        "timeline.grading.assessment._near",
        "return Place(_ANYBODY, _ANYBODY, min(start, end - 1), end)",
        "return Place(_ANYBODY, None, min(start, end - 1), end)",
    ),
    **_several(
        KIND_OF_MARK,
        "timeline.grading.assessment._place",
        'return Place(voices[source.root or ""], ("speaker", source.entity), *one.window)',
        'return Place(voices[source.root or ""], ("SPEAKER", source.entity), *one.window)',
        'return Place(voices[source.root or ""], ("XXspeakerXX", source.entity), *one.window)',
    ),
    **_several(
        ROOT_IS_KNOWN,
        "timeline.grading.assessment._place",
        'return Place(voices[source.root or ""], ("speaker", source.entity), *one.window)',
        'return Place(voices[source.root or "XXXX"], ("speaker", source.entity), *one.window)',
    ),
    **_several(
        SAME_DAY,
        "timeline.grading.credibility.decide_weight",
        "days = max(as_of - said_at, 0) // DAY_MS",
        "days = max(as_of - said_at, 1) // DAY_MS",
    ),
    **_several(
        ROOT_IS_KNOWN,
        "timeline.grading.fixpoint._values",
        'voice = voices[source.root or ""]',
        'voice = voices[source.root or "XXXX"]',
    ),
    **_several(
        SAME_LENGTH,
        "timeline.grading.grade._grade_claim",
        "composite=_combine(list(zip(claim.sources, sources, strict=True))).composite",
        "composite=_combine(list(zip(claim.sources, sources, ))).composite",
        "composite=_combine(list(zip(claim.sources, sources, strict=False))).composite",
        "composite=_combine(list(zip(claim.sources, sources, strict=None))).composite",
    ),
    **_several(
        SAME_LENGTH,
        "timeline.grading.grade._grade_value",
        "for pair in zip(one.claim.sources, claim.sources, strict=True)",
        "for pair in zip(one.claim.sources, claim.sources, )",
        "for pair in zip(one.claim.sources, claim.sources, strict=False)",
        "for pair in zip(one.claim.sources, claim.sources, strict=None)",
    ),
    **_several(
        SAME_LENGTH,
        "timeline.grading.grade._grade_values",
        "for one, grade in zip(claims, grades, strict=True):",
        "for one, grade in zip(claims, grades, ):",
        "for one, grade in zip(claims, grades, strict=False):",
        "for one, grade in zip(claims, grades, strict=None):",
    ),
    **_several(
        KIND_OF_MARK,
        "timeline.grading.independence.name_voices",
        'leader[find(("entity", source.entity))] = find(("root", source.root))',
        'leader[find(("ENTITY", source.entity))] = find(("root", source.root))',
        'leader[find(("XXentityXX", source.entity))] = find(("root", source.root))',
    ),
    **_several(
        KIND_OF_MARK,
        "timeline.grading.independence.name_voices",
        'leader[find(("session", source.session))] = find(("root", source.root))',
        'leader[find(("SESSION", source.session))] = find(("root", source.root))',
        'leader[find(("XXsessionXX", source.session))] = find(("root", source.root))',
    ),
    **_several(
        SAME_DAY,
        "timeline.grading.recompute._Tally.add",
        "self.stood += max(as_of - position.said_at, 0) // DAY_MS",
        "self.stood += max(as_of - position.said_at, 1) // DAY_MS",
    ),
}

SURVIVORS: dict[Change, str] = {**RESOLVER, **GRADING}
