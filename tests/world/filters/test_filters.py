"""The filters of secrets and of authority-shaped names: the tables, the border, and what they must never cost."""

import re
import string
from collections.abc import Iterable, Iterator
from pathlib import Path
from re import _constants, _parser  # type: ignore[attr-defined]  # how `re` reads a pattern

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecars.digest import Digest
from sidecars.identity import JSON
from tests.world.filters.measure import NAMES, SECRETS, measure, render
from tests.world.filters.table import HELD_OUT, TUNING, Example, name_examples, secret_examples
from timeline.world import assigned, secrets
from timeline.world.assertion import Evidence, Scope, make_entry, read_assertion
from timeline.world.errors import AuthorityShapedError, SecretShapedError, WorldStateError
from timeline.world.key_forms import FORMS
from timeline.world.names import find_authority, is_authority
from timeline.world.secrets import find_secret, find_secret_in

LEAST = 0.95
LATER = ("tried", "second,", "third,")


def entry_of(**changes: object) -> object:
    """Make a suggestion, with some of its fields given."""
    fields: dict[str, object] = {
        "id": "assertion:one",
        "recorder": "model",
        "subject": "task:release",
        "predicate": "test.outcome",
        "value": "passed",
        "evidence": Evidence("model-suggestion", "suggestion:one", Digest(bytes(32)), 1_700_000_000_000),
        "scope": Scope("default", "local"),
    }
    return make_entry(**{**fields, **changes})  # type: ignore[arg-type]  # the test gives what it likes


SECRET = next(e.text for e in secret_examples() if e.family == "github")
HARMLESS = next(e.text for e in secret_examples() if e.family == "commit")


# -- the tables ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", [secret_examples, name_examples])
def test_the_tables_are_large_and_say_nothing_twice(table: object) -> None:
    """Each has 150 examples of either kind, about half of them held out, and none twice."""
    assert callable(table)
    examples: tuple[Example, ...] = table()
    for must_be_found in (True, False):
        some = [e for e in examples if e.must_be_found is must_be_found]
        assert len(some) >= 150
        held_out = sum(e.half == HELD_OUT for e in some)
        assert 0.3 < held_out / len(some) < 0.7
    assert len({e.text for e in examples}) == len(examples)


@pytest.mark.requirement("W29", "W62")
@pytest.mark.parametrize("half", [TUNING, HELD_OUT])
@pytest.mark.parametrize("table", [SECRETS, NAMES])
def test_precision_and_recall_are_as_promised(table: str, half: str) -> None:
    """On the half that was not looked at while tuning, and on the other, both are at least 0.95."""
    figures = measure(table, half)
    assert figures.precision >= LEAST
    assert figures.recall >= LEAST


def test_the_page_holds_the_measured_figures(root: Path) -> None:
    """docs/filters.md has the table that `python -m tests.world.filters` prints."""
    assert render() in (root / "docs" / "filters.md").read_text(encoding="utf-8")


@pytest.mark.requirement("W29")
@pytest.mark.parametrize("family", ["commit", "identifier", "digest", "names a variable"])
def test_what_only_looks_like_a_secret_survives(family: str) -> None:
    """Commit hashes, UUIDs, digests of lock files and code that names a variable are never refused."""
    examples = [e for e in secret_examples() if e.family == family and not e.must_be_found]
    assert examples
    assert [e.template for e in examples if find_secret(e.text)] == []


@pytest.mark.requirement("W29")
def test_keys_of_every_family_are_found() -> None:
    """Every family of the first table, every example; the later tables hold what is known to be missed."""
    families = {e.family for e in secret_examples() if e.must_be_found and e.family.split()[0] not in LATER}
    assert len(families) > 15
    for example in secret_examples():
        if example.family in families and example.must_be_found:
            assert find_secret(example.text) is not None, example.template


# -- at the border ---------------------------------------------------------------------------------------------


