"""Whose exit code a command line's is: by table, and against a real shell."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.objective import Run, invocation_of

PROVED = "must own"
RELATIONS = {
    "pytest": "must own",
    "cd x && pytest": "must own chained",
    "cd x; pytest": "must own chained",
    "cd x\npytest": "must own chained",
    "cd x || pytest": "own chained",
    "pytest && echo fine": "must",
    "pytest && npm run lint": "must",
    "pytest && true && true": "must",
    "cd x && pytest && true": "must chained",
    "pytest || true": "",
    "pytest || exit 1": "must",
    "pytest || { echo broken; exit 2; }": "must",
    "pytest || exit 1; echo done": "must",
    "pytest || { exit 2; }; echo done": "must",
    "pytest || (exit 2); echo done": "",
    "pytest || false": "must",
    "pytest || false; true": "",
    "pytest || exit 0": "",
    "pytest || exit 256": "",
    "pytest || exit $?": "",
    "pytest; echo done": "",
    "pytest; exit 0": "",
    "pytest\nexit": "",
    "exit 0 && pytest": "own chained",
    "exit; pytest": "own chained",
    "exit 1 && pytest": "must own chained",
    "true || exit; pytest": "own chained",
    "(exit 0); pytest": "must own chained",
    "(exit 0; pytest)": "own chained",
    "{ exit 0; }; pytest": "own chained",
    "bash -c 'exit 0'; pytest": "must own chained",
    "exec pytest": "must own",
    "exec ruff check -q; pytest": "own chained",
    "pytest & wait": "",
    "pytest &": "",
    "(pytest) & wait": "",
    "! pytest": "",
    "! pytest && true": "",
    "! ! pytest": "must own",
    "time pytest": "must own",
    "(pytest)": "must own",
    "{ pytest; }": "must own",
    "(cd x && pytest)": "must own chained",
    "(pytest; true)": "",
    "if pytest; then true; fi": "",
    "if true; then pytest; fi": "own chained",
    "if false; then true; else pytest; fi": "own chained",
    "if true; then pytest; true; fi": "chained",
    "pytest | tail -3": "filtered",
    "pytest |& tail -3": "filtered",
    "pytest 2>&1 | tail -n 20": "filtered",
    "pytest 2>&1 | tail -n +5": "filtered",
    "pytest | tee log": "",
    "pytest | cat": "",
    "pytest | grep -E 'passed|failed'": "filtered",
    "pytest | tee log | tail -3": "filtered",
    "set -o pipefail; pytest | tee log": "must chained",
    "set -o pipefail && pytest | tee log": None,
    "set -o pipefail; pytest | tail -1": "must filtered chained",
    "set -eo pipefail; pytest | tee log; echo done": "must chained",
    "set -euo pipefail\npytest | tee log\necho done": "must chained",
    "set -o pipefail; set +o pipefail; pytest | tee log": "chained",
    "set -e; pytest; echo done": "must chained",
    "set -e; pytest && true; echo done": "chained",
    "set -e; set +e; pytest; echo done": "chained",
    "set -e; (pytest; true)": "chained",
    "set -e; ! pytest; true": "chained",
    "set -ex; pytest; true": "must chained",
    "bash -ec 'pytest; true'": "must chained",
    "bash -e -o pipefail -c 'pytest | tee log; true'": "must chained",
    "bash -c 'pytest; true'": "",
    "bash -c 'pytest' && true": "must",
    "bash -c 'set -e; pytest; true'": "must chained",
    "cd x && bash -c 'set -e; pytest; true'": None,
    "pytest > log": "must own hidden",
    "pytest &> log": "must own hidden",
    "pytest > log; cat log": "",
    "pytest > log && cat log": "must",
    "pytest > log 2>&1; tail -20 log": "filtered",
    'pytest > log 2>&1; echo "exit: $?"; tail -20 log': "filtered",
    "pytest > log; grep passed log | head -3": "filtered",
    "pytest > log; tail -20 log; exit 1": "filtered",
    'pytest; rc=$?; echo "rc=$rc"; exit $rc': "",
    'pytest | tail -3; echo "${PIPESTATUS[0]}"': "filtered",
    "cat > a.py <<'EOF'\nprint('12 passed in 0.52s')\nEOF\npytest": "must own chained",
    "X=1; pytest": "must own chained",
    "export X=1 && pytest": "must own chained",
    'cd "$(git rev-parse --show-toplevel)" && pytest': "must own chained",
    "mkdir -p a && cp b a && rm -rf c && pytest": "must own chained",
    "git add -A && git commit -qm 'x\ny' && pytest": "must own chained",
    "ruff format . && pytest": "must own chained",
    "pip install -q -e . && pytest": "must own chained",
    "make clean && npm run -s build && pytest": "must own chained",
    "timeout 60 pytest": "must own limited",
    "timeout -k 5 2m pytest": "must own limited",
    # what could have printed the summary
    "cat log; pytest": None,
    "cat log && pytest": None,
    "pytest; cat log": None,
    "pytest > log; cat other": None,
    "pytest >> log; cat log": None,
    "pytest > log; cd ..; cat log": None,
    "pytest > log; mv old log; cat log": None,
    "pytest > log & cat log": None,
    "pytest > log; cat log; cat log": None,
    "cat log; pytest > log": None,
    "pytest > log; tail -c 17 log": None,
    "pytest > log; grep -o '11 passed.*' log": None,
    "pytest > $LOG; cat $LOG": None,
    "pytest | sed s/failed/passed/": None,
    "pytest | awk '{print}'": None,
    "pytest | cut -d, -f2": None,
    "pytest | sort": None,
    "pytest | grep -o '11 passed.*'": None,
    "pytest | grep -c passed": None,
    "pytest | grep passed log": None,
    "pytest | tail -3 log": None,
    "pytest | cat log": None,
    "pytest | cat - log": None,
    "pytest | head -c 20": None,
    "pytest | tail -c 20": None,
    "pytest | tee /dev/stderr": None,
    "pytest | tail -3 < log": None,
    "pytest | xargs echo": None,
    "pytest | less": None,
    "pytest | python filter.py": None,
    "cat tests.txt | pytest": None,
    "echo y | pytest": None,
    "(cat log) | pytest": None,
    "pytest; echo '12 passed in 0.52s'": None,
    "echo '===== 12 passed in 0.52s =====' && pytest": None,
    "printf '12 passed in 0.52s\\n'; pytest": None,
    "printf '%s' x; pytest": None,
    "echo -e 'a\\tb'; pytest": None,
    "echo $RESULT; pytest": None,
    'echo "$(cat log)"; pytest': None,
    "rc=$?; rc='12 passed in 0.52s'; echo $rc; pytest": None,
    "printf -v rc x; pytest; echo $rc": None,
    "echo *; pytest": None,
    "echo {1,2}; pytest": None,
    "cat <<EOF\n12 passed in 0.52s\nEOF\npytest": None,
    "pytest <<EOF\nx\nEOF\ncat log": None,
    "cd 'a\n12 passed in 0.52s\n'; pytest": None,
    'cd "$(cat log)"; pytest': None,
    "X='a\n12 passed in 0.52s'; cd $X; pytest": None,
    "ls; pytest": None,
    "git diff && pytest": None,
    "git log -p; pytest": None,
    "git stash show -p; pytest": None,
    "git status -v; pytest": None,
    "date '+12 passed in 0.52s'; pytest": None,
    "prettier a.md; pytest": None,
    "black --diff .; pytest": None,
    "pylint --msg-template='12 passed in 0.52s' a; pytest": None,
    "cmake -E echo '12 passed in 0.52s'; pytest": None,
    "npm run print-log && pytest": None,
    "./deploy.sh && pytest": None,
    "python x.py && pytest": None,
    "source run.sh && pytest": None,
    "set; pytest": None,
    "set -v; pytest": None,
    "trap 'exit 0' EXIT; pytest": None,
    "alias pytest=cat; pytest": None,
    "eval pytest": None,
    "PS4=; set -x; pytest": None,
    "PS4='' bash -c x; pytest": None,
    "export PS4=x; pytest": None,
    "pytest $(cat options)": None,
    'pytest "$(cat options)"': None,
    'OUT=$(pytest); echo "$OUT"': None,
    "pytest 'a\n12 passed in 0.52s'": None,
    "docker run x pytest": None,
    "xargs pytest": None,
    "sudo pytest": None,
    "watch pytest": None,
}  # fmt: skip


def spelled(run: Run) -> str:
    """Return the relation of a run as the table spells it."""
    names = ("must", "own", "filtered", "hidden", "chained", "limited")
    return " ".join(name for name in names if getattr(run, name))


@pytest.mark.requirement("X3")
@pytest.mark.parametrize(("command", "relation"), RELATIONS.items())
def test_a_line_says_whose_its_exit_code_is(command: str, relation: str | None) -> None:
    """X3: what proves a run, what only shows it, and what could have printed its summary."""
    found = invocation_of(command)
    runs = [run for run in found.runs if run.tests] if found is not None else []
    assert (spelled(runs[0]) if runs else None) == relation


# -- against a real shell --------------------------------------------------------------------------------------

PLAIN = st.sampled_from(["true", "false", "cd .", "echo x", "exit 0", "exit 3", "wait", "A=1"])


def joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Build lines from lines."""
    two = st.tuples(inner, inner)
    return st.one_of(
        two.map(" && ".join),
        two.map(" || ".join),
        two.map("; ".join),
        two.map("\n".join),
        two.map(lambda pair: f"{pair[0]} & {pair[1]}"),
        inner.map(lambda one: f"({one})"),
        inner.map(lambda one: f"{{ {one}\n}}"),
        inner.map(lambda one: f"! ({one})"),
        inner.map(lambda one: f"({one}) | cat"),
        inner.map(lambda one: f"({one}) | tail -n 3"),
        st.tuples(inner, inner, inner).map(lambda three: "if {}\nthen {}\nelse {}\nfi".format(*three)),
    )


