"""Claims that an agent makes in its own words: tests, builds and checks that passed, counts, and work that is done.

A HEURISTIC (N1, P36). It reads English and German by closed lists of words and a few patterns over them, and takes
what it does not understand for no claim: precision comes before recall. How often it is wrong is measured by
``python -m tests.reasoning.extraction``; the figures and every known error are in docs/extraction.md.

A unit says what is claimed and nothing of the words: a kind, counts, a program's name from a closed list, and a place.
Pure; time grows with the text alone, and no more than ``prose.TEXT_CHARACTERS_MAX`` characters of it are read.
"""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Final, Literal

import msgspec

from timeline.reasoning.claim_words import NOW, PAST_VETOES, SENTENCE_VETOES, TITLE_VETOES
from timeline.reasoning.prose import Sentence, sentences
from timeline.reasoning.tagging import Tagged, tag

Extent = Literal["all", "partial"]


class UnitKind(StrEnum):
    """What is claimed."""

    TESTS_PASSED = "tests-passed"
    TESTS_FAILED = "tests-failed"
    COUNT = "count"
    BUILD_PASSED = "build-passed"
    CHECK_PASSED = "check-passed"
    COMPLETED = "completed"


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """One claim, and where it stands: ``start`` and ``end`` are characters of the text.

    ``passed``, ``failed``, ``skipped`` are counts of tests, ``part`` of something else (``count``); ``total`` is what
    either is said to be a part of. A number that was not said is ``None``. ``scope`` is the program that is named, or
    ``lint``, ``types`` or ``format``. ``extent`` is ``None`` where neither all nor a part is spoken of.
    """

    kind: UnitKind
    start: int
    end: int
    passed: int | None = None
    failed: int | None = None
    skipped: int | None = None
    part: int | None = None
    total: int | None = None
    scope: str | None = None
    extent: Extent | None = None


def extract(text: str) -> tuple[Unit, ...]:
    """The claims of a text, in the order of their beginning (P36, P38)."""
    return tuple(unit for sentence in sentences(text) for unit in _of_sentence(sentence))


# -- one sentence ----------------------------------------------------------------------------------------------


def _of_sentence(sentence: Sentence) -> list[Unit]:
    if sentence.ending == "?" or not TITLE_VETOES.isdisjoint(sentence.under):
        return []
    if any(token.text in SENTENCE_VETOES for token in sentence.tokens):
        return []
    tagged = tag(sentence)
    if "X" in tagged.letters:
        return []
    found: list[Unit] = []
    for units in (_runs(tagged), _checks(tagged), _builds(tagged), _shares(tagged), _completions(tagged)):
        for unit in units:
            if not any(unit.start < other.end and other.start < unit.end for other in found):
                found.append(unit)
    kept = [unit for unit in found if not _is_of_the_past(tagged, unit)]
    return _merged(sorted(kept, key=lambda unit: unit.start))


def _is_of_the_past(tagged: Tagged, unit: Unit) -> bool:
    """Whether a word of another moment stands before, with no ``now`` or semicolon between."""
    past = False
    for token in tagged.tokens:
        if token.start >= unit.end:
            break
        if token.text in PAST_VETOES:
            past = True
        elif token.text in NOW or token.text == ";":
            past = False
    return past


def _merged(units: list[Unit]) -> list[Unit]:
    """What one sentence says twice of its tests is one claim; so is what it says twice of being done."""
    kept: list[Unit] = []
    for unit in units:
        before = next((other for other in kept if _are_one(other, unit)), None)
        if before is None:
            kept.append(unit)
        else:
            kept[kept.index(before)] = _joined(before, unit)
    return kept


def _are_one(one: Unit, other: Unit) -> bool:
    if one.kind is not other.kind or one.kind in {UnitKind.CHECK_PASSED, UnitKind.COUNT}:
        return False
    pairs = ((getattr(one, name), getattr(other, name)) for name in _SAID)
    return all(left is None or right is None or left == right for left, right in pairs)


_SAID: Final = ("passed", "failed", "skipped", "total", "scope", "extent")


def _joined(one: Unit, other: Unit) -> Unit:
    said = {
        name: getattr(one, name) if getattr(one, name) is not None else getattr(other, name) for name in _SAID
    }
    return msgspec.structs.replace(one, end=max(one.end, other.end), **said)


# -- tests -----------------------------------------------------------------------------------------------------

_LEFT: Final = (
    r"(?:(?<![^,;:&(\-])|(?<=^p[wdcWTKRNU])|(?<=^p[wdcWTKRNU]{2})|(?<=^p[wdcWTKRNU]{3})"
    r"|(?<=^p[wdcWTKRNU]{4}))"
)
"""A clause begins here: at the start, after a mark or a conjunction, or after a few words as in "With this change"."""

