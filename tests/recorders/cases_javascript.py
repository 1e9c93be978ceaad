"""What jest, vitest, mocha, node:test, bun, tape, eslint and tsc are made to print."""

import json

from tests.recorders.case import Case, check, meaning

JS_OK = "test('a', () => {});\ntest('b', () => {});\ntest.skip('c', () => {});\ntest.todo('d');\n"
JS_BAD = "test('a', () => {});\ntest('b', () => { expect(1).toBe(2); });\n"
JS_IMPORT = "import { expect, test } from 'vitest';\n"


def package(script: str) -> dict[str, str]:
    """Return a package whose test script is ``script``."""
    return {
        "package.json": json.dumps(
            {"name": "p", "private": True, "version": "1.0.0", "scripts": {"test": script}}
        )
    }


JEST_CASES = [
    Case("two", {**package("jest"), "a.test.js": JS_OK}, "npx jest",
         meaning("pass", passed=2, failed=0, skipped=1, total=4)),
    Case("script", {**package("jest"), "a.test.js": JS_OK}, "npm test",
         meaning("pass", passed=2, failed=0, skipped=1, total=4)),
    Case("script-fails", {**package("jest"), "a.test.js": JS_BAD}, "npm run test",
         meaning("fail", passed=1, failed=1, skipped=0, total=2)),
    Case("colour", {**package("jest"), "a.test.js": JS_BAD}, "node_modules/.bin/jest --colors",
         meaning("fail", passed=1, failed=1, skipped=0, total=2)),
    Case("does-not-load", {**package("jest"), "a.test.js": "throw new Error('x');\n", "b.test.js": JS_OK},
         "yarn jest", meaning("error", passed=2, failed=0, skipped=1, total=4), runs="npx jest"),
    Case("bail", {**package("jest"), "a.test.js": JS_BAD, "b.test.js": JS_BAD}, "npx jest --bail -i",
         meaning("fail", passed=1, failed=1, skipped=0, total=2)),
    Case("nothing", {**package("jest"), "x.js": ""}, "npx jest", meaning("error")),
    Case("list", {**package("jest"), "a.test.js": JS_OK}, "npx jest --listTests", None),
]  # fmt: skip
VITEST_CASES = [
    Case("two", {**package("vitest run"), "a.test.js": JS_IMPORT + JS_OK}, "npx vitest run",
         meaning("pass", passed=2, failed=0, errors=0, skipped=1, total=4)),
    Case("script", {**package("vitest run"), "a.test.js": JS_IMPORT + JS_OK}, "npm test",
         meaning("pass", passed=2, failed=0, errors=0, skipped=1, total=4)),
    Case("script-fails", {**package("vitest run"), "a.test.js": JS_IMPORT + JS_BAD}, "npm run -s test -- --bail=0",
         meaning("fail", passed=1, failed=1, errors=0, skipped=0, total=2)),
    Case("colour", {**package("vitest run"), "a.test.js": JS_IMPORT + JS_BAD}, "pnpm exec vitest run",
         meaning("fail", passed=1, failed=1, errors=0, skipped=0, total=2), runs="npx vitest run",
         env={"FORCE_COLOR": "1"}),
    Case("expected-fail", {**package("vitest run"),
                           "a.test.js": JS_IMPORT + "test.fails('x', () => { expect(1).toBe(2); });\n"},
         "npx vitest run", meaning("pass", passed=1, failed=0, errors=0, skipped=0, total=1)),
    Case("does-not-load", {**package("vitest run"), "a.test.js": "throw new Error('x');\n",
                           "b.test.js": JS_IMPORT + JS_OK}, "npx vitest run",
         meaning("error", passed=2, failed=0, errors=0, skipped=1, total=4)),
    Case("unhandled-error", {**package("vitest run"), "a.test.js": JS_IMPORT + JS_OK
                             + "test('u', async () => { setTimeout(() => { throw new Error('x'); }, 0);"
                             " await new Promise((r) => setTimeout(r, 50)); });\n"}, "bunx vitest run",
         meaning("error", passed=3, failed=0, errors=1, skipped=1, total=5), runs="npx vitest run"),
    Case("nothing", {**package("vitest run"), "x.js": ""}, "npx vitest run", meaning("error")),
    Case("list", {**package("vitest run"), "a.test.js": JS_IMPORT + JS_OK}, "npx vitest list", None),
]  # fmt: skip

