"""For what purpose an assertion may be used, from when, and what the person spoken of has to say about it."""

from typing import Any

import msgspec
import pytest

from sidecars.reasoned import PersonConsent
from tests.world.views.made import NOW, entry, names, reader, recorded
from timeline.world.context import world_context
from timeline.world.relational import is_consented
from timeline.world.scope import is_visible
from timeline.world.standing import decide_standing

KIM, ADA, TEAM = "person:kim", "user:ada", "group:team"
SHARED: dict[str, Any] = {"privacy": "shared"}


def used(**uses: Any) -> Any:
    """Something shared, with uses."""
    return msgspec.structs.replace(entry("a", **SHARED), **uses)


def allow(who: str | None = None, purpose: str | None = None, person: str = KIM) -> PersonConsent:
    """Kim lets somebody know."""
    return PersonConsent(person, who, purpose, granted=True)


def deny(who: str | None = None, purpose: str | None = None) -> PersonConsent:
    """Kim takes it back."""
    return PersonConsent(KIM, who, purpose, granted=False)


@pytest.mark.requirement("P8", "P21", "P33", "M10")
@pytest.mark.parametrize(
    ("purposes", "asked", "is_owner", "is_seen"),
    [
        ((), None, False, True),
        ((), "planning", False, True),
        (("planning",), "planning", False, True),
        (("payroll", "planning"), "planning", False, True),
        (("payroll",), "planning", False, False),
        (("planning",), None, False, False),
        (("planning",), None, True, True),
        (("planning",), "payroll", True, False),
    ],
)
def test_a_purpose_is_never_widened(
    purposes: tuple[str, ...], asked: str | None, is_owner: bool, is_seen: bool
) -> None:
    """Who names none is given what is for any; the owner looks after all of it."""
    given = used(purposes=purposes)
    assert is_visible(given, reader(purpose=asked, is_owner=is_owner)) is is_seen


@pytest.mark.requirement("P49")
@pytest.mark.parametrize(
    ("consents", "is_seen"),
    [
        ((), False),
        ((allow(),), True),
        ((allow(ADA),), True),
        ((allow("user:bob"),), False),
        ((allow(TEAM),), False),
        ((allow(person="person:lee"),), False),
        ((allow(purpose="planning"),), False),
        ((allow(), deny()), False),
        ((allow(), deny(ADA)), False),
        ((allow(), deny("user:bob")), True),
        ((allow(), deny(purpose="payroll")), False),
        ((allow(), deny(), allow(ADA)), True),
        ((deny(), allow()), True),
    ],
)
def test_what_is_about_a_person_needs_that_person(
    consents: tuple[PersonConsent, ...], *, is_seen: bool
) -> None:
    """Isolation, consent, and a revocation that is the wider word of the two."""
    given = used(about=KIM)
    assert is_visible(given, reader(consents=consents)) is is_seen
    assert is_visible(given, reader(consents=consents, is_owner=True))
    assert is_visible(used(), reader(consents=consents))
    view = world_context(recorded(given), reader(consents=consents), NOW)
    assert bool(view.facts) is is_seen


@pytest.mark.requirement("P49")
@pytest.mark.parametrize(
    ("consents", "purpose", "allowed"),
    [
        ((allow(purpose="planning"),), "planning", True),
        ((allow(purpose="planning"),), "payroll", False),
        ((allow(), deny(purpose="payroll")), "planning", True),
        ((allow(), deny(purpose="payroll")), "payroll", False),
        ((allow(), deny(purpose="payroll")), None, False),
        ((allow(purpose="planning"), deny()), "planning", False),
        ((deny(), allow(purpose="planning")), "planning", True),
    ],
)
def test_a_consent_is_for_its_purpose(
    consents: tuple[PersonConsent, ...], purpose: str | None, *, allowed: bool
) -> None:
    """Who names no purpose is not told once any was taken back."""
    assert is_consented(consents, KIM, ADA, purpose) is allowed


def test_a_group_is_named_as_one() -> None:
    """A user who is called like a group is another reader."""
    given = used(about=KIM)
    team = {"private": False, "group": "team"}
    assert is_visible(given, reader(consents=(allow(TEAM),), **team))
    assert not is_visible(given, reader(consents=(allow("user:team"),), **team))


@pytest.mark.requirement("P24", "W14")
@pytest.mark.parametrize(("start", "is_stale"), [(NOW - 1, False), (NOW, False), (NOW + 1, True)])
def test_what_has_not_begun_is_not_in_force(start: int, *, is_stale: bool) -> None:
    """At the very moment of its beginning it is."""
    (given,) = recorded(used(starts_at=start))
    assert given.is_stale(NOW) is is_stale
    standing = decide_standing((given,), reader(), NOW)
    assert names(standing.stale) == ["a"] * is_stale
    assert len(standing.agreed) == 1 - is_stale
