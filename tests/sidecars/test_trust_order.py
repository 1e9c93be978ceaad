"""``trust``: the order of admission, and that a refusal moves nothing."""

import pytest

from sidecars.errors import BrokenLinkError, EquivocationError, SidecarError, StateBehindError
from sidecars.trust import TrustedLog
from tests.sidecars.samples import LOG, ORIGIN, OWNER, STRANGER, make_enrollment
from tests.sidecars.simulator import LogSimulator, View, entry, examine


@pytest.fixture
def log() -> LogSimulator:
    """Give a log of eight leaves in four batches: rules, consent, two sidecars, three more."""
    log = LogSimulator()
    log.commit([make_enrollment()])
    log.commit([entry("a"), entry("b")])
    log.commit([entry("c"), entry("d"), entry("e")])
    return log


def make_trusted() -> TrustedLog:
    """Give a fresh ``TrustedLog`` with the usual pins."""
    return TrustedLog(origin=ORIGIN, owner=OWNER.verifier, log_keys=[LOG.verifier])


STEPS = ("admit_anchor", "admit_head", "admit_leaf", "finish")


def take(trusted: TrustedLog, view: View, step: str) -> None:
    """Take one step with what the view has for it."""
    match step:
        case "admit_anchor":
            trusted.admit_anchor(view.anchor)
        case "admit_head":
            trusted.admit_head(view.head)
        case "admit_leaf":
            trusted.admit_leaf(*view.leaves[trusted.size])
        case "finish":
            while trusted.size < len(view.leaves):
                trusted.admit_leaf(*view.leaves[trusted.size])
            trusted.finish()


ALLOWED = {None: "admit_anchor", "admit_anchor": "admit_head"}


@pytest.mark.parametrize("second", STEPS)
@pytest.mark.parametrize("first", [None, *STEPS])
def test_every_pair_of_steps_out_of_order_is_the_callers_mistake(
    log: LogSimulator, first: str | None, second: str
) -> None:
    """Of all pairs only anchor-head, head-leaf, head-finish, leaf-leaf and leaf-finish are taken."""
    trusted = make_trusted()
    for step in STEPS[: 0 if first is None else STEPS.index(first) + 1]:
        take(trusted, log.view, step)
    size = trusted.size
    is_next = second == ALLOWED.get(first) or (
        first in ("admit_head", "admit_leaf") and second in ("admit_leaf", "finish")
    )
    if is_next:
        take(trusted, log.view, second)
    else:
        arguments = {
            "admit_anchor": [log.view.anchor],
            "admit_head": [log.view.head],
            "admit_leaf": log.view.leaves[0],
            "finish": [],
        }[second]
        with pytest.raises(RuntimeError, match="in this order"):
            getattr(trusted, second)(*arguments)
        assert trusted.size == size


def test_nothing_moves_on_a_refusal(log: LogSimulator) -> None:
    """After each refused step the right one is still taken, and the end is the same as without it."""
    trusted = make_trusted()
    old = log.fork(2).view
    with pytest.raises(SidecarError):
        trusted.admit_anchor(log.sign(STRANGER))
    trusted.admit_anchor(log.view.anchor)
    for wrong in (old.head, log.sign(STRANGER), b"rubbish"):
        with pytest.raises(SidecarError):
            trusted.admit_head(wrong)
    trusted.admit_head(log.view.head)
    for number, (value, envelope) in enumerate(log.view.leaves):
        for other_salt, other in (
            (value, log.view.leaves[number - 1][1]),
            (b"short", envelope),
            (value, b""),
        ):
            with pytest.raises(SidecarError):
                trusted.admit_leaf(other_salt, other)
            assert trusted.size == number
        if number:
            with pytest.raises((StateBehindError, BrokenLinkError)):
                trusted.finish()
        trusted.admit_leaf(value, envelope)
    finding = trusted.finish()
    assert finding == examine(log.view)


def test_equivocation_is_refused_with_the_head_before_any_leaf(log: LogSimulator) -> None:
    """Two roots for one size need no leaves to be noticed."""
    trusted = make_trusted()
    trusted.admit_anchor(log.view.anchor)
    fork = log.fork(5)
    fork.commit([entry("x"), entry("y"), entry("z")])
    with pytest.raises(EquivocationError):
        trusted.admit_head(fork.view.head)
    trusted.admit_head(log.view.head)
