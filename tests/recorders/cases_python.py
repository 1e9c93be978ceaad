"""What pytest, unittest, mypy and ruff are made to print."""

import sys

from tests.recorders.case import Case, check, meaning


def py(outcome: str, *flags: str, **numbers: int) -> dict[str, object]:
    """Return an expectation for pytest, which leaves out what is zero."""
    zero = dict.fromkeys(("passed", "failed", "errors", "skipped", "total"), 0)
    return meaning(outcome, *flags, **{**zero, **numbers})


TWO = "def test_a():\n    assert True\n\ndef test_b():\n    assert True\n"
ONE_OF_TWO = "def test_a():\n    assert True\n\ndef test_b():\n    assert 1 == 2\n"
MIXED = """import pytest, warnings
def test_pass(): warnings.warn("w")
def test_fail(): assert 0
@pytest.mark.skip
def test_skip(): pass
@pytest.mark.xfail
def test_xfail(): assert 0
@pytest.mark.xfail
def test_xpass(): pass
@pytest.fixture
def bad(): raise ValueError
def test_error(bad): pass
"""
OLD_LOG = 'def test_a():\n    print("\\n=========== 12 passed in 0.52s ===========")\n    assert {}\n'
PYTEST = [
    Case("two", {"test_x.py": TWO}, "pytest", py("pass", passed=2, total=2)),
    Case("quiet", {"test_x.py": TWO}, "pytest -q", py("pass", passed=2, total=2)),
    Case("colour", {"test_x.py": TWO}, "python -m pytest --color=yes", py("pass", passed=2, total=2)),
    Case("one-of-two", {"test_x.py": ONE_OF_TWO}, "pytest -q", py("fail", passed=1, failed=1, total=2)),
    Case(
        "mixed",
        {"test_x.py": MIXED},
        "uv run pytest -v",
        py("fail", passed=1, failed=1, errors=1, skipped=1, total=6),
    ),
    Case("all-skipped", {"test_x.py": "import pytest\npytestmark = pytest.mark.skip\n" + TWO}, "pytest",
         py("skipped", skipped=2, total=2)),
    Case("only-expected-failure",
         {"test_x.py": "import pytest\n@pytest.mark.xfail\ndef test_a(): assert 0\n"}, "pytest",
         py("skipped", total=1)),
    Case("nothing-collected", {"x.py": ""}, "pytest", py("skipped")),
    Case("all-deselected", {"test_x.py": TWO}, "pytest -k nothing", py("skipped")),
    Case("some-deselected", {"test_x.py": TWO}, "pytest -k test_a", py("pass", passed=1, total=1)),
    Case("does-not-import", {"test_x.py": "import nothing_of_this_name\n"}, "pytest", py("error", errors=1, total=1)),
    Case("fixture-error", {"test_x.py": "import pytest\n@pytest.fixture\ndef f(): raise ValueError\n"
                           "def test_a(f): pass\n"}, "pytest -q", py("error", errors=1, total=1)),
    Case("interrupted", {"test_x.py": "def test_a(): pass\ndef test_b(): raise KeyboardInterrupt\n"}, "pytest",
         py("cancelled", passed=1, total=1)),
    Case("max-fail", {"test_x.py": ONE_OF_TWO + "def test_c(): pass\n"}, "pytest -x",
         py("fail", passed=1, failed=1, total=2)),
    Case("parallel", {"test_x.py": TWO}, "pytest -n 2", py("pass", passed=2, total=2)),
    Case("subtests", {"test_x.py": "def test_a(subtests):\n    for i in range(3):\n        with subtests.test(i=i):\n"
                      "            assert i\n"}, "pytest", py("fail", failed=2, total=2)),
    Case("subtests-pass", {"test_x.py": "def test_a(subtests):\n    with subtests.test(i=1):\n        pass\n"},
         "pytest", py("pass", passed=1, total=1)),
    Case("very-quiet", {"test_x.py": TWO}, "pytest -qq", meaning("unknown", "partial")),
    Case("unknown-option", {"test_x.py": TWO}, "pytest --no-such-option", meaning("error")),
    Case("not-installed", {"test_x.py": TWO}, "python -m pytest", meaning("error"),
         runs="{base_python} -I -S -m pytest"),
    Case("version", {}, "pytest --version", None),
    Case("collect-only", {"test_x.py": TWO}, "pytest --collect-only -q", None),
    Case("prints-an-old-summary-and-passes", {"test_x.py": OLD_LOG.format(1)}, "pytest -s",
         py("unknown", "inconsistent", passed=1, total=1)),
    Case("prints-an-old-summary-and-fails", {"test_x.py": OLD_LOG.format(0)}, "pytest",
         py("unknown", "inconsistent", failed=1, total=1)),
]  # fmt: skip