@pytest.mark.requirement("W29", "H-e")
@pytest.mark.parametrize(
    "changes",
    [
        {"value": SECRET},
        {"value": {"note": f"use {SECRET} here"}},
        {"value": {SECRET: 1}},
        {"value": [[{"deep": [SECRET]}]]},
        {"value": {"pass_phrase-of-old": "password: hunter2"}},
        {"reason": f"because {SECRET}"},
        {"subject": f"task:{SECRET}"},
        {"id": f"assertion:{SECRET}"},
        {"evidence": Evidence("model-suggestion", f"e:{SECRET}", Digest(bytes(32)), 1)},
    ],
)
def test_a_secret_is_refused_wherever_it_stands(changes: dict[str, object]) -> None:
    """Typed or not: in a value, a key, a reason or an id; and the message does not repeat it."""
    with pytest.raises(SecretShapedError) as refusal:
        entry_of(**changes)
    assert SECRET not in refusal.value.message
    assert "hunter2" not in refusal.value.message


@pytest.mark.requirement("W62", "H-d")
@pytest.mark.parametrize(
    ("predicate", "value", "place"),
    [
        ("user-permissions", 1, "predicate"),
        ("test.outcome", {"accessToken": 1}, "value.accessToken"),
        ("test.outcome", {"a": [0, {"apiKey2": 1}]}, "value.a[1].apiKey2"),
        ("test.outcome", {"b": {"c": {"payments": []}}}, "value.b.c.payments"),
        ("test.outcome", {"t\u043eken": 1}, "value.#0"),
        ("test.outcome", {"a": 1, "my tokens": 1}, "value.#1"),
    ],
)
def test_a_name_of_authority_is_refused_at_any_depth(predicate: str, value: JSON, place: str) -> None:
    """The predicate and every key are looked at; the message says where, and quotes no free text."""
    with pytest.raises(AuthorityShapedError, match=rf"^field {re.escape(place)}: "):
        entry_of(predicate=predicate, value=value)
    assert find_authority(predicate, value) == place


@pytest.mark.requirement("W29", "W62")
def test_words_about_authority_may_stand_in_a_value() -> None:
    """Only names are refused: what a value says about a token or a permission is a statement like any other."""
    entry_of(value={"summary": "the token test passed, no permission was asked", "commit": HARMLESS})


@pytest.mark.requirement("W29", "W62", "W65")
@pytest.mark.parametrize("text", ['{"accessToken":1}', f'"{SECRET}"'])
def test_what_was_recorded_against_the_rules_is_not_read(text: str) -> None:
    """State is held to the same rules as what is recorded."""
    import msgspec

    entry = msgspec.structs.replace(entry_of(), value=text)  # type: ignore[type-var]  # a struct
    with pytest.raises(WorldStateError, match="leaf 7"):
        read_assertion(7, 1, entry)


@pytest.mark.requirement("W29")
def test_a_key_and_its_string_are_read_together() -> None:
    """A plain word is a password behind such a key, and none behind another."""
    assert find_secret_in({"login": {"kennwort": "Sonne4711"}}) == "assigned-password"
    assert find_secret_in({"login": {"place": "Sonne4711"}}) is None
    assert find_secret_in(None, "fine", SECRET) == "github"


@pytest.mark.requirement("W29")
def test_texts_that_are_read_at_once_are_read_apart() -> None:
    """The end of one and the beginning of the next are no assignment, and a secret is found beside any."""
    harmless = [e.text for e in secret_examples() if not e.must_be_found and find_secret(e.text) is None]
    assert find_secret_in(None, *harmless) is None
    assert find_secret_in(["password:", "hunter2", "api key is", "a1" * 20, "-u", "me:hunter2"]) is None
    for example in secret_examples():
        if find_secret(example.text) is not None:
            assert find_secret_in([harmless[0], example.text, harmless[1]], harmless[2]) is not None


# -- what holds for every text ---------------------------------------------------------------------------------

COSTLY = (
    "password ",
    "password=",
    "password for a b c d ",
    "pass",
    "token: ",
    "api key is ",
    "sk-",
    "eyJ",
    "eyJabcdefghij.eyJ",
    "://a:",
    "://",
    "seed phrase: word word word ",
    "recovery phrase is ",
    "-",
    "-----BEGIN ",
    "Bearer ",
    "authorization: a ",
    "cookie: a=b; ",
    "MN",
    "a.b",
    "1",
    "1:AA",
    "xox-",
    "-u a:",
    "auth=('a",
    "aB",
    "a1",
    "a_",
    "A.a",
    "'",
    "\\",
    "\u0301",
    "key",
    "to ",
    "toolkeyapi",
    "is",
)


