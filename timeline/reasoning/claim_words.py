"""The words that claims are told by, each with the one letter that it has in a pattern. Pure.

A heuristic: the closed lists below, English and German, are all that is known of either language. A word in no list has
the letter ``w``, which most patterns do not take, so that what is not understood is no claim.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_LISTS: Final = {
    "A": "all every each entire whole full alle allen sämtliche sämtlichen gesamte ganze komplette "
    "jeder jede",
    "E": "everything alles",
    "M": "most some several meisten manche einige",
    "d": (
        "the a an this these those my our its both new existing der die das den dem des diese dieser "
        "dieses ein eine "
        "einen einem meine unsere neue neuen beide beiden your"
    ),
    "K": "unit integration regression acceptance functional e2e",
    "T": "tests testcases suite testsuite test-suite specs testfälle unit-tests unittests "
    "integrationstests suiten",
    "u": "run testlauf lauf",
    "O": "of von",
    "P": "pass passes passed passing succeed succeeds succeeded bestehen besteht bestanden durchgelaufen",
    "G": "green clean cleanly successful successfully happy grün sauber erfolgreich fehlerfrei",
    "r": "red rot",
    "F": "fail fails failed failing failure failures fehlgeschlagen fehlschläge",
    "Z": "skipped übersprungen",
    "B": "is are was were been ist sind wurde wurden bin",
    "H": "has have had hat habe haben",
    "L": "laufen läuft liefen lief",
    "Q": "durch",
    "s": "schlagen schlägt",
    "f": "fehl",
    "&": "and but und aber so",
    "a": (
        "now again still already also too fully successfully finally jetzt nun noch wieder auch schon "
        "bereits vollständig "
        "therefore thus then locally both left remaining damit everywhere here cleanly as-is together"
    ),
    "D": (
        "done finished complete completed fixed resolved implemented solved fertig erledigt "
        "abgeschlossen behoben gelöst "
        "umgesetzt implementiert gefixt fertiggestellt"
    ),
    "m": "migrated converted ported updated closed covered translated umgestellt migriert konvertiert "
    "übersetzt",
    "W": (
        "bug bugs issue issues problem crash crashes leak leaks deadlock race regression feature "
        "features task tasks work "
        "job change changes migration refactoring refactor port implementation step steps subtask "
        "subtasks ticket todo "
        "todos fix fixes aufgabe aufgaben problem umstellung migration änderung änderungen absturz "
        "arbeit arbeiten "
        "schritt schritte schritten feature funktion implementierung umbau refaktorierung anforderung "
        "anforderungen"
    ),
    "e": "error errors problems warning warnings fehler fehlern probleme warnungen beanstandungen",
    "J": "i we ich wir",
    "Y": "you he she du er ihr",
    "j": "it this that es they these sie",
    "p": (
        "after with for in on under at from to nach mit für am im an auf unter without bei seit using "
        "via against of "
        "across"
    ),
    "x": "no none zero keine keiner keinen kein 0 null nothing",
    "y": "without ohne",
    "t": "report reports reported shows show found finds meldet meldete zeigt gives gave",
    "n": "ran runs run finishes ended ends exited lief endete finish reran re-ran",
    "b": "compiles builds compile kompiliert baut",
    "<": "because since as weil denn da",
    "!": "except außer ausser exception apart aside abgesehen ausgenommen",
    "~": "like wie",
    "=": "there",
    "U": "build builds compilation kompilierung",
    "k": "checks prüfungen check",
    "v": (
        "not never don't doesn't didn't isn't aren't wasn't weren't hasn't haven't won't can't cannot "
        "couldn't shouldn't "
        "wouldn't nicht nie niemals keineswegs kaum should would could might may must will shall need "
        "needs want wants "
        "plan plans going wird werde werden würde würden sollte sollten könnte könnten müsste muss "
        "müssen dürfte dürften "
        "darf soll sollen that dass who which whose please bitte make sure ensure verify check confirm "
        "say says said claim "
        "claims think thinks believe believes hope hopes expect expects expected guess assume assumes "
        "know knows doubt "
        "almost nearly partially partly mostly fast beinahe teilweise größtenteils scheint seems seem "
        "appears appear "
        "how many until by unless earlier previous previously former old vorher zuvor früher initially "
        "anfangs only just "
        "attempt attempts get let try unable zu"
    ),
}

LETTERS: Final[Mapping[str, str]] = MappingProxyType(
    {word.casefold(): letter for letter, words in reversed(_LISTS.items()) for word in words.split()}
)
"""The letter of a word; where two lists have it, the earlier one counts."""

CONTRACTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "i'm": "JB",
        "we're": "JB",
        "i've": "JH",
        "we've": "JH",
        "that's": "jB",
        "it's": "jB",
        "this's": "jB",
        "everything's": "EB",
    }
)
"""Words that stand for two."""

NUMBERS: Final[Mapping[str, int]] = MappingProxyType(
    {
        word: number
        for number, words in enumerate(
            (
                "one eins",
                "two zwei",
                "three drei",
                "four vier",
                "five fünf",
                "six sechs",
                "seven sieben",
                "eight acht",
                "nine neun",
                "ten zehn",
                "eleven elf",
                "twelve zwölf",
            ),
            start=1,
        )
        for word in words.split()
    }
)
"""Counts that people spell."""

RUNNERS: Final = frozenset(
    "pytest jest vitest cargo go npm yarn pnpm make mocha tox nox unittest gradle maven mvn dotnet "
    "phpunit rspec ctest "
    "bun nextest junit playwright cypress deno node".split()
)
"""Programs that run tests, and are a scope by their own name."""

AMBIGUOUS: Final = frozenset("cargo go npm yarn pnpm make bun deno node dotnet gradle mvn maven".split())
"""Those of them that do more than run tests: their next word decides."""

CHECKERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **{
            name: name
            for name in (
                "ruff mypy eslint tsc pyright clippy flake8 pylint black prettier biome shellcheck "
                "golangci-lint "
                "rubocop stylelint pyre isort"
            ).split()
        },
        "lint": "lint",
        "linter": "lint",
        "linting": "lint",
        "type": "types",
        "typprüfung": "types",
        "typen": "types",
        "type-check": "types",
        "typecheck": "types",
        "type-checker": "types",
        "typechecker": "types",
        "formatter": "format",
        "formatierung": "format",
        "formatting": "format",
    }
)
"""Programs that check, and what checks are called; each with the scope it stands for."""

CHECK_NOUNS: Final = frozenset("check checks checking checker checkers checks".split())
"""Words after ``type`` that belong to it."""

SENTENCE_VETOES: Final = frozenset(
    # conditions and hypotheses
    "if whether unless until once when whenever while suppose supposing assuming provided wenn sobald "
    "falls ob bis "
    "solange angenommen nachdem bevor ehe "
    # doubt
    "think believe guess probably presumably perhaps maybe hopefully likely apparently supposedly "
    "allegedly seemingly "
    "seems seem appears vermutlich wahrscheinlich vielleicht möglicherweise eventuell hoffentlich "
    "glaube denke vermute "
    "anscheinend angeblich wohl scheint offenbar "
    # what others say, and other runs
    "says said claims claimed claim according laut reportedly yesterday gestern upstream before "
    "previously previous "
    "earlier last letzten letzte letzter zuvor vorher früher damals ci "
    # aims and requests
    "please bitte ensure verify goal ziel expected should sollte sollten would würde".split()
)
"""Words that make every claim of their sentence doubtful, wherever they stand."""

TITLE_VETOES: Final = frozenset(
    "criteria acceptance todo todos next remaining plan plans planned checklist expected expectations requirements "
    "prerequisites open goals future later kriterien abnahmekriterien offen offene offener nächste nächster nächstes "
    "geplant erwartet voraussetzungen ziele später baseline before previously when if once until unless must should "
    "wenn sobald falls bis muss soll".split()
)
"""Words of a heading, or of the line before a list, under which nothing is said of how things stand."""

PAST_VETOES: Final = frozenset(
    "initially anfangs originally ursprünglich first zuerst vor main baseline".split()
)
"""Words that speak of another moment, up to the next ``now`` or semicolon."""

NOW: Final = frozenset("now jetzt nun inzwischen".split())