_RIGHT: Final = r"(?=[,;:&()p<!\-]|$)"
"""A clause ends here."""

_WHOLLY: Final = r"(?=[,;:&()<~\-]|$)"
"""A clause ends here, and nothing follows that restricts it."""

_TESTS: Final = r"(?P<tests>d?[KR]*T|R(?=[aBPGLF]))"
_ITEM: Final = re.compile(
    r"(?:(?P<share>NOd?d?N|S)|(?P<all>d?A(?:Od)?d?N?)|(?P<some>d?M(?:Od?)?)|(?P<none>x(?:Od?)?)|(?P<number>d?N)|)"
    rf"(?:{_TESTS}(?P<place>p[dwcK]{{1,4}})?)?"
    r"[aBH]*(?:(?P<good>P|L[aG]*Q)|(?P<bad>F|sa*f)|(?P<green>(?:[nD]a*)?G)|(?P<red>r)|(?P<skip>Z))"
    r"(?P<after>[KR]*T)?a*"
)
"""One part of what is said of a run: "all 214 tests pass", "2 failed", "no failures"."""

_LEAD: Final = re.compile(rf"{_LEFT}a*(?:(?:d?[KR]*[Tu]|R)a*[nDHt]a*p?|=B)")
_BARE: Final = re.compile(rf"{_LEFT}a*")
_JOIN: Final = re.compile(r"[,;&(]{0,2}p?")
_END: Final = re.compile(_RIGHT)
_INVERTED: Final = re.compile(rf"{_LEFT}La*d?(?P<all>A)?d?(?P<number>N)?[KR]*T[aG]*Q{_RIGHT}")
_EXCEPT: Final = re.compile(rf"{_LEFT}a*(?:A&NOd?[KR]*T|Ad?N?[KR]*T!(?:[wcdqKN]){{1,5}})[aB]*[PG]{_RIGHT}")
_THEY: Final = re.compile(rf"{_LEFT}a*(?:j?(?P<all>A)|(?P<every>E)|j)[aB]*[PG]a*{_RIGHT}")
_RAN: Final = re.compile(rf"{_LEFT}a*(?:[JR]n)?d?N[KR]*T(?=[,:;&(\-]A?[aB]*[PG])")


def _runs(tagged: Tagged) -> Iterator[Unit]:
    letters, scope = tagged.letters, tagged.scope_of("R")
    for found in _EXCEPT.finditer(letters):
        yield _unit(tagged, UnitKind.TESTS_PASSED, found.span(), scope=scope, extent="partial")
    for found in _INVERTED.finditer(letters):
        passed = None if found["number"] is None else tagged.numbers[found.start("number")][0]
        extent: Extent | None = "all" if found["all"] else None
        yield _unit(tagged, UnitKind.TESTS_PASSED, found.span(), passed=passed, scope=scope, extent=extent)
    for found in _RAN.finditer(letters):
        passed = tagged.numbers[letters.index("N", found.start())][0]
        yield _unit(tagged, UnitKind.TESTS_PASSED, found.span(), passed=passed, scope=scope)
    position = 0
    while position < len(letters):
        run = _run_at(tagged, position)
        if run is not None:
            yield run[0]
        position = position + 1 if run is None else run[1]
    for found in _THEY.finditer(letters):
        if "T" in letters[: found.start()]:
            extent = "all" if found["all"] or found["every"] else None
            yield _unit(tagged, UnitKind.TESTS_PASSED, found.span(), scope=scope, extent=extent)


def _run_at(tagged: Tagged, position: int) -> tuple[Unit, int] | None:
    """What is said of a run from here on, and where that ends."""
    for begin in (_LEAD.match(tagged.letters, position), _BARE.match(tagged.letters, position)):
        if begin is None:
            continue
        items, end = _items_at(tagged, begin.end())
        unit = _run_of(tagged, (begin.end(), end), items)
        if unit is not None:
            return unit, end
    return None


def _items_at(tagged: Tagged, position: int) -> tuple[list[re.Match[str]], int]:
    items: list[re.Match[str]] = []
    end = at = position
    while (item := _ITEM.match(tagged.letters, at)) is not None and _is_whole(item):
        if _END.match(tagged.letters, item.end()) is None and _ITEM.match(tagged.letters, item.end()) is None:
            break
        if _is_narrated(tagged, item):
            return [], position
        items.append(item)
        end = item.end()
        joined = _JOIN.match(tagged.letters, end)
        at = end if joined is None else joined.end()
    return items, end


