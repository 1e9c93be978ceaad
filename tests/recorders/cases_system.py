"""What ctest, rspec, PHPUnit, bats and prove are made to print."""

from tests.recorders.case import Case, meaning

CMAKE = (
    "cmake_minimum_required(VERSION 3.10)\nproject(p NONE)\nenable_testing()\n"
    "add_test(NAME one COMMAND ${CMAKE_COMMAND} -E true)\n"
)
BAD = "add_test(NAME two COMMAND ${CMAKE_COMMAND} -E false)\n"
SKIP = (
    'add_test(NAME skip COMMAND sh -c "exit 77")\nset_tests_properties(skip PROPERTIES SKIP_RETURN_CODE 77)\n'
    "add_test(NAME off COMMAND ${CMAKE_COMMAND} -E true)\nset_tests_properties(off PROPERTIES DISABLED TRUE)\n"
)
CONFIGURE = "cmake -B build . > /dev/null && "
CTEST = [
    Case("pass", {"CMakeLists.txt": CMAKE}, "ctest --test-dir build",
         meaning("pass", passed=1, failed=0, skipped=0, total=1), runs=CONFIGURE + "ctest --test-dir build"),
    Case("fail", {"CMakeLists.txt": CMAKE + BAD}, "cd build && ctest --output-on-failure -j 2",
         meaning("fail", passed=1, failed=1, skipped=0, total=2),
         runs=CONFIGURE + "cd build && ctest --output-on-failure -j 2"),
    Case("skipped", {"CMakeLists.txt": CMAKE + SKIP}, "ctest --test-dir build",
         meaning("pass", passed=1, failed=0, skipped=1, total=2), runs=CONFIGURE + "ctest --test-dir build"),
    Case("script", {"CMakeLists.txt": CMAKE + BAD}, "make -C build test",
         meaning("fail", passed=1, failed=1, skipped=0, total=2), runs=CONFIGURE + "make -C build test"),
    Case("nothing", {"CMakeLists.txt": CMAKE}, "ctest --test-dir build -R nothing", meaning("unknown", "partial"),
         runs=CONFIGURE + "ctest --test-dir build -R nothing"),
    Case("list", {"CMakeLists.txt": CMAKE}, "ctest --test-dir build -N", None,
         runs=CONFIGURE + "ctest --test-dir build -N"),
]  # fmt: skip

SPEC = "RSpec.describe('x') do\n  it('a') { expect(1).to eq(1) }\n"
RSPEC = [
    Case("pass", {"spec/a_spec.rb": SPEC + "end\n"}, "bundle exec rspec",
         meaning("pass", passed=1, failed=0, errors=0, skipped=0, total=1), runs="rspec"),
    Case("mixed", {"spec/a_spec.rb": SPEC + "  it('b') { expect(1).to eq(2) }\n  it('c')\nend\n"}, "rspec",
         meaning("fail", passed=1, failed=1, errors=0, skipped=1, total=3)),
    Case("colour", {"spec/a_spec.rb": SPEC + "  it('b') { expect(1).to eq(2) }\nend\n"}, "bin/rspec --force-color",
         meaning("fail", passed=1, failed=1, errors=0, skipped=0, total=2), runs="rspec --force-color"),
    Case("does-not-load", {"spec/a_spec.rb": "raise 'x'\n"}, "rspec",
         meaning("error", passed=0, failed=0, errors=1, skipped=0, total=0)),
    Case("nothing", {"x.rb": ""}, "rspec", meaning("skipped", passed=0, failed=0, errors=0, skipped=0, total=0)),
    Case("dry", {"spec/a_spec.rb": SPEC + "end\n"}, "rspec --dry-run", None),
]  # fmt: skip

PHP = "<?php\nuse PHPUnit\\Framework\\TestCase;\nclass ATest extends TestCase {\n"
PHP_OK = PHP + "  public function testA() { $this->assertTrue(true); }\n"
CONVERTED = meaning("error", passed=1, failed=0, errors=1, skipped=0, total=2)
"""PHPUnit 9 makes warnings and notices exceptions; later versions remark on them."""


def triggers(kind: str) -> str:
    """Return a test class of which one of two tests makes PHP report something."""
    return (
        PHP_OK
        + f"  public function testB() {{ trigger_error('x', E_USER_{kind}); $this->assertTrue(true); }}\n}}\n"
    )


