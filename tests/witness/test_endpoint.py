"""Where a witness may be: this machine in plain text, other machines over TLS, and nowhere else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeline.witness.endpoint import (
    NetworkEndpoint,
    UnixEndpoint,
    parse_endpoint,
    parse_listen,
    parse_socket_path,
)
from timeline.witness.errors import WitnessAddressError


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        ("unix:/run/w/socket", UnixEndpoint("/run/w/socket")),
        ("/run/w/socket", UnixEndpoint("/run/w/socket")),
        ("http://127.0.0.1:7380", NetworkEndpoint("http", "127.0.0.1", 7380)),
        ("http://127.0.0.1/", NetworkEndpoint("http", "127.0.0.1", 80)),
        ("http://localhost:1", NetworkEndpoint("http", "localhost", 1)),
        ("http://[::1]:7380/", NetworkEndpoint("http", "::1", 7380)),
        ("https://witness.example", NetworkEndpoint("https", "witness.example", 443)),
        ("https://witness.example:8443/a/b/", NetworkEndpoint("https", "witness.example", 8443, "/a/b")),
    ],
)
def test_an_address_is_read(text: str, endpoint: object) -> None:
    """And written so that it is read again."""
    assert parse_endpoint(text) == endpoint
    assert parse_endpoint(str(endpoint)) == endpoint


@pytest.mark.parametrize(
    "text",
    [
        "",
        "witness.example",
        "ftp://witness.example",
        "http://witness.example",
        "http://10.0.0.1:80",
        "http://0.0.0.0:80",
        "http://127.0.0.1.example:80",
        "https://",
        "https://user:word@witness.example",
        "https://witness.example?x=1",
        "https://witness.example#x",
        "https://witness.example/a b",
        "https://witness.example/\r\nX: y",
        "https://witness.example:0x50",
        "https://witness.example:99999",
        "https://[::1",
        "https://wítness.example",
        "https://witness.example/" + "x" * 3000,
        "unix:relative",
        "unix:",
        "/tab\there",
        "/" + "x" * 103,
    ],
)
def test_what_is_no_address_of_a_witness_is_refused(text: str) -> None:
    """Plain HTTP to other machines, credentials, queries, and whatever would end a request line."""
    with pytest.raises(WitnessAddressError):
        parse_endpoint(text)


@given(st.text(max_size=60) | st.text(max_size=30).map(lambda text: f"https://{text}"))
def test_any_text_is_an_address_or_refused(text: str) -> None:
    """No other exception."""
    try:
        endpoint = parse_endpoint(text)
    except WitnessAddressError:
        return
    assert parse_endpoint(str(endpoint)) == endpoint


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [("127.0.0.1:0", "127.0.0.1", 0), ("127.8.8.8:65535", "127.8.8.8", 65535), ("[::1]:80", "::1", 80)],
)
def test_it_serves_on_this_machine(text: str, host: str, port: int) -> None:
    """Addresses of the loopback only."""
    assert parse_listen(text) == NetworkEndpoint("http", host, port)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ":80",
        "80",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:x",
        "127.0.0.1:65536",
        "127.0.0.1:-1",
        "0.0.0.0:80",
        "[::]:80",
        "10.0.0.1:80",
        "localhost:80",
        "example.com:80",
        "127.0.0.1:٣",
    ],
)
def test_it_does_not_serve_elsewhere(text: str) -> None:
    """Neither every address nor a name that may change."""
    with pytest.raises(WitnessAddressError):
        parse_listen(text)


def test_a_socket_path_is_absolute_and_short() -> None:
    """103 bytes serve on every system."""
    assert parse_socket_path("/" + "x" * 102) == UnixEndpoint("/" + "x" * 102)
    for path in ("x", "", "/" + "ü" * 52, "/a\nb"):
        with pytest.raises(WitnessAddressError):
            parse_socket_path(path)
