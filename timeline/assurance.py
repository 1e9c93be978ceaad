"""How much the anchors say for a state, and which level of assurance that allows to claim (integrity §3.4).

| level | what a verification has looked at |
|---|---|
| L0 | signatures only |
| L1 | a local anchor in another folder tree |
| L2 | an anchor that another user, or a database on another machine, holds |
| L3 | a carried anchor: up to its size (``verify --against``) |
| L4 | one external witness |
| L5 | a quorum of external witnesses |

A level is claimed only for what confirmed this very state in this run. What cannot be told is not claimed: a witness
on a port of this machine may run as the same user, and counts as L1; so does one whose host cannot be looked up.
"""

import os
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

import msgspec

from sidecars.leaf import AnchorEntry, AnchorPolicy
from timeline.anchors.asking import ask_anchors, recall_anchors
from timeline.anchors.locality import is_elsewhere, plain_host
from timeline.anchors.proving import Subject
from timeline.anchors.rules import AnchorReport, Confirmation, Verdict, decide
from timeline.clock import format_utc
from timeline.errors import StateError
from timeline.limits import DEADLINE_MS_DEFAULT, FRESHNESS_SECONDS_DEFAULT, UNWITNESSED_MAX_DEFAULT
from timeline.state import State
from timeline.witness.endpoint import NetworkEndpoint, UnixEndpoint, parse_endpoint

NO_ANCHORS = AnchorPolicy(
    anchors=(),
    quorum=0,
    freshness_seconds=FRESHNESS_SECONDS_DEFAULT,
    deadline_ms=DEADLINE_MS_DEFAULT,
    unwitnessed_max=UNWITNESSED_MAX_DEFAULT,
)
"""What is in force where the owner has decided nothing."""


RESTORATION_UNSEEN = (
    "complete restoration: state, trust and configuration put back together to one earlier moment are accepted; "
    "only an external witness or anchor would see it, and none is configured"
)
FRESHNESS_UNSEEN = "freshness: nothing outside this machine says that this is the latest state"
UNSEEN_ALONE = (RESTORATION_UNSEEN, FRESHNESS_UNSEEN)
"""What no verification sees without an external anchor."""


class Holder(StrEnum):
    """Who holds an anchor, as far as it can be told from here."""

    SAME = "same-user-or-unknown"
    OTHER_USER = "other-user"
    OTHER_MACHINE = "other-machine"


class AnchorStatus(msgspec.Struct, frozen=True):
    """The policy in force and what each anchor says; ``refused`` is why the state may not be used, if so.

    ``leaf`` is the policy's leaf, ``None`` where the owner has decided nothing; ``found`` is ``None`` where the state
    may not be used or no anchor is required.
    """

    policy: AnchorPolicy
    leaf: int | None
    size: int
    reports: tuple[AnchorReport, ...]
    found: Confirmation | None
    refused: StateError | None


def policy_of(state: State) -> AnchorPolicy:
    """The policy that is in force."""
    return NO_ANCHORS if state.view.anchors is None else state.view.anchors.policy


def find_standing(state: State, *, ask: bool) -> AnchorStatus:
    """How the external anchors stand to an open state; with ``ask`` each is asked now. What they say is no error.

    Raises:
        StateError: what is remembered of an anchor cannot be read, or a confirmation not be stored.
    """
    policy, decision = policy_of(state), state.view.anchors
    asker, head = state.external.asker(state.present), state.reading.finding.head
    subject = Subject(state.locations.database, head.checkpoint, head.note)
    reports = (ask_anchors if ask else recall_anchors)(asker, policy, subject) if policy.anchors else ()
    size, now_ms = head.checkpoint.size, state.ports.clock.now_ms()
    counts_from = state.view.vouched_from
    found = (
        decide(policy, reports, size=size, now_ms=now_ms, counts_from=counts_from) if policy.anchors else None
    )
    return AnchorStatus(
        policy,
        None if decision is None else decision.leaf,
        size,
        reports,
        found if isinstance(found, Confirmation) else None,
        found if isinstance(found, StateError) else None,
    )