def _is_whole(item: re.Match[str]) -> bool:
    """Whether it says what passed or failed: tests, or a bare number of them."""
    if item["tests"] or item["after"]:
        return not (item["none"] and (item["good"] or item["green"]))
    is_counted = item["number"] is not None or item["none"] is not None
    return is_counted and (item["good"] or item["bad"] or item["skip"]) is not None and "H" not in item[0]


def _is_narrated(tagged: Tagged, item: re.Match[str]) -> bool:
    """Whether it tells why something failed, or that it once did: a story of what was mended, and no result."""
    if item["bad"] is None or item["none"] is not None:
        return False
    if tagged.letters[item.end() : item.end() + 1] == "<":
        return True
    is_counted = item["number"] is not None or item["share"] is not None
    return not is_counted and tagged.tokens[item.end("bad") - 1].text in _FAILED


_FAILED: Final = frozenset({"failed", "fehlgeschlagen"})


def _run_of(tagged: Tagged, span: tuple[int, int], items: Sequence[re.Match[str]]) -> Unit | None:
    counts: dict[str, int] = {}
    extents: set[Extent] = set()
    failing = False
    for item in items:
        failing = _take(tagged, item, counts, extents) or failing
    if not items or all(item["skip"] for item in items):
        return None
    if "!" in tagged.letters[span[1] :]:
        extents.add("partial")
    extent: Extent | None = "partial" if "partial" in extents else "all" if "all" in extents else None
    return _unit(
        tagged,
        UnitKind.TESTS_FAILED if failing else UnitKind.TESTS_PASSED,
        span,
        scope=tagged.scope_of("R"),
        extent=None if failing else extent,
        **counts,
    )


def _take(tagged: Tagged, item: re.Match[str], counts: dict[str, int], extents: set[Extent]) -> bool:
    """Add what one part says; whether it says that something failed."""
    is_bad = item["bad"] is not None or item["red"] is not None
    name = "failed" if is_bad else "skipped" if item["skip"] else "passed"
    if item["share"]:
        part, total = _share(tagged, item.start("share"), item.end("share"))
        counts |= {name: part, "total": total}
        extents.add("all" if part == total else "partial")
    elif item["none"]:
        if item["tests"] is None:
            counts[name] = 0
        if is_bad:
            extents.add("all")
        return False
    else:
        numbered = [
            tagged.numbers[place] for place in range(item.start(), item.end()) if tagged.letters[place] == "N"
        ]
        if numbered and name not in counts:
            counts[name] = numbered[0][0]
    if item["some"] or item["place"]:
        extents.add("partial")
    elif item["all"]:
        extents.add("all")
    return is_bad


def _share(tagged: Tagged, start: int, end: int) -> tuple[int, int]:
    numbers = [number for place in range(start, end) for number in tagged.numbers[place]]
    return numbers[0], numbers[-1]


# -- checks and builds -----------------------------------------------------------------------------------------

_PASSES: Final = r"[aB]*(?:P|G|L[aG]*Q)"
_CHECK: Final = re.compile(
    rf"{_LEFT}a*d?(?P<all>A)?(?P<list>d?[CkRTU](?:,?&?d?[CkRTU])*)(?::?{_PASSES}|(?:a*[tnD]p?|:)x[CkK]?[eWF])G?a*{_RIGHT}"
)
_NO_ERRORS: Final = re.compile(rf"{_LEFT}a*=Bx(?P<list>C)ea*{_RIGHT}")
_BUILD: Final = re.compile(rf"{_LEFT}a*d?(?P<what>[UV])(?:{_PASSES}|a*[nD]a*G)G?a*{_RIGHT}")
_COMPILES: Final = re.compile(rf"{_LEFT}a*(?:d[wWU]{{1,2}}|j)a*[bU]a*G{_RIGHT}")


def _checks(tagged: Tagged) -> Iterator[Unit]:
    for pattern in (_CHECK, _NO_ERRORS):
        for found in pattern.finditer(tagged.letters):
            if "C" in found["list"] or "k" in found["list"] or len(found["list"].strip("d")) > 1:
                yield from _listed(tagged, found)


def _listed(tagged: Tagged, found: re.Match[str]) -> Iterator[Unit]:
    """One unit for each name of a list that shares its verb."""
    extent: Extent | None = "all" if found.groupdict().get("all") else None
    first, last = found.span("list")
    for place in range(first, last):
        kind = _LISTED.get(tagged.letters[place])
        if kind is not None:
            yield _unit(tagged, kind, (place, place + 1), scope=tagged.scopes[place], extent=extent)