MOCHA_OK = "it('a', () => {});\nit('b', () => {});\nit.skip('c', () => {});\n"
MOCHA_BAD = "const assert = require('assert');\nit('a', () => {});\nit('b', () => { assert.equal(1, 2); });\n"
MOCHA_130 = "for (let i = 0; i < 130; i++) it('x' + i, () => { throw new Error('x'); });\n"
MOCHA_RETRY = "let n = 0;\nit('a', function () { this.retries(2); if (n++ < 1) throw new Error('x'); });\n"
MOCHA_CASES = [
    Case("two", {"test/a.js": MOCHA_OK}, "npx mocha", meaning("pass", passed=2, failed=0, skipped=1, total=3)),
    Case("fail", {"test/a.js": MOCHA_BAD}, "npx mocha", meaning("fail", passed=1, failed=1, skipped=0, total=2)),
    Case("many-failures", {"test/a.js": MOCHA_130},
         "mocha --reporter dot", meaning("fail", passed=0, failed=130, skipped=0, total=130), runs="npx mocha -R dot"),
    Case("colour", {"test/a.js": MOCHA_BAD}, "yarn mocha --color",
         meaning("fail", passed=1, failed=1, skipped=0, total=2), runs="npx mocha --color"),
    Case("parallel", {"test/a.js": MOCHA_OK, "test/b.js": MOCHA_OK}, "pnpm exec mocha --parallel --jobs 2",
         meaning("pass", passed=4, failed=0, skipped=2, total=6), runs="npx mocha --parallel --jobs 2"),
    Case("retries", {"test/a.js": MOCHA_RETRY},
         "npx mocha", meaning("pass", passed=1, failed=0, skipped=0, total=1)),
    Case("does-not-load", {"test/a.js": "throw new Error('x');\n"}, "npx mocha", meaning("error")),
    Case("nothing", {"x.js": ""}, "npx mocha", meaning("error")),
    Case("script", {**package("mocha"), "test/a.js": MOCHA_BAD}, "npm test",
         meaning("fail", passed=1, failed=1, skipped=0, total=2)),
    Case("json", {"test/a.js": MOCHA_OK}, "npx mocha -R json", meaning("unknown", "partial")),
    Case("list", {"test/a.js": MOCHA_OK}, "npx mocha --dry-run", None),
    Case("masked", {"test/a.js": MOCHA_BAD}, "npx mocha || true",
         meaning("unknown", "masked", passed=1, failed=1, skipped=0, total=2)),
]  # fmt: skip

NODE_OK = (
    "const test = require('node:test');\ntest('a', () => {});\ntest('b', { skip: true }, () => {});\n"
    "test('c', { todo: true }, () => {});\ntest('d', async (t) => { await t.test('e', () => {}); });\n"
)
NODE_BAD = (
    "const test = require('node:test');\ntest('a', () => {});\ntest('b', () => { throw new Error('x'); });\n"
)
NODE_CASES = [
    Case("tap", {"a.test.js": NODE_OK}, "node --test --test-reporter=tap",
         meaning("pass", passed=3, failed=0, errors=0, skipped=1, total=5)),
    Case("spec", {"a.test.js": NODE_OK}, "node --test --test-reporter spec",
         meaning("pass", passed=3, failed=0, errors=0, skipped=1, total=5)),
    Case("default", {"a.test.js": NODE_OK}, "node --test a.test.js",
         meaning("pass", passed=3, failed=0, errors=0, skipped=1, total=5)),
    Case("fail", {"a.test.js": NODE_BAD}, "node --test",
         meaning("fail", passed=1, failed=1, errors=0, skipped=0, total=2)),
    Case("script", {**package("node --test"), "a.test.js": NODE_BAD}, "npm test",
         meaning("fail", passed=1, failed=1, errors=0, skipped=0, total=2)),
    Case("cancelled", {"a.test.js": "const test = require('node:test');\n"
                       "test('p', (t) => { t.test('q', () => new Promise((r) => setTimeout(r, 50))); });\n"},
         "node --test --test-reporter=tap", meaning("fail", passed=0, failed=1, errors=1, skipped=0, total=2)),
    Case("does-not-load", {"a.test.js": "throw new Error('x');\n"}, "node --test",
         meaning("fail", passed=0, failed=1, errors=0, skipped=0, total=1)),
    Case("dot", {"a.test.js": NODE_OK}, "node --test --test-reporter=dot", meaning("unknown", "partial")),
    Case("a-program", {"a.test.js": NODE_OK}, "node a.test.js", None),
    Case("tail", {"a.test.js": NODE_BAD}, "node --test 2>&1 | tail -12",
         meaning("unknown", "masked", passed=1, failed=1, errors=0, skipped=0, total=2)),
]  # fmt: skip

BUN_IMPORT = "import { expect, test } from 'bun:test';\n"
BUN_OK = BUN_IMPORT + "test('a', () => {});\ntest('b', () => {});\n"
BUN_CASES = [
    Case("two", {"a.test.ts": BUN_OK}, "bun test", meaning("pass", passed=2, failed=0, errors=0, skipped=0, total=2)),
    Case("fail", {"a.test.ts": BUN_OK + "test('x', () => { expect(1).toBe(2); });\n"}, "bun test a.test.ts",
         meaning("fail", passed=2, failed=1, errors=0, skipped=0, total=3)),
    Case("skip-and-todo", {"a.test.ts": BUN_OK + "test.skip('s', () => {});\ntest.todo('t');\n"}, "A=1 bun test",
         meaning("pass", passed=2, failed=0, errors=0, skipped=1, total=4)),
    Case("does-not-load", {"a.test.ts": "throw new Error('x');\n", "b.test.ts": BUN_OK}, "bun test",
         meaning("fail", passed=2, failed=1, errors=1, skipped=0, total=3)),
    Case("nothing", {"x.ts": ""}, "bun test", meaning("error"), older=meaning("unknown", "partial")),
    Case("filter", {"a.test.ts": BUN_OK}, "bun test -t a",
         meaning("pass", passed=1, failed=0, errors=0, skipped=0, total=1),
         older=meaning("pass", passed=1, failed=0, errors=0, skipped=1, total=2)),
    Case("script", {**package("bun test"), "a.test.ts": BUN_OK}, "bun run test",
         meaning("pass", passed=2, failed=0, errors=0, skipped=0, total=2)),
    Case("colour", {"a.test.ts": BUN_OK}, "bun test", meaning("pass", passed=2, failed=0, errors=0, skipped=0, total=2),
         env={"FORCE_COLOR": "1"}),
]  # fmt: skip