def find_level(status: AnchorStatus, *, trust_is_apart: bool, carried: bool) -> str:
    """The highest level that may be claimed for this state: by whom it was confirmed just now."""
    refused = status.refused is not None
    confirmed = [] if refused else [report.entry for report in status.reports if report.confirms]
    return decide_level(
        [(entry, find_holder(entry)) for entry in confirmed],
        quorum=status.policy.quorum,
        trust_is_apart=trust_is_apart,
        carried=carried,
    )


def decide_level(
    confirmed: Sequence[tuple[AnchorEntry, Holder]], *, quorum: int, trust_is_apart: bool, carried: bool
) -> str:
    """The same from values alone."""
    witnesses = [
        entry for entry, holder in confirmed if entry.type == "witness" and holder is Holder.OTHER_MACHINE
    ]
    # No policy names a key twice (`sidecars.leaf`); where one does, it is one witness, as those of one host are.
    apart = min(len({_host_of(entry) for entry in witnesses}), len({key_of(entry) for entry in witnesses}))
    if quorum > 1 and apart >= quorum:
        return "L5"
    if witnesses:
        return "L4"
    if carried:
        return "L3"
    if any(holder is not Holder.SAME for _, holder in confirmed):
        return "L2"
    return "L1" if trust_is_apart else "L0"


def find_holder(entry: AnchorEntry) -> Holder:
    """Who holds an anchor: of a Unix socket its owner tells, of an address whether it is this machine's."""
    match entry.type:
        case "witness":
            endpoint = parse_endpoint(entry.address)
            if isinstance(endpoint, UnixEndpoint):
                return _holder_of_path(Path(endpoint.path))
            return _holder_of_host(endpoint.host)
        case "postgres":
            return _holder_of_database(entry.address)
        case _:
            return Holder.SAME


def _holder_of_host(host: str) -> Holder:
    return Holder.OTHER_MACHINE if is_elsewhere(host) else Holder.SAME


def _holder_of_path(path: Path) -> Holder:
    try:
        return Holder.SAME if os.lstat(path).st_uid == os.geteuid() else Holder.OTHER_USER
    except OSError:
        return Holder.SAME


def _holder_of_database(address: str) -> Holder:
    from timeline.anchors.dsn import parse_dsn

    dsn = parse_dsn(address)
    if dsn.socket_path is not None:
        return _holder_of_path(Path(dsn.socket_path))
    return _holder_of_host(dsn.host)


def _host_of(entry: AnchorEntry) -> str:
    """Witnesses of one host are one: whoever holds it holds both."""
    endpoint = parse_endpoint(entry.address)
    if not isinstance(endpoint, NetworkEndpoint):
        return str(endpoint)
    return plain_host(endpoint.host)


def key_of(entry: AnchorEntry) -> bytes:
    """A witness's key without its name: under two names it is still one.

    Raises:
        SidecarError: not a witness's vkey; no leaf holds such an entry.
    """
    from sidecars.cosignature import WitnessVerifier

    return WitnessVerifier.parse(entry.key or "").public_key


def unseen(status: AnchorStatus) -> list[str]:
    """What a verification with these anchors has not seen, in words."""
    found = status.found
    if found is None:
        return list(UNSEEN_ALONE) if status.refused is None else []
    if found.verdict is not Verdict.CONFIRMED:
        newest = max(report.memory.at for report in status.reports if report.memory is not None)
        return [
            (
                "complete restoration: no quorum answered now; what is remembered of the anchors may have been put "
                "back as well"
            ),
            f"freshness: the newest confirmation is of {format_utc(newest * 1000)}, {found.behind} leaves ago",
        ]
    return ["the anchors themselves: whoever puts them back together with this machine is not seen"]
