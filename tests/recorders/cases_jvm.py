"""What maven's surefire, in two versions, and gradle are made to print."""

from dataclasses import replace

from tests.recorders.case import Case, meaning

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>p</groupId><artifactId>p</artifactId><version>1</version>
<properties><maven.compiler.source>8</maven.compiler.source><maven.compiler.target>8</maven.compiler.target>
<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
<dependencies><dependency>{junit}
<scope>test</scope></dependency></dependencies><build><plugins>
<plugin><artifactId>maven-resources-plugin</artifactId><version>{resources}</version></plugin>
<plugin><artifactId>maven-compiler-plugin</artifactId><version>{compiler}</version></plugin>
<plugin><artifactId>maven-surefire-plugin</artifactId><version>{surefire}</version>{more}</plugin>
</plugins></build></project>
"""
OLDER_POM = POM.format(
    junit="<groupId>junit</groupId><artifactId>junit</artifactId><version>4.x</version>",
    resources="3.3.0", compiler="3.10.1", surefire="2.22.3", more="",
)  # fmt: skip
NEWER_POM = POM.format(
    junit="<groupId>org.junit.jupiter</groupId><artifactId>junit-jupiter</artifactId><version>5.13.4</version>",
    resources="3.3.1", compiler="3.13.0", surefire="3.5.4",
    # Maven before 3.9 adds plexus-utils 1.1 to a plugin that names none.
    more="\n<dependencies><dependency><groupId>org.codehaus.plexus</groupId><artifactId>plexus-utils</artifactId>"
         "<version>4.0.2</version></dependency></dependencies>",
)  # fmt: skip
OLDER_OFFLINE = "mvn -o -B -s /etc/maven/settings-debian.xml -Dmaven.repo.local=/usr/share/maven-repo "
"""Debian's own repository holds the plugins in these versions."""
NEWER_OFFLINE = "mvn -o -B "
"""The user's local repository must hold them."""
JAVA = "import org.junit.*;\npublic class ATest {\n  @Test public void a() {}\n"
MAVEN = "src/test/java/ATest.java"
FLAKY = "  static int n;\n  @Test public void e() { if (n++ == 0) Assert.fail(); }\n"
MODULE = "<parent><groupId>p</groupId><artifactId>p</artifactId><version>1</version></parent>"


def modules(pom: str) -> dict[str, str]:
    """Return a parent and two modules that inherit from it."""
    packaging = "<packaging>pom</packaging><modules><module>a</module><module>b</module></modules>"
    files = {"pom.xml": pom.replace("<version>1</version>", f"<version>1</version>{packaging}", 1)}
    for name in ("a", "b"):
        files[f"{name}/pom.xml"] = (
            '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
            f"{MODULE}<artifactId>{name}</artifactId></project>\n"
        )
    return files


def surefire(pom: str, offline: str) -> list[Case]:
    """Return the cases for one version; their tests are written for JUnit 4."""
    return [
        Case("pass", {"pom.xml": pom, MAVEN: JAVA + "}\n"}, "mvn test",
             meaning("pass", passed=1, failed=0, errors=0, skipped=0, total=1), runs=offline + "test"),
        Case("mixed", {"pom.xml": pom, MAVEN: JAVA + "  @Test public void b() { Assert.fail(); }\n"
                       "  @Test public void c() { throw new RuntimeException(); }\n"
                       "  @Ignore @Test public void d() {}\n}\n"},
             "./mvnw -B verify",
             meaning("fail", passed=1, failed=1, errors=1, skipped=1, total=4), runs=offline + "test"),
        Case("skipped", {"pom.xml": pom, MAVEN: JAVA + "  @Ignore @Test public void d() {}\n}\n"}, "mvn clean test",
             meaning("pass", passed=1, failed=0, errors=0, skipped=1, total=2), runs=offline + "test"),
        Case("flaky", {"pom.xml": pom, MAVEN: JAVA + FLAKY + "}\n"}, "mvn -Dsurefire.rerunFailingTestsCount=1 test",
             meaning("pass", passed=2, failed=0, errors=0, skipped=0, total=2),
             runs=offline + "-Dsurefire.rerunFailingTestsCount=1 test"),
        Case("modules", {**modules(pom), f"a/{MAVEN}": JAVA + "}\n",
                         f"b/{MAVEN}": JAVA + "  @Test public void b() { Assert.fail(); }\n}\n"}, "mvn test",
             meaning("fail", passed=2, failed=1, errors=0, skipped=0, total=3), runs=offline + "test"),
        Case("no-tests", {"pom.xml": pom, "src/main/java/A.java": "class A {}\n"}, "mvn test",
             meaning("unknown", "partial"), runs=offline + "test"),
        Case("does-not-build", {"pom.xml": pom, MAVEN: "x"}, "mvn test", meaning("error"), runs=offline + "test"),
        Case("skips-tests", {"pom.xml": pom, MAVEN: JAVA + "}\n"}, "mvn -DskipTests package", None,
             runs=offline + "-DskipTests test"),
    ]  # fmt: skip


def jupiter(case: Case) -> Case:
    """Return a case whose tests are written for JUnit 5 and later."""
    names = (("org.junit.*", "org.junit.jupiter.api.*"), ("Assert.", "Assertions."), ("@Ignore", "@Disabled"))
    files = {}
    for path, text in case.files.items():
        files[path] = text
        for old, new in names if path.endswith(".java") else ():
            files[path] = files[path].replace(old, new)
    return replace(case, files=files)


SUREFIRE = {
    "3.5.4": [jupiter(case) for case in surefire(NEWER_POM, NEWER_OFFLINE)],
    "2.22.3": surefire(OLDER_POM, OLDER_OFFLINE),
}
"""The cases by the plugin's version, under whatever maven the machine has."""

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
