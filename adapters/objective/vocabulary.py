"""The closed vocabulary of search: canonical terms and the English and German words for them.

Words are compared after NFKC and case folding (``fold``). Tolerance for typing errors belongs to search and is not
here. The order of ``CANONICAL_TERMS`` is part of stored projections (a term is a bit position): new terms go to
the end, none is ever removed or moved.
"""

import unicodedata
from collections.abc import Iterable, Mapping
from types import MappingProxyType

MAX_TERMS = 64
"""Terms are bit positions of a 64-bit integer."""

LABEL_TERM = "label"
"""Stands for any ``suite-N`` label in the terms; the label itself is compared as text."""

CANONICAL_TERMS: tuple[str, ...] = (
    # kinds
    "test-run",
    "measurement",
    # outcomes
    "pass",
    "fail",
    "error",
    "timeout",
    "blocked",
    "skipped",
    "cancelled",
    "unknown",
    # runners
    "pytest",
    "unittest",
    "cargo",
    "go",
    "jest",
    "vitest",
    "measured-suite",
    # bindings
    "direct",
    "script",
    # flags
    "masked",
    "inconsistent",
    "truncated",
    "partial",
    "conflict",
    # tool class and label
    "shell",
    LABEL_TERM,
    # later kinds and runners, in the order in which they came
    "check",
    "nextest",
    "mocha",
    "node",
    "bun",
    "tap",
    "surefire",
    "gradle",
    "ctest",
    "rspec",
    "phpunit",
    "dotnet",
    "tsc",
    "mypy",
    "ruff",
    "eslint",
    "cargo-build",
    "go-build",
    # what a person typed: a reference has the first and one of the others
    "user",
    "message",
    "correction",
)
"""Every term an event can have, in bit order."""

_WORDS: Mapping[str, str] = {
    "test-run": "test tests testing testrun test-run testlauf testlaeufe testläufe prüfung pruefung prüfungen"
    " durchlauf suite suites objective ergebnis result",
    "measurement": "measure measured measurement measurements messung messungen gemessen messwert benchmark",
    "pass": "pass passed passes passing ok success successful succeeded green bestanden erfolg erfolgreich grün",
    "fail": "fail failed fails failing failure failures red fehlgeschlagen gescheitert durchgefallen rot",
    "error": "error errors errored crash crashed fehler fehlerhaft abgestürzt absturz",
    "timeout": "timeout timed-out timeouts zeitüberschreitung zeitablauf",
    "blocked": "blocked denied refused blockiert gesperrt verweigert abgelehnt",
    "skipped": "skipped skip skips ignored übersprungen ausgelassen ignoriert",
    "cancelled": "cancelled canceled aborted interrupted abgebrochen unterbrochen abbruch",
    "unknown": "unknown unclear uncertain unbekannt unklar ungewiss",
    "pytest": "pytest py.test",
    "unittest": "unittest",
    "cargo": "cargo rust",
    "go": "go golang",
    "jest": "jest",
    "vitest": "vitest",
    "measured-suite": "measured-suite",
    "direct": "direct direkt",
    "script": "script skript",
    "masked": "masked verdeckt",
    "inconsistent": "inconsistent widersprüchlich",
    "truncated": "truncated shortened gekürzt abgeschnitten",
    "partial": "partial incomplete teilweise unvollständig",
    "conflict": "conflict conflicting konflikt widerspruch",
    "shell": "shell command befehl kommando exec bash",
    LABEL_TERM: "label suite-label bezeichnung",
    "check": "check checks checked lint linter typecheck type-check build compile verdict kontrolle typprüfung"
    " übersetzung bau statisch",
    "nextest": "nextest cargo-nextest",
    "mocha": "mocha",
    "node": "node node:test nodejs node-test",
    "bun": "bun bun-test",
    "tap": "tap tape bats prove",
    "surefire": "surefire failsafe maven mvn junit",
    "gradle": "gradle gradlew",
    "ctest": "ctest cmake",
    "rspec": "rspec",
    "phpunit": "phpunit",
    "dotnet": "dotnet vstest",
    "tsc": "tsc typescript",
    "mypy": "mypy",
    "ruff": "ruff",
    "eslint": "eslint",
    "cargo-build": "cargo-build cargo-check clippy",
    "go-build": "go-build go-vet vet",
    "user": "user users human nutzer benutzer anwender",
    "message": "message messages prompt prompts nachricht nachrichten",
    "correction": "correction corrections korrektur korrekturen",
}


def fold(word: str) -> str:
    """Return the form in which words are compared: NFKC, case-folded, NFKC again."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold())


def _synonyms() -> Mapping[str, str]:
    return MappingProxyType({fold(word): term for term, words in _WORDS.items() for word in words.split()})


SYNONYMS: Mapping[str, str] = _synonyms()
"""Folded word to canonical term; every canonical term maps to itself."""


def terms_of(words: Iterable[str]) -> int:
    """Return the set of canonical terms as bits, in the order of ``CANONICAL_TERMS``.

    Raises: ``KeyError`` for a word that is not a canonical term.
    """
    bits = 0
    for word in words:
        bits |= 1 << _POSITION[word]
    return bits


_POSITION = {term: position for position, term in enumerate(CANONICAL_TERMS)}
