"""What cargo, cargo-nextest and go are made to print: tests and builds."""

from tests.recorders.case import Case, check, meaning

CRATE = {"Cargo.toml": '[package]\nname = "p"\nversion = "0.1.0"\nedition = "2021"\n'}
LIB = "#[test]\nfn a() {}\n#[test]\nfn b() {}\n#[test]\n#[ignore]\nfn c() {}\n"
DOC = "/// ```\n/// assert_eq!(1, 1);\n/// ```\npub fn d() {}\n"
BAD = "#[test]\nfn bad() { assert_eq!(1, 2) }\n"
CARGO = [
    Case("targets", {**CRATE, "src/lib.rs": DOC + LIB, "tests/it.rs": "#[test]\nfn e() {}\n"}, "cargo test",
         meaning("pass", passed=4, failed=0, skipped=1, total=5)),
    Case("quiet", {**CRATE, "src/lib.rs": LIB}, "cargo test -q",
         meaning("pass", passed=2, failed=0, skipped=1, total=3)),
    Case("fail", {**CRATE, "src/lib.rs": LIB + BAD}, "cargo +stable test",
         meaning("fail", passed=2, failed=1, skipped=1, total=4), runs="cargo test"),
    Case("no-fail-fast", {**CRATE, "src/lib.rs": BAD, "tests/it.rs": LIB + BAD}, "cargo test --no-fail-fast",
         meaning("fail", passed=2, failed=2, skipped=1, total=5)),
    Case("does-not-build", {**CRATE, "src/lib.rs": "fn x( {"}, "cargo test", meaning("error")),
    Case("aborts", {**CRATE, "src/lib.rs": "#[test]\nfn a() {}\n",
                    "tests/it.rs": "#[test]\nfn e() { std::process::abort() }\n"}, "cargo test",
         meaning("unknown", "inconsistent", "partial", passed=1, failed=0, skipped=0, total=1)),
    Case("nothing", {**CRATE, "src/lib.rs": ""}, "cargo test --lib",
         meaning("skipped", passed=0, failed=0, skipped=0, total=0)),
    Case("no-run", {**CRATE, "src/lib.rs": LIB}, "cargo test --no-run", None),
    Case("list", {**CRATE, "src/lib.rs": LIB}, "cargo test -- --list", None),
]  # fmt: skip
FLAKY = """#[test]
fn flaky() {
    let seen = std::path::Path::new("seen");
    let first = !seen.exists();
    std::fs::write(seen, "").unwrap();
    assert!(!first);
}
"""
SLOW = "#[test]\nfn slow() { std::thread::sleep(std::time::Duration::from_secs(30)) }\n"
LIMIT = '[profile.default]\nslow-timeout = { period = "100ms", terminate-after = 1, grace-period = "0s" }\n'
LEAKS = '#[test]\nfn leaks() { std::process::Command::new("sleep").arg("2").spawn().unwrap(); }\n'
NEXTEST = [
    Case("pass", {**CRATE, "src/lib.rs": DOC + LIB, "tests/it.rs": "#[test]\nfn e() {}\n"}, "cargo nextest run",
         meaning("pass", passed=3, failed=0, skipped=1, total=4)),
    Case("fail", {**CRATE, "src/lib.rs": LIB, "tests/it.rs": BAD}, "cargo nextest run --no-fail-fast",
         meaning("fail", passed=2, failed=1, skipped=1, total=4)),
    Case("stops", {**CRATE, "src/lib.rs": BAD + LIB.replace("fn b", "fn z")}, "cargo nextest run -j 1",
         meaning("fail", "partial", passed=1, failed=1, skipped=1, total=3)),
    Case("flaky", {**CRATE, "src/lib.rs": FLAKY}, "cargo nextest run --retries 1",
         meaning("pass", passed=1, failed=0, skipped=0, total=1)),
    Case("times-out", {**CRATE, "src/lib.rs": SLOW + "#[test]\nfn a() {}\n", ".config/nextest.toml": LIMIT},
         "cargo nextest r", meaning("fail", passed=1, failed=1, skipped=0, total=2),
         runs="cargo nextest run --no-fail-fast"),
    Case("leaks", {**CRATE, "src/lib.rs": LEAKS}, "cargo nextest run",
         meaning("pass", passed=1, failed=0, skipped=0, total=1)),
    Case("aborts", {**CRATE, "src/lib.rs": "#[test]\nfn a() { std::process::abort() }\n"}, "cargo nextest run",
         meaning("fail", passed=0, failed=1, skipped=0, total=1)),
    Case("colour", {**CRATE, "src/lib.rs": LIB}, "cargo nextest run --color always",
         meaning("pass", passed=2, failed=0, skipped=1, total=3)),
    Case("script", {**CRATE, "src/lib.rs": BAD, "Makefile": "test:\n\t@cargo nextest run\n"}, "make test",
         meaning("fail", passed=0, failed=1, skipped=0, total=1)),
    Case("nothing", {**CRATE, "src/lib.rs": ""}, "cargo nextest run",
         meaning("skipped", passed=0, failed=0, skipped=0, total=0)),
    Case("none-matches", {**CRATE, "src/lib.rs": LIB}, "cargo nextest run nothing",
         meaning("skipped", passed=0, failed=0, skipped=3, total=3)),
    Case("does-not-build", {**CRATE, "src/lib.rs": "fn x( {"}, "cargo nextest run", meaning("error")),
    Case("list", {**CRATE, "src/lib.rs": LIB}, "cargo nextest list", None),
    Case("no-run", {**CRATE, "src/lib.rs": LIB}, "cargo nextest run --no-run", None),
]  # fmt: skip
WARNS = "fn unused() {}\npub fn f() { let x = 1; }\n"
CARGO_BUILD = [
    Case("clean", {**CRATE, "src/lib.rs": "pub fn a() {}\n"}, "cargo build", check("pass", errors=0, warnings=0)),
    Case("quiet", {**CRATE, "src/lib.rs": "pub fn a() {}\n"}, "cargo check -q", check("pass", errors=0)),
    Case("warnings", {**CRATE, "src/lib.rs": WARNS}, "cargo check", check("pass", errors=0, warnings=2)),
    Case("tests-too", {**CRATE, "src/lib.rs": WARNS}, "cargo check --all-targets",
         check("pass", errors=0, warnings=2)),
    Case("error", {**CRATE, "src/lib.rs": 'pub fn f() -> u8 { "" }\n'}, "cargo build",
         check("fail", errors=1, warnings=0)),
    Case("errors-and-warnings", {**CRATE, "src/lib.rs": 'pub fn f() -> u8 { let x = y; "" }\nfn g() -> u8 { z }\n'},
         "cargo build", check("fail", errors=3, warnings=0)),
    Case("clippy", {**CRATE, "src/lib.rs": "pub fn f(x: &Vec<u8>) -> bool { x.len() == 0 }\n"}, "cargo clippy",
         check("pass", errors=0, warnings=2)),
    Case("clippy-denies", {**CRATE, "src/lib.rs": "pub fn f(x: &Vec<u8>) -> bool { x.len() == 0 }\n"},
         "cargo clippy -- -D warnings", check("fail", errors=2, warnings=0)),
    Case("no-manifest", {}, "cargo build", check("error")),
]  # fmt: skip

