"""Maven's surefire and failsafe: ``[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0``, one per module.

Lines of a test class have more after the counts and are not added. The build's own word follows: ``BUILD SUCCESS`` or
``BUILD FAILURE``; a failed build without a failed test (a module that does not compile) is broken.
Source: ``DefaultReporterFactory`` and ``TestSetStats`` of apache/maven-surefire; ``ExecutionEventLogger`` of
apache/maven.
"""

from adapters.objective.recogniser import CommandForm, LazyPattern, Recogniser, Summary
from adapters.objective.text import Text

_LEVEL = r"(?:\[(?:INFO|WARNING|ERROR|WARN)\] {1,2})?"
_TOTAL = LazyPattern(
    rf"{_LEVEL}Tests run: (?P<run>[0-9]{{1,9}}), Failures: (?P<failures>[0-9]{{1,9}})"
    rf", Errors: (?P<errors>[0-9]{{1,9}}),"
    r" Skipped: (?P<skipped>[0-9]{1,9})(?:, Flakes: [0-9]{1,9})?"
)
_BUILD = LazyPattern(rf"{_LEVEL}BUILD (?P<word>SUCCESS|FAILURE)")
_NAMES = ("run", "failures", "errors", "skipped")
_MARKS = ("Tests run: ",)


def read(text: Text) -> tuple[Summary, ...]:
    """Return the sum over all modules, or nothing where none reported."""
    totals = [(at, found) for at, line in text.marked(*_MARKS) if (found := _TOTAL.fullmatch(line))]
    if not totals:
        return ()
    run, failures, errors, skipped = (sum(int(found[name]) for _, found in totals) for name in _NAMES)
    builds = [(at, found["word"]) for at, line in text.marked("BUILD ") if (found := _BUILD.fullmatch(line))]
    broken = any(word == "FAILURE" for _, word in builds) and not failures + errors
    return (
        Summary(
            last_line=max(totals[-1][0], *(at for at, _ in builds), 0),
            passed=run - failures - errors - skipped if run >= failures + errors + skipped else None,
            failed=failures,
            errors=errors,
            skipped=skipped,
            total=run,
            broken=int(broken),
            sound=run >= failures + errors + skipped,
            whole=len(builds) == 1,
        ),
    )


RECOGNISER = Recogniser(
    runner="surefire",
    form=CommandForm(
        programs=frozenset({"mvn", "mvnw", "mvnd"}),
        goals=frozenset({"test", "verify", "package", "install", "integration-test"}),
        value_options=frozenset("-pl --projects -f --file -P -T --threads -s --settings -rf -gs -l".split()),
        never=frozenset(
            "-DskipTests -Dmaven.test.skip -DskipITs --help -h --version -v -l --log-file".split()
        ),
    ),
    marks=_MARKS,
    starts=frozenset({"Te", "[I", "[W", "[E"}),
    read=read,
    sums=True,
)
