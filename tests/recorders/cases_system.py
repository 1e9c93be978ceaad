"""What ctest, rspec, PHPUnit, bats, prove, maven and gradle are made to print."""

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

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>p</groupId><artifactId>p</artifactId><version>1</version>
<properties><maven.compiler.source>8</maven.compiler.source><maven.compiler.target>8</maven.compiler.target>
<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
<dependencies><dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.x</version>
<scope>test</scope></dependency></dependencies><build><plugins>
<plugin><artifactId>maven-resources-plugin</artifactId><version>3.3.0</version></plugin>
<plugin><artifactId>maven-compiler-plugin</artifactId><version>3.10.1</version></plugin>
<plugin><artifactId>maven-surefire-plugin</artifactId><version>2.22.3</version></plugin>
</plugins></build></project>
"""
OFFLINE = "mvn -o -B -s /etc/maven/settings-debian.xml -Dmaven.repo.local=/usr/share/maven-repo "
"""Debian's own repository holds the plugins in these versions."""
JAVA = "import org.junit.*;\npublic class ATest {\n  @Test public void a() {}\n"
MAVEN = "src/test/java/ATest.java"
SUREFIRE = [
    Case("pass", {"pom.xml": POM, MAVEN: JAVA + "}\n"}, "mvn test",
         meaning("pass", passed=1, failed=0, errors=0, skipped=0, total=1), runs=OFFLINE + "test"),
    Case("mixed", {"pom.xml": POM, MAVEN: JAVA + "  @Test public void b() { Assert.fail(); }\n"
                   "  @Test public void c() { throw new RuntimeException(); }\n"
                   "  @Ignore @Test public void d() {}\n}\n"},
         "./mvnw -B verify",
         meaning("fail", passed=1, failed=1, errors=1, skipped=1, total=4), runs=OFFLINE + "test"),
    Case("skipped", {"pom.xml": POM, MAVEN: JAVA + "  @Ignore @Test public void d() {}\n}\n"}, "mvn clean test",
         meaning("pass", passed=1, failed=0, errors=0, skipped=1, total=2), runs=OFFLINE + "test"),
    Case("does-not-build", {"pom.xml": POM, MAVEN: "x"}, "mvn test", meaning("error"), runs=OFFLINE + "test"),
    Case("skips-tests", {"pom.xml": POM, MAVEN: JAVA + "}\n"}, "mvn -DskipTests package", None,
         runs=OFFLINE + "-DskipTests test"),
]  # fmt: skip

BUILD = """apply plugin: 'java'
repositories { flatDir { dirs '/usr/share/java' } }
dependencies { testCompile name: 'junit4'\n testCompile name: 'hamcrest-core' }
"""
GRADLE = [
    Case("pass", {"build.gradle": BUILD, MAVEN: JAVA + "}\n"}, "./gradlew test 2>/dev/null",
         meaning("pass", failed=0, packages_ok=1, packages_failed=0), runs="gradle --offline test 2>/dev/null"),
    Case("fail", {"build.gradle": BUILD, MAVEN: JAVA + "  @Test public void b() { Assert.fail(); }\n}\n"},
         "gradle test", meaning("fail", passed=1, failed=1, skipped=0, total=2, packages_ok=0, packages_failed=1),
         runs="gradle --offline test"),
    Case("nothing", {"build.gradle": BUILD}, "gradle test",
         meaning("unknown", "partial"), runs="gradle --offline test 2>/dev/null"),
    Case("does-not-build", {"build.gradle": BUILD, MAVEN: "x"}, "gradle check", meaning("error"),
         runs="gradle --offline check"),
]  # fmt: skip
