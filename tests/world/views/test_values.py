"""Odd values: what is taken can be read again, and what cannot be is refused as the caller's fault, not the state's."""

from typing import Any

import pytest

from sidecars.digest import Digest
from sidecars.identity import JSON
from timeline.world.assertion import Evidence, Scope, make_entry, read_assertion
from timeline.world.errors import AssertionInvalidError, AuthorityShapedError, SecretShapedError


def taken(value: JSON) -> Any:
    """The value as it is read again."""
    entry = make_entry(
        id="assertion:odd",
        recorder="model",
        subject="suite:unit",
        predicate="test.odd",
        value=value,
        evidence=Evidence("model-suggestion", "tool-use:1", Digest(bytes(32)), 1000),
        scope=Scope("local", "dev", "/srv/project"),
    )
    return read_assertion(0, 1000, entry).value


@pytest.mark.requirement("W2", "H-g")
@pytest.mark.parametrize(
    ("value", "read"),
    [
        (1.0, 1),
        (-0.0, 0),
        (2**53 - 1, 2**53 - 1),
        (1e21, 1e21),
        (5e-324, 5e-324),
        ("", ""),
        ([], []),
        ({}, {}),
        ({"": None}, {"": None}),
        ((1, 2), [1, 2]),
        ("e\u0301", "e\u0301"),
        ("a\u2028\u202eb\0", "a\u2028\u202eb\0"),
        (False, False),
    ],
)
def test_what_is_taken_is_read_again(value: JSON, read: JSON) -> None:
    """Equal as a value, in characters as given."""
    assert (taken(value), type(taken(value))) == (read, type(read))


@pytest.mark.requirement("W2", "W65")
@pytest.mark.parametrize("value", [2.0**53, -(2.0**60), [1e20], 2**53, float("inf"), "\ud800", {"\ud800": 1}])
def test_what_could_not_be_read_again_is_not_made(value: JSON) -> None:
    """A fraction whose text is a whole number out of bounds among them: the state is not at fault."""
    with pytest.raises(AssertionInvalidError, match=r"^field value: "):
        taken(value)


@pytest.mark.requirement("W62", "W29")
def test_a_tuple_hides_nothing() -> None:
    """It is an array like any other."""
    with pytest.raises(AuthorityShapedError):
        taken(({"accessToken": 1},))
    with pytest.raises(SecretShapedError):
        taken(({"note": "AKIA" + "IOSFODNN7EXAMPLQ"},))
