"""Which commands run a reviewed runner, and which only look like it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.objective import Binding, invocation_of

DIRECT = {
    "pytest": [
        "pytest",
        "py.test -q",
        ".venv/bin/pytest -x tests/test_a.py::test_b",
        "python -m pytest",
        "python3.11 -B -X dev -m pytest -q",
        "C:\\\\venv\\\\python.exe -m pytest",
        "uv run pytest",
        "uv run --frozen --with pytest-xdist -p 3.12 python -m pytest -n 4",
        "uv run --extra=test -- pytest",
        "uv run -m pytest",
        "poetry run pytest -k 'a and b'",
        "pdm run pytest",
        "hatch run pytest",
        "pipenv run python -m pytest",
        "env A=b PYTHONPATH=src pytest",
        "A=b pytest",
        "cd sub && pytest -q 2>&1",
        "cd a && source .venv/bin/activate && export A=b && pytest",
        "nice -n 10 pytest",
        "bash -lc 'pytest'",
        "PYTEST_ADDOPTS=-q pytest",
    ],
    "unittest": ["python -m unittest", "python3 -W error -m unittest -v tests.test_a", "uv run python -m unittest"],
    "cargo": ["cargo test", "cargo t", "cargo +nightly test --workspace", "cargo --config x=1 test -- --nocapture"],
    "go": ["go test ./...", "go test -v -run 'TestA' ./pkg", "go -C sub test", "CGO_ENABLED=0 go test"],
    "jest": ["jest", "npx jest", "npx --yes jest@30.1.0 --ci", "yarn jest", "pnpm exec jest",
             "node node_modules/.bin/jest",
             "node --experimental-vm-modules node_modules/jest/bin/jest.js", "npm exec -- jest"],
    "vitest": ["vitest", "npx vitest run", "pnpm vitest run src", "pnpm --filter web exec vitest run", "bunx vitest",
               "bun x vitest", "yarn run vitest", "node_modules/.bin/vitest related a.ts"],
    "measured-suite": ["./measure", "python measure.py", "python3 tools/measure_all.py --all", "sh run-suite.sh",
                       "node suite.js", "uv run measure-it"],
}  # fmt: skip

SCRIPT = [
    "npm test",
    "npm t",
    "npm run test",
    "npm run -s test -- --pool=forks",
    "npm run test:unit",
    "npm --prefix web test",
    "npm -w web run test",
    "pnpm test",
    "pnpm --filter @scope/name test",
    "pnpm -r run test:ci",
    "yarn test",
    "yarn workspace web test",
    "bun run test",
    "make test",
    "make -C sub CC=clang check",
    "mise run test -- ./...",
    "just test",
    "npm run -s typecheck && npm run -s test",
    "cd web && npm test",
]

NOTHING = [
    # printers
    "cat build/last.log",
    "echo pytest -q",
    'echo "============ 12 passed in 0.52s ============"',
    "printf 'test result: ok. 9 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\\n'",
    "rg passed pytest.log",
    "grep -n passed pytest.log",
    "git show HEAD:pytest.log",
    "tail -f suite.log",
    "cat measure.py",
    "less suite.txt",
    "python -c 'print(\"12 passed in 0.52s\")'",
    "python -c \"import pytest; print('1 passed in 0.1s')\" -m pytest",
    "python - -m pytest",
    "node -e 'console.log(1)' jest",
    "which pytest",
    "man pytest",
    "pip install pytest",
    "uv pip install pytest",
    "npm install jest",
    "npm ci",
    "cargo build --test x",
    "cargo run test",
    "cargo bench",
    "go build ./test",
    "go vet ./...",
    # runners that run nothing
    "pytest --version",
    "pytest --help",
    "pytest --collect-only",
    "pytest --co -q",
    "pytest --fixtures",
    "PYTEST_ADDOPTS=--collect-only pytest",
    "python -m unittest -h",
    "cargo test --no-run",
    "cargo test -- --list",
    "cargo --version",
    "go test -list . ./...",
    "go test -list=. ./...",
    "go test -c",
    "go test -json ./...",
    "jest --listTests",
    "jest --version",
    "vitest list",
    "vitest bench",
    "vitest --version",
    "make -n test",
    "make --dry-run test",
    "make",
    "make all",
    "npm run build",
    "npm run print-log",
    # a summary that could be another command's
    "cat old.log && pytest -qq",
    "echo x && npm test",
    "source run.sh && pytest",
    "npm run print-log && pytest -qq",
    # unknown wrappers and options
    "sudo pytest",
    "xargs pytest",
    "docker run image pytest",
    "ssh host pytest",
    "script -c pytest",
    "watch pytest",
    "uv run --unknown pytest",
    "npx --unknown jest",
    "npx @other/jest",
    "python --unknown -m pytest",
    "bash pytest",
    "python tests/pytest",
    "pytest-benchmark compare",
    "mypytest",
    "unittest",
    "bun test",
    "$RUNNER",
]


@pytest.mark.requirement("X3")
@pytest.mark.parametrize(
    ("runner", "command"), [(runner, command) for runner, commands in DIRECT.items() for command in commands]
)
def test_a_command_that_starts_the_runner_is_bound_directly(runner: str, command: str) -> None:
    """X3: launchers, paths, interpreters, assignments and ``cd`` are understood."""
    found = invocation_of(command)
    assert found is not None
    assert (found.runner, found.binding) == (runner, Binding.DIRECT)


@pytest.mark.parametrize("command", SCRIPT)
def test_a_project_script_is_bound_to_the_script_and_names_no_runner(command: str) -> None:
    """The runner of ``npm test`` or ``make check`` is known only from its summary."""
    found = invocation_of(command)
    assert found is not None
    assert (found.runner, found.binding) == (None, Binding.SCRIPT)


@pytest.mark.requirement("X3", "T73")
@pytest.mark.parametrize("command", NOTHING)
def test_printers_dry_runs_and_unknown_wrappers_bind_nothing(command: str) -> None:
    """X3, T73: deny by default; what does not certainly run a reviewed runner is no invocation."""
    assert invocation_of(command) is None


def test_an_argument_vector_is_accepted() -> None:
    """Codex hands over ``["bash", "-lc", TEXT]`` or plain words."""
    assert invocation_of(["bash", "-lc", "pytest -q"]) == invocation_of("pytest -q")
    assert invocation_of(["pytest", "-q"]) == invocation_of("pytest -q")
    assert invocation_of(["bash", "-lc", "cat x | pytest"]) is None


def test_the_normalised_command_forgets_spacing_quoting_assignments_and_folders() -> None:
    """Two runs of the same suite are recognised as such by equal normalised commands."""
    commands = ("pytest  -k 'a'", "cd x && A=1 pytest -k a 2>&1", "bash -lc 'pytest -k a'")
    assert {found.normalised for command in commands if (found := invocation_of(command))} == {"pytest -k a"}


@given(
    st.lists(
        st.sampled_from([*"uv run npx env python -m pytest npm test -- make -q A=b && cd x @y".split(), ""])
    )
)
def test_any_words_give_an_invocation_or_none(words: list[str]) -> None:
    """Nothing is raised, as text and as an argument vector."""
    for command in (" ".join(words), words):
        found = invocation_of(command)
        assert found is None or found.words
