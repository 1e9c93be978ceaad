"""go test: one ``ok`` or ``FAIL`` line per package, and under ``-v`` one ``---`` line per test.

Packages are counted; passed, skipped and total exist only where ``-v`` printed them. Subtests (indented) are
counted with their parent. ``failed`` is known where failures are named or every package is ok. A package that does
not build is an error. ``[no test files]`` is neither ok nor failed. Source: ``cmd/go/internal/test/test.go`` and
``testing/testing.go`` of golang/go.
"""

import re

from adapters.objective.recogniser import CommandForm, LazyPattern, Recogniser, Summary, milliseconds
from adapters.objective.text import Text

_OK = LazyPattern(
    r"ok  ?\t(?P<package>[^\s]{1,400})\t(?:(?P<seconds>[0-9]{1,9}\.[0-9]{1,6})s|\(cached\))(?:[ \t].{0,200})?"
)
_FAIL = LazyPattern(
    r"FAIL\t(?P<package>[^\s]{1,400})"
    r"(?:\t(?P<seconds>[0-9]{1,9}\.[0-9]{1,6})s| (?P<broken>\[(?:build|setup) failed\]))(?:[ \t].{0,200})?"
)
_TEST = LazyPattern(r"--- (?P<word>PASS|FAIL|SKIP): [^\s]{1,400} \([0-9]{1,9}\.[0-9]{1,6}s\)")
_NOTHING = "[no tests to run]"
_RUN = LazyPattern(r"=== RUN {1,3}[^\s]{1,400}")
_MARKS = ("\t",)
"""A tab stands after the word: one character is found many times faster than several."""
_DETAILS = ("--- ", "=== RUN")


def read(text: Text) -> tuple[Summary, ...]:
    """Return the sum over all packages, or nothing where no package reported."""
    packages: list[re.Match[str]] = []
    tests = {"PASS": 0, "FAIL": 0, "SKIP": 0}
    verbose, last = False, 0
    for at, line in text.marked(*_MARKS):
        if found := _OK.fullmatch(line) or _FAIL.fullmatch(line):
            packages.append(found)
            last = at
    if not packages:
        return ()
    for _, line in text.marked(*_DETAILS):
        if test := _TEST.fullmatch(line):
            tests[test["word"]] += 1
        elif not verbose and _RUN.fullmatch(line):
            verbose = True
    return (_summary(packages, tests, last, verbose=verbose),)


def _summary(packages: list[re.Match[str]], tests: dict[str, int], last: int, *, verbose: bool) -> Summary:
    failing = [found for found in packages if found.group().startswith("FAIL")]
    broken = sum(found["broken"] is not None for found in failing)
    seconds = [found["seconds"] for found in packages if found["seconds"] is not None]
    names = [found["package"] for found in packages]
    # Without a named failure a failing package says only that something in it failed, or was not even run.
    unnamed = bool(failing) and not tests["FAIL"]
    # "ok … [no tests to run]" states a number: none.
    counted = verbose or all(_NOTHING in found.group() for found in packages)
    return Summary(
        last_line=last,
        passed=tests["PASS"] if counted else None,
        failed=None if unnamed else tests["FAIL"],
        skipped=tests["SKIP"] if counted else None,
        total=sum(tests.values()) if counted and not unnamed else None,
        packages_ok=len(packages) - len(failing),
        packages_failed=len(failing),
        duration_ms=sum(map(milliseconds, seconds)) if seconds else None,
        broken=broken,
        says_ok=not failing,
        sound=bool(failing) or not tests["FAIL"],
        # go test reports a package once: a second line is of another run.
        whole=len(set(names)) == len(names),
    )


RECOGNISER = Recogniser(
    runner="go",
    form=CommandForm(
        programs=frozenset({"go"}),
        subcommands=frozenset({"test"}),
        value_options=frozenset({"-C"}),
        never=frozenset(
            {"-list", "--list", "-c", "--c", "-n", "--n", "-h", "--help", "-help", "-json", "--json"}
        ),
    ),
    marks=_MARKS,
    starts=frozenset({"ok", "FA"}),
    read=read,
    sums=True,
)
