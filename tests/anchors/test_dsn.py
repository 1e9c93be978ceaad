import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from timeline.anchors.dsn import Dsn, parse_dsn
from timeline.anchors.errors import AnchorAddressError

SECRET = "hunter2-never-repeat-this"
TLS = "sslmode=verify-full"

GOOD: dict[str, Dsn] = {
    f"postgresql://db.example.org/anchors?{TLS}": Dsn(
        "db.example.org", 5432, "anchors", None, (("sslmode", "verify-full"),)
    ),
    f"postgres://me@db.example.org:6543/anchors?{TLS}&sslrootcert=system": Dsn(
        "db.example.org", 6543, "anchors", "me", (("sslmode", "verify-full"), ("sslrootcert", "system"))
    ),
    "postgresql:///anchors?host=/run/postgresql": Dsn("/run/postgresql", 5432, "anchors", None, ()),
    "postgresql://me@/anchors?host=/run/pg&port=5433": Dsn("/run/pg", 5433, "anchors", "me", ()),
    "postgresql://me@%2Frun%2Fpg:5433/anchors": Dsn("/run/pg", 5433, "anchors", "me", ()),
    "postgresql://127.0.0.1/anchors": Dsn("127.0.0.1", 5432, "anchors", None, ()),
    "postgresql://localhost/anchors?user=me": Dsn("localhost", 5432, "anchors", "me", ()),
    "postgresql://[::1]:5433/a%20b": Dsn("::1", 5433, "a b", None, ()),
    "postgresql://a%3Ab@127.0.0.1/anchors?passfile=/etc/pgpass": Dsn(
        "127.0.0.1", 5432, "anchors", "a:b", (("passfile", "/etc/pgpass"),)
    ),
}


@pytest.mark.parametrize("address", GOOD)
def test_a_good_address_is_taken_apart(address: str) -> None:
    """Host, port, database, user and the options of libpq."""
    assert parse_dsn(address) == GOOD[address]


@pytest.mark.parametrize("address", [a for a in GOOD if "localhost" not in a])
def test_libpq_reads_an_address_as_we_do(address: str) -> None:
    """No address means one thing to the check and another to the connection."""
    theirs = {name: str(value) for name, value in conninfo_to_dict(address).items()}
    ours = parse_dsn(address).parameters()
    assert theirs.items() <= ours.items()
    added = {"hostaddr": "", "gssencmode": "disable", "port": "5432", "sslmode": "disable"}
    assert {name: value for name, value in ours.items() if name not in theirs}.items() <= added.items()
    assert conninfo_to_dict(make_conninfo(**ours)) == ours


def test_libpq_is_told_what_the_environment_would_say() -> None:
    """Host, address, port and both ways of encryption are stated, so that no variable is asked for them."""
    assert parse_dsn("postgresql:///anchors?host=/run/pg").parameters() == {
        "host": "/run/pg",
        "hostaddr": "",
        "port": "5432",
        "dbname": "anchors",
        "sslmode": "disable",
        "gssencmode": "disable",
    }


PASSWORDS = [
    f"postgresql://me:{SECRET}@db.example.org/anchors?{TLS}",
    f"postgresql://:{SECRET}@db.example.org/anchors?{TLS}",
    f"postgresql://me:@db.example.org/{SECRET}?{TLS}",
    f"postgresql://me:{SECRET}@x@db.example.org/anchors?{TLS}",
    f"postgresql://db.example.org/anchors?{TLS}&password={SECRET}",
    f"postgresql://db.example.org/anchors?password={SECRET}",
    f"postgresql://db.example.org/anchors?{TLS}&sslpassword={SECRET}",
    f"postgresql://me:{SECRET}@@/anchors",
]

HIDDEN_PASSWORDS = [
    f"postgresql://db.example.org/anchors?{TLS}&p%61ssword={SECRET}",
    f"postgresql://me:{SECRET}/x@db.example.org/anchors?{TLS}",
]