LINES = st.tuples(
    st.sampled_from(["", "set -e; ", "set -o pipefail; ", "set -eo pipefail\n"]),
    st.recursive(PLAIN | st.just("pytest"), joined, max_leaves=5),
).map("".join)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder whose ``pytest`` notes that it ran and ends with the code that it is told."""
    folder = tmp_path_factory.mktemp("programs")
    script = folder / "pytest"
    script.write_text('#!/bin/sh\necho ran >> "$RAN"\nexit "$CODE"\n', encoding="utf-8")
    script.chmod(0o755)
    return folder


@given(line=LINES, code=st.sampled_from([0, 1, 5]))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_claimed_of_an_exit_code_is_true_in_a_real_shell(
    programs: Path, tmp_path: Path, line: str, code: int
) -> None:
    """``must``: 0 means that it ran and ended with 0. ``own``: once it ran, the line's code is its own."""
    found = invocation_of(line)
    if found is None or len(found.runs) > 1:
        return
    ran = tmp_path / "ran"
    ran.unlink(missing_ok=True)
    env = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "RAN": str(ran), "CODE": str(code)}
    done = subprocess.run(["bash", "-c", line], env=env, capture_output=True, check=False)
    (run,) = found.runs
    if run.must and done.returncode == 0:
        assert ran.exists()
        assert code == 0
    if run.own and ran.exists():
        assert done.returncode == code
    if run.own and run.must and not run.chained:
        assert ran.exists()