UNIT = "import unittest\nclass T(unittest.TestCase):\n"
UNITTEST = [
    Case("two", {"test_x.py": UNIT + "    def test_a(self): pass\n    def test_b(self): pass\n"}, "python -m unittest",
         meaning("pass", passed=2, failed=0, errors=0, skipped=0, total=2)),
    Case("verbose", {"test_x.py": UNIT + "    def test_a(self): pass\n"}, "python -m unittest -v test_x",
         meaning("pass", passed=1, failed=0, errors=0, skipped=0, total=1)),
    Case("fail-and-error", {"test_x.py": UNIT + "    def test_a(self): self.fail()\n    def test_b(self): 1/0\n"
                            "    def test_c(self): pass\n"}, "python3 -m unittest",
         meaning("fail", failed=1, errors=1, skipped=0, total=3)),
    Case("skip", {"test_x.py": UNIT + "    @unittest.skip('')\n    def test_a(self): pass\n"
                  "    def test_b(self): pass\n"}, "python -m unittest",
         meaning("pass", failed=0, errors=0, skipped=1, total=2)),
    Case("all-skipped", {"test_x.py": UNIT + "    @unittest.skip('')\n    def test_a(self): pass\n"},
         "python -m unittest", meaning("skipped", failed=0, errors=0, skipped=1, total=1)),
    Case("expected-failure", {"test_x.py": UNIT + "    @unittest.expectedFailure\n    def test_a(self): self.fail()\n"
                              "    def test_b(self): pass\n"}, "python -m unittest",
         meaning("pass", failed=0, errors=0, skipped=0, total=2)),
    Case("unexpected-success", {"test_x.py": UNIT + "    @unittest.expectedFailure\n    def test_a(self): pass\n"},
         "python -m unittest", meaning("fail", failed=1, errors=0, skipped=0, total=1)),
    Case("subtests", {"test_x.py": UNIT + "    def test_a(self):\n        for i in range(3):\n"
                      "            with self.subTest(i=i):\n                self.assertTrue(i < 1)\n"},
         "python -m unittest", meaning("fail", failed=2, errors=0, skipped=0, total=1)),
    Case("class-setup-error", {"test_x.py": UNIT + "    @classmethod\n    def setUpClass(cls): 1/0\n"
                               "    def test_a(self): pass\n"}, "python -m unittest",
         meaning("error", failed=0, errors=1, skipped=0, total=0)),
    Case("does-not-import", {"test_x.py": "import nothing_of_this_name\n"}, "python -m unittest",
         meaning("error", failed=0, errors=1, skipped=0, total=1)),
    Case("usage", {}, "python -m unittest --no-such-option", meaning("error")),
    Case("help", {}, "python -m unittest -h", None),
]  # fmt: skip
if sys.version_info < (3, 12):
    UNITTEST.append(Case("nothing", {"x.py": ""}, "python -m unittest",
                         meaning("skipped", passed=0, failed=0, errors=0, skipped=0, total=0)))  # fmt: skip

TYPED = "def f(x: int) -> str:\n    return x\n\nf('a')\n"
MYPY = [
    Case("clean", {"a.py": "def f(x: int) -> int:\n    return x\n"}, "mypy a.py", check("pass", errors=0)),
    Case("errors", {"a.py": TYPED}, "python -m mypy --strict .", check("fail", errors=2)),
    Case("colour", {"a.py": TYPED}, "uv run mypy --color-output --pretty a.py", check("fail", errors=2),
         env={"MYPY_FORCE_COLOR": "1", "TERM": "xterm-256color"}),
    Case("syntax", {"a.py": "def f(:\n"}, "mypy .", check("fail", errors=2), older=check("fail", errors=1)),
    Case("no-summary", {"a.py": TYPED}, "mypy --no-error-summary a.py", None),
    Case("usage", {}, "mypy --no-such-option", check("error")),
    Case("version", {}, "mypy --version", None),
    Case("piped", {"a.py": TYPED}, "mypy a.py | tail -1", check("unknown", "masked", errors=2)),
    Case("then-more", {"a.py": TYPED}, "mypy a.py && echo fine", check("fail", errors=2)),
]  # fmt: skip
UNUSED = "import os\nimport sys\n\nprint(undefined)\n"
RUFF = [
    Case("clean", {"a.py": "print(1)\n"}, "ruff check .", check("pass", errors=0)),
    Case("errors", {"a.py": UNUSED}, "ruff check", check("fail", errors=3)),
    Case("concise", {"a.py": UNUSED}, "uvx ruff check --output-format=concise .", None),
    Case("fix", {"a.py": UNUSED}, "ruff check --fix .", check("fail", errors=1)),
    Case("fix-all", {"a.py": "import os\n"}, "ruff check --fix .", check("pass", errors=0)),
    Case("exit-zero", {"a.py": UNUSED}, "ruff check --exit-zero .", None),
    Case("module", {"a.py": UNUSED}, "cd . && python -m ruff check a.py 2>&1", check("fail", errors=3)),
    Case("usage", {}, "ruff check --no-such-option", check("error")),
    Case("format", {"a.py": UNUSED}, "ruff format --check .", None),
]  # fmt: skip
