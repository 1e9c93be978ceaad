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
        "time pytest",
        "timeout 60 pytest",
        "timeout -k 5 1m python -m pytest",
        "coverage run -m pytest",
        "python -m coverage run --source=a -m pytest",
        "coverage run --branch -m pytest && coverage report",
        "xvfb-run -a pytest",
        "stdbuf -oL pytest",
        "! pytest",
        "pytest | tail -3",
        "(cd x; pytest)",
        "if pytest; then echo y; fi",
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
    "nextest": ["cargo nextest run", "cargo nextest r --workspace", "cargo +nightly nextest run -p x"],
    "mocha": ["npx mocha", "nyc mocha", "c8 --reporter=text mocha test", "cross-env A=b mocha",
              "node_modules/.bin/mocha -R dot", "npx mocha --watch=false"],
    "node": ["node --test", "node --test --test-reporter=tap test/", "node --import tsx --test a.ts",
             "tsx --test a.ts"],
    "bun": ["bun test", "bun test src/a.test.ts", "CI=1 bun --cwd x test -t name"],
    "tap": ["npx tape test/*.js", "prove -v t", "bats test", "tap"],
    "surefire": ["mvn test", "./mvnw -B -pl core clean verify", "mvn -DskipTests=false -o test", "mvn surefire:test"],
    "gradle": ["./gradlew test", "gradle :core:test --tests 'A.b'", "./gradlew clean check --no-daemon",
               "gradlew.bat test"],
    "ctest": ["ctest", "ctest --test-dir build -j 4", "cd build && ctest --output-on-failure"],
    "rspec": ["rspec", "bundle exec rspec spec/a_spec.rb:3", "bin/rspec", "ruby -S rspec"],
    "phpunit": ["phpunit", "vendor/bin/phpunit --filter x", "php vendor/bin/phpunit",
                "php -d memory_limit=-1 vendor/bin/phpunit"],
    "dotnet": ["dotnet test", "dotnet test --no-build -c Release a.sln"],
    "tsc": ["tsc", "npx tsc --noEmit", "npx tsc -p tsconfig.json", "pnpm exec vue-tsc --noEmit", "tsc -b"],
    "mypy": ["mypy .", "python -m mypy --strict a", "uv run mypy", "poetry run mypy src"],
    "ruff": ["ruff check", "ruff check --fix .", "python -m ruff check", "uv run ruff check ."],
    "eslint": ["npx eslint .", "yarn eslint --fix src", "eslint --max-warnings 0 ."],
    "cargo-build": ["cargo build", "cargo check --workspace", "cargo clippy -- -D warnings",
                    "cargo +nightly b --release"],
    "go-build": ["go build ./...", "go vet ./...", "CGO_ENABLED=0 go build -o x .", "go -C sub vet ./..."],
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
    "make lint test",
    "make -j4 clean check",
    "just lint test",
    "composer test",
    "rake spec",
    "ninja -C build test",
    "task test",
    "npm run lint",
    "npm run build",
    "make lint",
    "pnpm -r run typecheck",
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
    "cargo run test",
    "cargo bench",
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
    "npm run print-log",
    "npm run test:watch",
    "npm run dev:test",
    "make all test",
    "make -n test",
    "make --unknown test",
    "vitest --watch",
    "vitest watch",
    "vitest --ui",
    "jest --watchAll",
    "mocha --watch",
    "mocha -w",
    "bun test --watch",
    "node --test --watch",
    "node app.js --test",
    "node --test-reporter=tap app.js",
    "pytest -f",
    "tsc --watch",
    "tsc -w",
    "tsc --version",
    "gradle test -t",
    "gradle test -x test",
    "gradle tasks",
    "mvn -DskipTests package",
    "mvn -Dmaven.test.skip=true verify",
    "mvn compile",
    "mvn --version",
    "ctest -N",
    "rspec --dry-run",
    "phpunit --list-tests",
    "dotnet test --list-tests",
    "dotnet build",
    "cargo nextest list",
    "cargo nextest run --no-run",
    "mypy --no-error-summary .",
    "ruff check --exit-zero",
    "ruff check --statistics",
    "ruff format .",
    "ruff",
    "eslint --init",
    "go build -n",
    "go run .",
    "cargo fmt",
    "timeout pytest",
    "timeout soon pytest",
    "coverage report",
    "coverage html -m pytest",
    # a summary that could be another command's
    "cat old.log && pytest -qq",
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
    assert [(run.runner, run.binding) for run in found.runs] == [(runner, Binding.DIRECT)]


@pytest.mark.parametrize("command", SCRIPT)
def test_a_project_script_is_bound_to_the_script_and_names_no_runner(command: str) -> None:
    """The runner of ``npm test`` or ``make check`` is known only from its summary."""
    found = invocation_of(command)
    assert found is not None
    assert (found.runs[-1].runner, found.runs[-1].binding) == (None, Binding.SCRIPT)


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
    found = [invocation_of(command) for command in commands]
    assert {run.normalised for one in found if one is not None for run in one.runs} == {"pytest -k a"}


def test_a_line_with_several_runs_names_each() -> None:
    """Which of them is told is decided with the output at hand."""
    found = invocation_of("ruff check . && mypy src && pytest -q; npm test")
    assert found is not None
    assert [(run.runner, run.tests, run.checks) for run in found.runs] == [
        ("ruff", False, True),
        ("mypy", False, True),
        ("pytest", True, False),
        (None, True, False),
    ]


def test_exported_options_count_as_the_runners_own() -> None:
    """``export PYTEST_ADDOPTS=--collect-only`` runs nothing, wherever in the line it stands."""
    for line in (
        "export PYTEST_ADDOPTS=--co; pytest",
        "PYTEST_ADDOPTS=--co; pytest",
        "env PYTEST_ADDOPTS=--co pytest",
        "PYTEST_ADDOPTS=--co pytest",
        "PYTEST_ADDOPTS=--co bash -c pytest",
    ):
        assert invocation_of(line) is None


SIGNS = "&& || ; & | ! ( ) { } if then fi".split()


@given(
    st.lists(
        st.sampled_from(
            [*"uv run npx env python -m pytest npm test -- make -q A=b cd x @y".split(), *SIGNS, ""]
        )
    )
)
def test_any_words_give_an_invocation_or_none(words: list[str]) -> None:
    """Nothing is raised, as text and as an argument vector."""
    for command in (" ".join(words), words):
        found = invocation_of(command)
        assert found is None or all(run.words for run in found.runs)
