"""Where an anchor is: this machine under any name, and one place under two spellings."""

import ipaddress
import socket
import subprocess
import sys
import threading
from typing import Any

import pytest

from sidecars.leaf import AnchorEntry
from timeline.anchors import locality
from timeline.anchors.locality import Address, decide_elsewhere, is_elsewhere, is_own, place_of
from timeline.assurance import Holder, find_holder

pytestmark = pytest.mark.requirement("X5")

ELSEWHERE = "192.0.2.1"
"""RFC 5737: no machine has it."""


@pytest.fixture
def unbound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no interface of this machine be tried: a test binds no internet address."""
    monkeypatch.setattr(locality, "is_own", lambda _: False)


def holders(host: str) -> set[Holder]:
    """Give who holds a witness, and a database, at this host."""
    database = f"postgresql://{host}/anchors?sslmode=verify-full"
    return {
        find_holder(AnchorEntry("w", "witness", f"https://{host}:8443", None)),
        find_holder(AnchorEntry("p", "postgres", database, None)),
    }


def answer(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    """Let every name have these addresses."""
    rows = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in addresses]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_options: rows)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.1", "[::]", "[::1]", "[::ffff:127.0.0.1]"])
@pytest.mark.usefixtures("unbound")
def test_this_machine_is_no_other_one_however_it_is_written(host: str) -> None:
    """Numbers that lead back here, in the spellings that the system itself takes."""
    assert holders(host) == {Holder.SAME}


@pytest.mark.parametrize("host", [ELSEWHERE, f"[::ffff:{ELSEWHERE}]", "[2001:db8::1]"])
@pytest.mark.usefixtures("unbound")
def test_a_number_that_nobody_here_has_is_another_machine(host: str) -> None:
    """The level is not lost where it is earned."""
    assert holders(host) == {Holder.OTHER_MACHINE}


@pytest.mark.parametrize(
    ("addresses", "expected"),
    [
        ([ELSEWHERE], Holder.OTHER_MACHINE),
        ([ELSEWHERE, "2001:db8::1"], Holder.OTHER_MACHINE),
        ([ELSEWHERE, "127.0.1.1"], Holder.SAME),
        (["169.254.0.7"], Holder.SAME),
        (["fe80::1%lo"], Holder.SAME),
        (["::"], Holder.SAME),
        ([], Holder.SAME),
        ([ELSEWHERE, "no number"], Holder.SAME),
    ],
)
@pytest.mark.usefixtures("unbound")
def test_a_name_is_worth_what_all_its_addresses_are(
    monkeypatch: pytest.MonkeyPatch, addresses: list[str], expected: Holder
) -> None:
    """``localhost.`` and the machine's own name are names like any other: one address here is enough."""
    answer(monkeypatch, *addresses)
    assert find_holder(AnchorEntry("w", "witness", "https://witness.example.org", None)) is expected


def test_a_name_that_cannot_be_looked_up_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error, and a look-up that does not end."""

    def fails(*_args: Any, **_options: Any) -> None:
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", fails)
    assert not is_elsewhere("witness.example.org")
    ends = threading.Event()

    def waits(*_args: Any, **_options: Any) -> list[Any]:
        ends.wait(60)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", waits)
    monkeypatch.setattr(locality, "LOOK_UP_SECONDS", 0.01)
    assert not is_elsewhere("witness.example.org")
    ends.set()


def test_an_address_of_this_machine_s_own_interfaces_is_its_own() -> None:
    """Whatever can be bound here; asked in a child, where an internet address may be bound."""
    tried = (
        "import ipaddress, timeline.anchors.locality as l; "
        f"print([l.is_own(ipaddress.ip_address(a)) for a in ('127.0.0.1', '{ELSEWHERE}')])"
    )
    done = subprocess.run([sys.executable, "-c", tried], capture_output=True, check=True, encoding="utf-8")
    assert done.stdout == "[True, False]\n"


def test_one_address_of_its_own_is_enough() -> None:
    """The decision alone, from values."""
    found: list[Address] = [ipaddress.ip_address(ELSEWHERE)]
    assert not decide_elsewhere(found, lambda _: True)
    assert decide_elsewhere(found, lambda _: False)


def test_what_cannot_be_tried_counts_as_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """No descriptor is left: that is no proof of another machine."""

    def full(*_args: Any) -> None:
        raise OSError(24, "too many open files")

    monkeypatch.setattr(socket, "socket", full)
    assert is_own(ipaddress.ip_address(ELSEWHERE))


SAME = {
    "unix": ("witness", "unix:/run/w", "/run/../run/w"),
    "port": ("witness", "https://w.example/a", "https://W.example.:443/a/"),
    "mapped": ("witness", "https://192.0.2.1", "https://[::ffff:192.0.2.1]"),
    "row": ("postgres", "postgresql://a@localhost/db", "postgres://b@localhost:5432/db?sslmode=verify-full"),
    "socket": ("postgres", "postgresql:///db?host=/run/pg", "postgresql://%2Frun%2F.%2Fpg/db"),
    "file": ("file", "/mnt/a", "/mnt/../mnt/a"),
}


@pytest.mark.parametrize("what", SAME)
def test_two_spellings_are_one_place(what: str) -> None:
    """An anchor that is named twice counts once."""
    kind, one, other = SAME[what]
    places = {place_of(AnchorEntry("x", kind, text, None)) for text in (one, other)}  # type: ignore[arg-type]  # one of the three kinds
    assert len(places) == 1


def test_other_places_stay_apart() -> None:
    """Also those whose address is none."""
    texts = [
        ("witness", "https://w.example/a"),
        ("witness", "https://w.example/b"),
        ("witness", "https://w.example:444/a"),
        ("witness", "no address"),
        ("witness", "no other address"),
        ("postgres", "postgresql://localhost/a"),
        ("postgres", "postgresql://localhost/b"),
        ("postgres", "postgresql://localhost:5433/a"),
        ("file", "/mnt/a"),
        ("file", "/mnt/b"),
    ]
    places = {place_of(AnchorEntry("x", kind, text, None)) for kind, text in texts}  # type: ignore[arg-type]  # of the three kinds
    assert len(places) == len(texts)