PHPUNIT = [
    Case("pass", {"tests/ATest.php": PHP_OK + "}\n"}, "vendor/bin/phpunit tests",
         meaning("pass", passed=1, failed=0, errors=0, skipped=0, total=1), runs="phpunit tests"),
    Case("fail", {"tests/ATest.php": PHP_OK + "  public function testB() { $this->assertTrue(false); }\n}\n"},
         "php vendor/bin/phpunit tests", meaning("fail", passed=1, failed=1, errors=0, skipped=0, total=2),
         runs="phpunit tests"),
    Case("error", {"tests/ATest.php": PHP_OK + "  public function testB() { throw new Exception('x'); }\n}\n"},
         "phpunit tests", meaning("error", passed=1, failed=0, errors=1, skipped=0, total=2)),
    Case("skipped", {"tests/ATest.php": PHP_OK + "  public function testB() { $this->markTestSkipped('x'); }\n"
                     "  public function testC() { $this->markTestIncomplete('x'); }\n}\n"}, "phpunit tests",
         meaning("pass", passed=1, failed=0, errors=0, skipped=2, total=3)),
    Case("risky", {"tests/ATest.php": PHP_OK + "  public function testB() { }\n}\n"}, "phpunit tests",
         meaning("pass", passed=2, failed=0, errors=0, skipped=0, total=2)),
    Case("deprecation", {"tests/ATest.php": triggers("DEPRECATED")}, "phpunit tests",
         meaning("pass", passed=2, failed=0, errors=0, skipped=0, total=2)),
    Case("notice", {"tests/ATest.php": triggers("NOTICE")}, "phpunit tests",
         meaning("pass", passed=2, failed=0, errors=0, skipped=0, total=2), older=CONVERTED),
    Case("warning", {"tests/ATest.php": triggers("WARNING")}, "phpunit tests",
         meaning("pass", passed=2, failed=0, errors=0, skipped=0, total=2), older=CONVERTED),
    Case("fails-on-warning", {"tests/ATest.php": triggers("WARNING")}, "phpunit --fail-on-warning tests",
         meaning("unknown", "inconsistent", passed=2, failed=0, errors=0, skipped=0, total=2), older=CONVERTED),
    Case("class-without-tests", {"tests/ATest.php": PHP_OK + "}\n", "tests/BTest.php": PHP.replace("ATest", "BTest")
                                 + "}\n"}, "phpunit tests",
         meaning("unknown", "inconsistent", failed=0, errors=0, skipped=0, total=1),
         older=meaning("pass", failed=0, errors=0, skipped=0, total=2)),
    Case("failure-and-remarks", {"tests/ATest.php": triggers("WARNING").replace("true", "false")}, "phpunit tests",
         meaning("fail", failed=2, errors=0, skipped=0, total=2),
         older=meaning("fail", passed=0, failed=1, errors=1, skipped=0, total=2)),
    Case("does-not-load", {"tests/ATest.php": "<?php\nthrow new Exception('x');\n"}, "phpunit tests",
         meaning("error")),
    Case("colour", {"tests/ATest.php": PHP_OK + "}\n"}, "phpunit --colors=always tests",
         meaning("pass", passed=1, failed=0, errors=0, skipped=0, total=1)),
    Case("nothing", {"tests/x.php": "<?php\n"}, "phpunit tests",
         meaning("skipped", passed=0, failed=0, errors=0, skipped=0, total=0)),
    Case("list", {"tests/ATest.php": PHP_OK + "}\n"}, "phpunit --list-tests tests", None),
]  # fmt: skip

BATS = "@test 'a' {\n  true\n}\n"
PROVE = 'print "1..2\\nok 1 - a\\n{} 2 - b\\n";\n'
TAP = [
    Case("bats", {"t/a.bats": BATS + "@test 'b' {\n  skip\n}\n"}, "bats t",
         meaning("pass", passed=1, failed=0, skipped=1, total=2)),
    Case("bats-fails", {"t/a.bats": BATS + "@test 'b' {\n  false\n}\n"}, "bats --tap t/a.bats",
         meaning("fail", passed=1, failed=1, skipped=0, total=2)),
    Case("prove", {"t/a.t": PROVE.format("ok")}, "prove", meaning("pass", failed=0, total=2)),
    Case("prove-fails", {"t/a.t": PROVE.format("not ok")}, "prove -v", meaning("fail", total=2)),
    Case("prove-nothing", {"x": ""}, "prove", meaning("error")),
]  # fmt: skip
