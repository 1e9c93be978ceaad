"""gradle: ``BUILD SUCCESSFUL in 3s`` or ``5 tests completed, 1 failed, 1 skipped`` and ``BUILD FAILED in 2s``.

A build whose tests pass prints no number: what was tested is seen only from the tasks ``:test`` that ran, which are
counted as ok packages. A task that is up to date, skipped or without source ran nothing.
Source: ``TestCountLogger``, ``BuildResultLogger`` and ``GroupingProgressLogEventGenerator`` of gradle/gradle.
"""

from adapters.objective.recogniser import CommandForm, LazyPattern, Recogniser, Summary
from adapters.objective.text import Text

_COMPLETED = LazyPattern(
    r"(?P<total>[0-9]{1,9}) tests? completed(?:, (?P<failed>[0-9]{1,9}) failed)?(?:, (?P<skipped>[0-9]{1,9}) skipped)?"
)
_BUILD = LazyPattern(r"BUILD (?P<word>SUCCESSFUL|FAILED) in .{1,40}")
_TASK = LazyPattern(r"(?:> Task )?(?::[\w.-]{1,60}){0,8}:(?:\w{0,40}Test|test)(?P<failed> FAILED)?")
_MARKS = ("BUILD ",)


def read(text: Text) -> tuple[Summary, ...]:
    """Return the sum over all test tasks, or nothing without the build's own word."""
    builds = [(at, found["word"]) for at, line in text.marked(*_MARKS) if (found := _BUILD.fullmatch(line))]
    if not builds:
        return ()
    tasks = [found for _, line in text.marked("est") if (found := _TASK.fullmatch(line))]
    # A task's name may stand above its output and again below it.
    names = {found.group().removeprefix("> Task ").removesuffix(" FAILED") for found in tasks}
    failing = {
        found.group().removeprefix("> Task ").removesuffix(" FAILED") for found in tasks if found["failed"]
    }
    completed = [found for _, line in text.marked(" completed") if (found := _COMPLETED.fullmatch(line))]
    if not names and not completed:
        return ()
    failed = sum(int(found["failed"] or 0) for found in completed)
    succeeded = builds[-1][1] == "SUCCESSFUL"
    skipped = sum(int(found["skipped"] or 0) for found in completed)
    total = sum(int(found["total"]) for found in completed)
    # Only a failing task prints numbers; beside another one they are not the whole.
    known = bool(completed) and len(completed) == len(names)
    return (
        Summary(
            last_line=builds[-1][0],
            passed=total - failed - skipped if known and total >= failed + skipped else None,
            failed=failed if completed else (0 if succeeded else None),
            skipped=skipped if known else None,
            total=total if known else None,
            packages_ok=len(names - failing),
            packages_failed=len(failing),
            broken=int(not succeeded and not failing),
            says_ok=succeeded,
            sound=not (succeeded and failing) and total >= failed + skipped,
            whole=len(builds) == 1,
        ),
    )


RECOGNISER = Recogniser(
    runner="gradle",
    form=CommandForm(
        programs=frozenset({"gradle", "gradlew"}),
        goals=frozenset({"test", "check", "build", "integrationTest", "allTests", "connectedCheck"}),
        value_options=frozenset("-p --project-dir -b --build-file --tests -I --init-script -g".split()),
        never=frozenset("--dry-run -m -x --exclude-task --help -h -? --version -v --continuous -t --test-dry-run"
                        " --quiet -q".split()),
    ),
    marks=_MARKS,
    starts=frozenset({"BU"}),
    read=read,
    sums=True,
)  # fmt: skip