MOD = {"go.mod": "module example.test/m\n\ngo 1.19\n"}
GO_OK = 'package p\nimport "testing"\nfunc TestA(t *testing.T) {}\nfunc TestS(t *testing.T) { t.Skip() }\n'
GO_SUB = ('package p\nimport "testing"\nfunc TestSub(t *testing.T) {\n t.Run("x", func(t *testing.T) {})\n'
          ' t.Run("y", func(t *testing.T) { t.Fail() })\n}\n')  # fmt: skip
GO_BAD = 'package p\nimport "testing"\nfunc TestBad(t *testing.T) { t.Fatal("no") }\n'
GO_EXIT = 'package p\nimport ("os"; "testing")\nfunc TestE(t *testing.T) { os.Exit(3) }\n'
GO = [
    Case("packages", {**MOD, "a/a_test.go": GO_OK, "b/b_test.go": GO_OK, "c/c.go": "package p\n"}, "go test ./...",
         meaning("pass", failed=0, packages_ok=2, packages_failed=0)),
    Case("verbose", {**MOD, "a/a_test.go": GO_OK}, "go test -v ./...",
         meaning("pass", passed=1, failed=0, skipped=1, total=2, packages_ok=1, packages_failed=0)),
    Case("subtests", {**MOD, "a/a_test.go": GO_SUB, "b/b_test.go": GO_OK}, "go test -v ./...",
         meaning("fail", passed=1, failed=1, skipped=1, total=3, packages_ok=1, packages_failed=1)),
    Case("fail", {**MOD, "a/a_test.go": GO_BAD, "b/b_test.go": GO_OK}, "go test ./...",
         meaning("fail", failed=1, packages_ok=1, packages_failed=1)),
    Case("one-package", {**MOD, "a_test.go": GO_OK}, "go test",
         meaning("pass", failed=0, packages_ok=1, packages_failed=0)),
    Case("coverage", {**MOD, "a_test.go": GO_OK}, "go test -cover",
         meaning("pass", failed=0, packages_ok=1, packages_failed=0)),
    Case("does-not-build", {**MOD, "a/a_test.go": "package p\nfunc x( {\n"}, "go test ./...",
         meaning("error", packages_ok=0, packages_failed=1)),
    Case("exits", {**MOD, "a/a_test.go": GO_EXIT}, "go test ./...", meaning("fail", packages_ok=0, packages_failed=1)),
    Case("no-tests-match", {**MOD, "a/a_test.go": GO_OK}, "go test -run Nothing ./...",
         meaning("skipped", passed=0, failed=0, skipped=0, total=0, packages_ok=1, packages_failed=0)),
    Case("no-test-files", {**MOD, "c/c.go": "package p\n"}, "go test ./...", meaning("unknown", "partial")),
    Case("list", {**MOD, "a/a_test.go": GO_OK}, "go test -list . ./...", None),
]  # fmt: skip
GO_BUILD = [
    Case("clean", {**MOD, "a.go": "package p\n"}, "go build ./...", check("pass", errors=0)),
    Case("vet-clean", {**MOD, "a.go": "package p\n"}, "go vet ./...", check("pass", errors=0)),
    Case("error", {**MOD, "a.go": 'package p\nvar x int = ""\nvar y = z\n'}, "go build ./...",
         check("fail", errors=2)),
    Case("many", {**MOD, "a.go": "package p\n" + "".join(f"var v{i} = u{i}\n" for i in range(20))}, "go build ./...",
         check("fail", "partial", errors=10)),
    Case("vet", {**MOD, "a.go": 'package p\nimport "fmt"\nfunc F() { fmt.Printf("%d", "x") }\n'},
         "go vet ./...", check("fail", errors=1)),
    Case("vet-does-not-build", {**MOD, "a.go": "package p\nvar y = z\n"}, "go vet .", check("fail", errors=1)),
    Case("no-module", {"a.go": "package p\n"}, "go build ./...", check("error")),
    Case("tail", {**MOD, "a.go": "package p\nvar y = z\n"}, "go build ./... 2>&1 | tail -5",
         check("unknown", "masked", "partial", errors=1)),
]  # fmt: skip