TAPE_OK = "const test = require('tape');\ntest('a', (t) => { t.ok(1); t.equal(1, 1); t.end(); });\n"
TAPE_BAD = TAPE_OK + "test('b', (t) => { t.equal(1, 2); t.end(); });\ntest.skip('c', (t) => t.end());\n"
TAPE_CASES = [
    Case("tape", {"a.js": TAPE_OK}, "npx tape a.js", meaning("pass", passed=2, failed=0, skipped=0, total=2)),
    Case("tape-fails", {"a.js": TAPE_BAD}, "npx tape a.js", meaning("fail", passed=2, failed=1, skipped=0, total=3)),
    Case("tape-script", {**package("tape a.js"), "a.js": TAPE_BAD}, "npm test",
         meaning("fail", passed=2, failed=1, skipped=0, total=3)),
    Case("tape-does-not-load", {"a.js": "throw new Error('x');\n"}, "npx tape a.js", meaning("error")),
]  # fmt: skip

ESLINT_CONFIG = {
    "eslint.config.mjs": "export default [{ rules: { 'no-unused-vars': 'warn', 'no-undef': 'error' } }];\n"
}
OLD_CONFIG = {".eslintrc.json": '{"root": true, "rules": {"no-unused-vars": "warn", "no-undef": "error"}}\n'}
LINTED = {**ESLINT_CONFIG, **OLD_CONFIG}
ESLINT_CASES = [
    Case("clean", {**LINTED, "a.js": "1 + 1;\n"}, "npx eslint .", check("pass", errors=0)),
    Case("errors", {**LINTED, "a.js": "x();\ny();\nvar z = 1;\n"}, "npx eslint .", check("fail", errors=2, warnings=1)),
    Case("warnings", {**LINTED, "a.js": "var z = 1;\n"}, "npx eslint a.js", check("pass", errors=0, warnings=1)),
    Case("max-warnings", {**LINTED, "a.js": "var z = 1;\n"}, "npx eslint --max-warnings=0 a.js",
         check("fail", errors=0, warnings=1)),
    Case("script", {**LINTED, **package("eslint ."), "a.js": "x();\n"}, "npm run lint",
         check("fail", errors=1, warnings=0), runs="npm test"),
    Case("colour", {**LINTED, "a.js": "x();\n"}, "yarn eslint --color .", check("fail", errors=1, warnings=0),
         runs="npx eslint --color ."),
    Case("nothing", {**LINTED}, "npx eslint nothing.js", check("error")),
    Case("piped", {**LINTED, "a.js": "x();\n"}, "npx eslint . | tail -4",
         check("unknown", "masked", errors=1, warnings=0)),
]  # fmt: skip

TSCONFIG = {"tsconfig.json": '{"compilerOptions": {"strict": true, "noEmit": true, "types": []}}\n'}
TSC_CASES = [
    Case("clean", {**TSCONFIG, "a.ts": "export const a: number = 1;\n"}, "npx tsc --noEmit", check("pass", errors=0)),
    Case("errors", {**TSCONFIG, "a.ts": "export const a: number = '';\nexport const b: string = 1;\n"},
         "npx tsc -p .", check("fail", errors=2)),
    Case("pretty", {**TSCONFIG, "a.ts": "export const a: number = '';\n", "b.ts": "export const b: string = 1;\n"},
         "npx tsc --pretty", check("fail", errors=2)),
    Case("pretty-one", {**TSCONFIG, "a.ts": "export const a: number = '';\n"}, "npx tsc --pretty",
         check("fail", errors=1)),
    Case("no-files", {"tsconfig.json": "{}\n"}, "pnpm exec tsc --noEmit",
         check("fail", errors=1), runs="npx tsc --noEmit"),
    Case("script", {**TSCONFIG, **package("tsc"), "a.ts": "export const a: number = '';\n"}, "npm run typecheck",
         check("fail", errors=1), runs="npm test"),
    Case("then-tests", {**TSCONFIG, "a.ts": "export const a: number = '';\n"}, "npx tsc --noEmit && npx vitest run",
         check("fail", errors=1)),
    Case("silenced", {**TSCONFIG, "a.ts": "export const a: number = '';\n"}, "npx tsc --noEmit || true",
         check("unknown", "masked", errors=1)),
    Case("version", {}, "npx tsc --version", None),
]  # fmt: skip
