"""cargo test: one ``running N tests`` and one ``test result:`` line per target, which are added up.

An ignored test is skipped; a measured one (a bench run as test) is counted in ``total`` only. A target that began
and printed no result (it aborted) leaves the sum partial. Source: ``library/test/src/formatters/pretty.rs`` of
rust-lang/rust.
"""

from adapters.objective.recogniser import CommandForm, LazyPattern, Recogniser, Summary, milliseconds
from adapters.objective.text import Text

_RUNNING = LazyPattern(r"running [0-9]{1,9} tests?")
_RESULT = LazyPattern(
    r"test result: (?P<word>ok|FAILED)\. (?P<passed>[0-9]{1,9}) passed; (?P<failed>[0-9]{1,9}) failed;"
    r" (?P<ignored>[0-9]{1,9}) ignored; (?P<measured>[0-9]{1,9}) measured; [0-9]{1,9} filtered out"
    r"(?:; finished in (?P<seconds>[0-9]{1,9}\.[0-9]{1,6})s)?"
)
_MARKS = ("test result: ",)
_COUNTS = ("passed", "failed", "ignored", "measured")


def read(text: Text) -> tuple[Summary, ...]:
    """Return the sum over all targets, or nothing where no target reported."""
    results, last = [], 0
    for at, line in text.marked(*_MARKS):
        if found := _RESULT.fullmatch(line):
            results.append(found)
            last = at
    if not results:
        return ()
    running = sum(_RUNNING.fullmatch(line) is not None for _, line in text.marked("running "))
    sums = {name: sum(int(found[name]) for found in results) for name in _COUNTS}
    seconds = [found["seconds"] for found in results]
    return (
        Summary(
            last_line=last,
            passed=sums["passed"],
            failed=sums["failed"],
            skipped=sums["ignored"],
            total=sum(sums.values()),
            duration_ms=None if None in seconds else sum(map(milliseconds, seconds)),
            says_ok=all(found["word"] == "ok" for found in results),
            sound=all((found["word"] == "ok") == (int(found["failed"]) == 0) for found in results),
            # Behind a filter no target is announced; where some are, each must have reported.
            whole=running in {0, len(results)},
        ),
    )


RECOGNISER = Recogniser(
    runner="cargo",
    form=CommandForm(
        programs=frozenset({"cargo"}),
        subcommands=frozenset({"test", "t"}),
        value_options=frozenset({"--config", "-C", "-Z", "--color"}),
        never=frozenset({"--no-run", "--help", "-h", "--version", "-V", "--list", "--build-plan"}),
    ),
    marks=_MARKS,
    starts=frozenset({"te"}),
    read=read,
    sums=True,
)
