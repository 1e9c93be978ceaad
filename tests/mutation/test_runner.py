import pytest

from tests.mutation.__main__ import _change, _configuration, main
from tests.mutation.targets import TARGETS

SHOWN = """# timeline.a.xǁCrowdǁcount__mutmut_7: survived
--- timeline/a.py
+++ timeline/a.py
@@ -1,4 +1,4 @@
 def count(self, place: Place) -> int:
-    if (
-        one
-    ):
+    if (
+        not one
+    ):
         return 0
"""


def test_a_change_is_named_as_it_is_listed() -> None:
    """By the function as its source spells it, and the lines without their indentation."""
    lines = ("if ( one ):", "if ( not one ):")
    assert _change("timeline.a.xǁCrowdǁcount__mutmut_7", SHOWN) == ("timeline.a.Crowd.count", *lines)
    assert _change("timeline.a.x__near__mutmut_12", SHOWN)[0] == "timeline.a._near"
    assert _change("timeline.a.x_xray__mutmut_1", SHOWN)[0] == "timeline.a.xray"


def test_slow_tests_are_left_out_by_name() -> None:
    """Each target gives its modules, its tests, and those of them that are not run."""
    for target in TARGETS:
        told = _configuration(target)
        assert all(f'"{name}"' in told for name in (*target.modules, *target.tests))
        assert all(f'"--deselect={name}"' in told for name in target.slow)


def test_targets_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """A name that is none of them runs nothing, and fails."""
    assert main(["--list"]) == 0
    listed = capsys.readouterr().out
    assert [line.partition(":")[0] for line in listed.splitlines()] == [target.name for target in TARGETS]
    assert main(["resolver", "no-such-target"]) == 2
    assert capsys.readouterr().out == listed
