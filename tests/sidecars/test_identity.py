"""``identity``: RFC 8785 with the stricter input rule; ``rfc8785`` is the oracle."""

import json
import math
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from sidecars.digest import Digest
from sidecars.encoding import INTEGER_MAX
from sidecars.errors import MalformedError
from sidecars.identity import (
    DEPTH_MAX,
    DOCUMENT_BYTES_MAX,
    canonical_bytes,
    canonical_bytes_with_floats,
    strict_loads,
    strict_loads_with_floats,
    value_digest,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SCALARS = st.none() | st.booleans() | st.integers(-INTEGER_MAX, INTEGER_MAX) | TEXT
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


def nested(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Give JSON values over these scalars."""
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
        max_leaves=12,
    )


@given(nested(SCALARS))
def test_the_fast_encoder_gives_the_bytes_of_the_reference_library(value: Any) -> None:
    """Whatever path is taken, the bytes are those of ``rfc8785``, and reading them gives the value again."""
    encoded = canonical_bytes(value)
    assert encoded == rfc8785.dumps(value)
    assert strict_loads(encoded) == value
    assert canonical_bytes(strict_loads(encoded)) == encoded
    assert value_digest(value) == Digest.of(encoded)


@given(nested(SCALARS | FLOATS))
def test_declared_floats_are_encoded_as_the_reference_library_does(value: Any) -> None:
    """With floats declared the bytes are those of ``rfc8785`` too."""
    assert canonical_bytes_with_floats(value) == rfc8785.dumps(value)


def test_every_character_is_escaped_as_rfc_8785_says() -> None:
    """The fast encoder escapes each of the first 12,288 characters as the oracle does."""
    value = {"k": "".join(map(chr, range(0x3000))) + "\ufeff\U0001f600\U0010ffff"}
    assert canonical_bytes(value) == rfc8785.dumps(value)


def test_keys_are_sorted_by_utf16_units() -> None:
    """A key beyond the basic plane sorts before U+FB33, as RFC 8785 section 3.2.3 shows."""
    assert canonical_bytes({"\ufb33": 1, "\U0001f600": 2}) == '{"\U0001f600":2,"\ufb33":1}'.encode()


@pytest.mark.parametrize(
    "value",
    [
        1.5,
        0.0,
        math.nan,
        math.inf,
        INTEGER_MAX + 1,
        -INTEGER_MAX - 1,
        "\ud800",
        {"\udfff": 1},
        {1: 2},
        {"a": b"bytes"},
        {"a": {1, 2}},
        [object()],
    ],
)
def test_values_against_the_rule_have_no_identity(value: Any) -> None:
    """Floats, large numbers, lone surrogates, other keys and other types are refused."""
    with pytest.raises(MalformedError):
        canonical_bytes(value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_declared_floats_must_still_be_finite(value: float) -> None:
    """NaN and Infinity are no JSON, declared or not."""
    with pytest.raises(MalformedError):
        canonical_bytes_with_floats([value])


def test_depth_is_bounded_and_never_overflows() -> None:
    """32 levels are read, 33 refused, and neither 5,000 brackets nor a value that holds itself crashes."""
    deep = b"[" * DEPTH_MAX + b"]" * DEPTH_MAX
    assert canonical_bytes(strict_loads(deep)) == deep
    for document in (b"[" + deep + b"]", b"[" * 5000, b"[" * 5000 + b"]" * 5000, b'{"a":' * 100_000):
        with pytest.raises(MalformedError):
            strict_loads(document)
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(MalformedError):
        canonical_bytes(endless)


@pytest.mark.parametrize(
    "document",
    [
        b"",
        b"\xef\xbb\xbf{}",
        b"\xff",
        '"\ud83d"'.encode("utf-8", "surrogatepass"),
        b'"\\ud800"',
        b'{"a":1,"a":1}',
        b'{"a":{"b":1,"b":2}}',
        b"NaN",
        b"[Infinity]",
        b"1e400",
        b"1.0",
        b"9007199254740992",
        b"1" * 5000,
        b"{} {}",
        "{}".encode("utf-16"),
        b"[1,]",
        b"'a'",
    ],
)
def test_documents_against_the_rule_are_refused(document: bytes) -> None:
    """Nothing is guessed from bytes that another reader could read differently."""
    with pytest.raises(MalformedError):
        strict_loads(document)


def test_sizes_are_bounded_before_anything_is_computed() -> None:
    """A large document and an integer of many digits are refused by their length."""
    with pytest.raises(MalformedError, match="at most"):
        strict_loads(b" " * (DOCUMENT_BYTES_MAX + 1))
    with pytest.raises(MalformedError, match="within 2"):
        strict_loads(b"9" * 5000)  # int() itself would refuse only beyond 4300 digits


def test_floats_are_read_only_where_they_are_declared() -> None:
    """The same document has a value under one schema and none under the other."""
    assert strict_loads_with_floats(b"[1.5,1e2]") == [1.5, 100.0]
    with pytest.raises(MalformedError):
        strict_loads_with_floats(b"1e400")
    with pytest.raises(MalformedError):
        strict_loads(b"[1.5]")


@given(
    st.binary(max_size=60)
    | st.text(max_size=40).map(str.encode)
    | nested(SCALARS | FLOATS).map(json.dumps).map(str.encode)
)
def test_any_bytes_give_a_value_or_our_error(document: bytes) -> None:
    """No other exception leaves."""
    for loads in (strict_loads, strict_loads_with_floats):
        try:
            canonical_bytes_with_floats(loads(document))
        except MalformedError:
            continue