_LISTED: Final = {
    "C": UnitKind.CHECK_PASSED,
    "k": UnitKind.CHECK_PASSED,
    "R": UnitKind.TESTS_PASSED,
    "T": UnitKind.TESTS_PASSED,
    "U": UnitKind.BUILD_PASSED,
}


def _builds(tagged: Tagged) -> Iterator[Unit]:
    for pattern in (_BUILD, _COMPILES):
        for found in pattern.finditer(tagged.letters):
            yield _unit(tagged, UnitKind.BUILD_PASSED, found.span(), scope=tagged.scope_of("V"))


# -- shares and completion -------------------------------------------------------------------------------------

_PART: Final = r"(?:NOd?d?N|S)"
_SHARES: Final = (
    re.compile(rf"{_LEFT}a*(?P<share>{_PART})[wWKe]{{1,3}}[BH]+a*[Dm]{_RIGHT}"),
    re.compile(rf"{_LEFT}a*(?P<share>{_PART})WD{_RIGHT}"),
    re.compile(rf"{_LEFT}a*JH?a*[Dm](?P<share>{_PART})[wWe]{{1,3}}"),
)

_SUBJECT: Final = r"(?P<subject>[dEAjNMW][dwWcNTUkeYpqCA]{0,8})"
_DONE: Final = (
    re.compile(r"^[a&]*A?(?P<done>D)(?=[,:\-]|$)"),
    re.compile(rf"{_LEFT}a*J(?:H?a*(?P<did>D)(?!p)|Ba*(?P<done>D){_WHOLLY})"),
    re.compile(rf"{_LEFT}a*(?:JH|HJ)[^,;:&vBH?xJ]{{0,12}}(?P<done>D){_WHOLLY}"),
    re.compile(r"^(?P<did>D)(?=[dcNA])"),
    re.compile(rf"{_LEFT}a*{_SUBJECT}[HB]+a*(?P<done>D)a*{_WHOLLY}"),
    re.compile(rf"{_LEFT}a*{_SUBJECT}B[aw~]{{0,3}}(?P<done>D){_WHOLLY}"),
    re.compile(rf"{_LEFT}a*B(?P<subject>E)a*(?P<done>D){_WHOLLY}"),
    re.compile(rf"^d?(?P<subject>[WE])(?P<done>D){_WHOLLY}"),
)
_ADJECTIVES: Final = frozenset({"complete", "fertig"})
"""Words for what is done that say nothing of who did it: "we have complete coverage"."""

_ENDING: Final = frozenset({"done", "finished", "completed"})
"""Words after which a doing may stand that is no piece of work: "I have finished reading"."""

_MAKING: Final = frozenset({"implemented", "implementiert", "umgesetzt"})
"""Said of anything that is made; other words are believed only of work: the size of a buffer is fixed, too."""


def _shares(tagged: Tagged) -> Iterator[Unit]:
    for pattern in _SHARES:
        for found in pattern.finditer(tagged.letters):
            part, total = _share(tagged, found.start("share"), found.end("share"))
            extent: Extent = "all" if part == total else "partial"
            yield _unit(tagged, UnitKind.COUNT, found.span(), part=part, total=total, extent=extent)


def _completions(tagged: Tagged) -> Iterator[Unit]:
    for pattern in _DONE:
        found = next(
            (match for match in pattern.finditer(tagged.letters) if _is_completion(tagged, match)), None
        )
        if found is not None:
            subject = found.groupdict().get("subject") or ""
            is_all = (
                "E" in subject or subject.startswith("A") or tagged.letters[found.end() :].startswith("A")
            )
            yield _unit(tagged, UnitKind.COMPLETED, found.span(), extent="all" if is_all else None)
            return


def _is_completion(tagged: Tagged, found: re.Match[str]) -> bool:
    groups = found.groupdict()
    if groups.get("did"):
        word = tagged.tokens[found.start("did")].text
        after = tagged.tokens[found.end("did")].text if found.end("did") < len(tagged.tokens) else ""
        is_of_doing = word in _ENDING and after.endswith("ing")
        return word not in _ADJECTIVES and not is_of_doing
    subject = groups.get("subject")
    if subject is None:
        return True
    is_made = tagged.tokens[found.start("done")].text in _MAKING
    return is_made or subject == "j" or any(letter in subject for letter in "WEe")


def _unit(tagged: Tagged, kind: UnitKind, span: tuple[int, int], **said: object) -> Unit:
    first, last = span
    place = {"kind": kind, "start": tagged.start(first), "end": tagged.end(last)}
    return msgspec.convert({**place, **said}, Unit)
