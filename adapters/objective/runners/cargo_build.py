"""cargo build, check and clippy: two closing lines per crate, one of its errors and one of its warnings.

``error: could not compile `p` (lib) due to 2 previous errors`` and ``warning: `p` (lib) generated 3 warnings``.
Warnings that cargo calls duplicates are counted once. cargo prints nothing to count when all is well.
Source: ``src/cargo/core/compiler/job_queue/mod.rs`` (``back_compat_notice``, ``report_warning_count``) of
rust-lang/cargo; ``rustc_session`` and ``rustc_errors`` of rust-lang/rust.
"""

from adapters.objective.recogniser import CommandForm, Kind, LazyPattern, Recogniser, Summary
from adapters.objective.text import Text

_FAILED = LazyPattern(
    r"error: could not compile `[^`]{1,200}` \(.{1,200}?\)"
    r"(?: due to (?:(?P<errors>[0-9]{1,9}) previous errors?|(?P<one>1 previous error|previous error)))?"
    r"(?:; (?P<warnings>[0-9]{1,9}) warnings? emitted)?"
)
_WARNED = LazyPattern(
    r"warning: `[^`]{1,200}` \(.{1,200}?\) generated (?P<warnings>[0-9]{1,9}) warnings?"
    r"(?: \((?:(?P<duplicates>[0-9]{1,9}) duplicates?|.{1,200})\))?.{0,400}"
)
_FINISHED = LazyPattern(r" {0,12}Finished `?\w{1,40}`?.{1,200} in .{1,40}")
_MARKS = ("error: could not compile", " generated ", "Finished ")


def read(text: Text) -> tuple[Summary, ...]:
    """Return the sum over all crates, or nothing where none reported and the build did not finish."""
    errors = warnings = last = 0
    failed = finished = unknown = False
    for at, line in text.marked(*_MARKS):
        if found := _FAILED.fullmatch(line):
            failed = True
            number = found["errors"] or ("1" if found["one"] else None)
            unknown = unknown or number is None
            errors += int(number or 0)
            warnings += int(found["warnings"] or 0)
        elif found := _WARNED.fullmatch(line):
            warnings += int(found["warnings"]) - int(found["duplicates"] or 0)
        elif _FINISHED.fullmatch(line):
            finished = True
        else:
            continue
        last = at
    if not (failed or finished):
        return ()
    return (
        Summary(
            last_line=last,
            errors=None if unknown else errors,
            warnings=max(warnings, 0),
            says_ok=not failed,
            sound=not (failed and finished),
        ),
    )


RECOGNISER = Recogniser(
    runner="cargo-build",
    form=CommandForm(
        programs=frozenset({"cargo"}),
        subcommands=frozenset({"build", "b", "check", "c", "clippy"}),
        value_options=frozenset({"--config", "-C", "-Z", "--color"}),
        never=frozenset({"--help", "-h", "--version", "-V", "--build-plan", "--unit-graph", "--keep-going"}),
    ),
    marks=_MARKS,
    starts=frozenset({"er", "wa", "Fi"}),
    read=read,
    kind=Kind.CHECK,
    sums=True,
    silent=True,
)