SEARCHED = [
    *(form.pattern for form in FORMS),
    secrets._ADDRESS,
    secrets._PHRASE,
    secrets._USER_AND_PASSWORD,
    assigned._HEAD,
    assigned._LOOSELY,
    assigned._PAIR,
    assigned._NAMED_AFTER,
    assigned._DRAWN_LATER,
    assigned._QUOTED,
    assigned._BARE,
]
"""Patterns that meet a whole text; all others meet one value, which is no longer than a match of these."""


def repeats(tree: Iterable[object], inside: int = 1) -> Iterator[int]:
    """How often the innermost part of each repetition may be repeated in all, repetitions around it included."""
    for operation, argument in tree:  # type: ignore[misc]  # pairs, as the parser of `re` gives them
        if operation in {_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT}:
            _, most, body = argument
            times = inside * int(most)
            yield times
            yield from repeats(body, times)
        elif operation is _constants.SUBPATTERN:
            yield from repeats(argument[-1], inside)
        elif operation is _constants.BRANCH:
            for branch in argument[1]:
                yield from repeats(branch, inside)
        elif operation in {_constants.ASSERT, _constants.ASSERT_NOT}:
            yield from repeats(argument[1], inside)


@pytest.mark.parametrize("pattern", SEARCHED, ids=lambda pattern: pattern.pattern[:40])
def test_a_pattern_that_meets_a_whole_text_is_bounded(pattern: re.Pattern[str]) -> None:
    """It repeats nothing without a bound, so that the time grows with the length and not faster."""
    tree = _parser.parse(pattern.pattern, pattern.flags)
    assert max(repeats(tree), default=1) <= 8192
    assert tree.getwidth()[1] < 16384


@pytest.mark.parametrize("unit", COSTLY)
def test_long_texts_have_an_answer(unit: str) -> None:
    """A text that makes a pattern begin at every place is read to its end; a name of that length too."""
    assert find_secret((unit * 32768)[:32768]) in {None, "private-key", "json-web-token"}
    assert is_authority((unit * 8192)[:8192]) in {True, False}


@pytest.mark.requirement("W29")
@given(
    st.sampled_from([e.text for e in secret_examples() if e.must_be_found and e.family == "github"]),
    st.text(string.ascii_letters + string.digits + " .,:;!\n\"'{}", max_size=60),
    st.text(string.ascii_letters + " .,:;!\n\"'{}", max_size=60),
)
def test_a_key_is_found_in_any_text(key: str, before: str, after: str) -> None:
    """Whatever stands around it."""
    assert find_secret(before + key + after) is not None


@given(st.text(max_size=200))
def test_any_text_has_an_answer(text: str) -> None:
    """No text raises, and a name is judged alike in whatever case it stands."""
    find_secret(text)
    assert is_authority(text) in {True, False}


@pytest.mark.requirement("W62", "H-d")
@given(
    st.sampled_from(["token", "apikey", "permissions", "payment", "credentials", "delegation", "spending"]),
    st.data(),
)
def test_casing_marks_and_unseen_characters_hide_nothing(word: str, data: st.DataObject) -> None:
    """Any casing, any mark over any letter, any zero-width character between any two."""
    drawn = [
        (c.upper() if data.draw(st.booleans()) else c)
        + data.draw(st.sampled_from(["", "\u200b", "\u0301", "\u2060", "\u00ad", "\u0336", "\ufe0f"]))
        for c in word
    ]
    assert is_authority("".join(drawn))


@pytest.mark.requirement("W62")
def test_a_value_nested_deeply_is_read_to_its_end() -> None:
    """Depth is no hiding place, and no recursion ends the reading."""
    value: JSON = {"token": 1}
    for _ in range(3000):
        value = [value]
    assert find_authority("test.outcome", value) is not None
    assert find_secret_in(value) is None