BAD = {
    "empty": "",
    "another scheme": f"mysql://db.example.org/anchors?{TLS}",
    "capitals": f"PostgreSQL://db.example.org/anchors?{TLS}",
    "key and value": "host=db.example.org dbname=anchors",
    "a space": "postgresql:///a b?host=/run/pg",
    "a newline": "postgresql:///anchors?host=/run/pg\n",
    "no ASCII": "postgresql:///ä?host=/run/pg",
    "too long": "postgresql:///" + "a" * 500 + "?host=/run/pg",
    "no host": "postgresql:///anchors",
    "no database": f"postgresql://db.example.org?{TLS}",
    "an empty database": f"postgresql://db.example.org/?{TLS}",
    "two hosts": f"postgresql://a.example.org,b.example.org/anchors?{TLS}",
    "two hosts with ports": f"postgresql://a.example.org:1,b.example.org:2/anchors?{TLS}",
    "the host twice": f"postgresql://a.example.org/anchors?{TLS}&host=b.example.org",
    "an option twice": f"postgresql://db.example.org/anchors?{TLS}&sslmode=disable",
    "a relative folder": "postgresql:///anchors?host=run/pg",
    "an abstract socket": "postgresql:///anchors?host=@run",
    "a host with an escape": "postgresql://db%2eexample%00org/anchors",
    "port 0": f"postgresql://db.example.org:0/anchors?{TLS}",
    "port 65536": f"postgresql://db.example.org:65536/anchors?{TLS}",
    "port with a sign": f"postgresql://db.example.org:+1/anchors?{TLS}",
    "an empty port": f"postgresql://db.example.org:/anchors?{TLS}",
    "a fragment": f"postgresql://db.example.org/anchors?{TLS}#x",
    "another path": f"postgresql://db.example.org/anchors/x?{TLS}",
    "a service": f"postgresql://db.example.org/anchors?{TLS}&service=x",
    "settings": f"postgresql://db.example.org/anchors?{TLS}&options=-csynchronous_commit%3Doff",
    "another address": f"postgresql://db.example.org/anchors?{TLS}&hostaddr=10.0.0.1",
    "an option without a value": "postgresql:///anchors?host=/run/pg&sslmode",
    "an option with an empty value": "postgresql:///anchors?host=",
    "no options": "postgresql://127.0.0.1/anchors?",
    "a broken escape": "postgresql:///anc%hors?host=/run/pg",
    "an escaped zero": "postgresql:///anc%00hors?host=/run/pg",
    "an escaped newline": "postgresql:///anc%0Ahors?host=/run/pg",
    "an escape that is no UTF-8": "postgresql:///anc%ffhors?host=/run/pg",
    "a relative certificate": f"postgresql://db.example.org/anchors?{TLS}&sslrootcert=ca.pem",
    "another machine": "postgresql://db.example.org/anchors",
    "another machine by number": "postgresql://10.0.0.1/anchors",
    "TLS without a verified name": "postgresql://db.example.org/anchors?sslmode=verify-ca",
    "TLS without verification": "postgresql://db.example.org/anchors?sslmode=require",
    "no TLS": "postgresql://db.example.org/anchors?sslmode=disable",
    "a name that begins like this machine's": "postgresql://localhost.example.org/anchors",
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_address_is_refused(what: str) -> None:
    """Each breaks one rule."""
    with pytest.raises(AnchorAddressError):
        parse_dsn(BAD[what])


@pytest.mark.parametrize("address", PASSWORDS + HIDDEN_PASSWORDS)
def test_a_password_is_refused_and_not_repeated(address: str) -> None:
    """An address stands in the log for good; the error does not spread what must not stand there."""
    with pytest.raises(AnchorAddressError) as caught:
        parse_dsn(address)
    assert SECRET not in f"{caught.value}{caught.value.hint}"
    assert address in HIDDEN_PASSWORDS or "must hold no password" in str(caught.value)


@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7F), max_size=80))
def test_any_text_is_an_address_or_is_refused(text: str) -> None:
    """No other error leaves the border."""
    for address in (text, f"postgresql://{text}", f"postgresql:///anchors?host=/run/pg&{text}"):
        try:
            dsn = parse_dsn(address)
        except AnchorAddressError:
            continue
        assert conninfo_to_dict(make_conninfo(**dsn.parameters())) == dsn.parameters()


def test_the_name_of_this_machine_leads_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without TLS `localhost` is the loopback address, whatever a hosts file or variable says."""
    monkeypatch.setenv("PGHOSTADDR", "10.0.0.1")
    given = parse_dsn("postgresql://localhost/anchors").parameters()
    assert (given["host"], given["hostaddr"]) == ("127.0.0.1", "")
    tls = parse_dsn(f"postgresql://localhost/anchors?{TLS}").parameters()
    assert (tls["host"], tls["sslmode"]) == ("localhost", "verify-full")


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("postgresql:///anchors?host=/run/pg&port=5433", "/run/pg/.s.PGSQL.5433"),
        ("postgresql://%2Frun%2Fpg/anchors", "/run/pg/.s.PGSQL.5432"),
        ("postgresql://127.0.0.1/anchors", None),
    ],
)
def test_the_socket_is_named(address: str, path: str | None) -> None:
    """Whose socket it is says who holds the anchor."""
    assert parse_dsn(address).socket_path == path
