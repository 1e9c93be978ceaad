"""A sidecar is believed only as the one that its leaf states."""

import msgspec
import pytest

from sidecars.digest import Digest
from sidecars.errors import DigestMismatchError, UnknownKeyError
from tests.timeline.cases import Case, indexed_session
from timeline.search import SearchScope
from timeline.terms import parse_query
from timeline.verified import verify_sidecar

OTHER = {
    "source": "source:" + "0" * 32,
    "segment": 1,
    "count": 4,
    "root": str(Digest(bytes(32))),
}


@pytest.mark.requirement("T3", "T67")
@pytest.mark.parametrize("field", OTHER)
def test_a_well_signed_sidecar_of_another_leaf_is_refused(indexed: Case, field: str) -> None:
    """Source, segment, count and root: the signature alone does not say where it belongs."""
    with indexed.state() as state:
        (entry,) = state.view.active[0].kept
        content = state.sidecars.get(Digest.parse(entry.digest))
        pins = state.keystore.pins
        verified, _ = verify_sidecar(content, entry, origin=pins.origin, log_key=pins.log)
        assert (verified.header.count, verified.header.user_messages) == (6, 3)
        stated = msgspec.structs.replace(entry, **{field: OTHER[field]})
        with pytest.raises(DigestMismatchError):
            verify_sidecar(content, stated, origin=pins.origin, log_key=pins.log)


@pytest.mark.requirement("T3", "T67")
def test_a_sidecar_of_another_log_is_refused(indexed: Case, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Another machine's key is no key here."""
    other = indexed_session(tmp_path_factory.mktemp("other") / "w")
    with indexed.state() as state, other.state() as theirs:
        (entry,) = theirs.view.active[0].kept
        content = theirs.sidecars.get(Digest.parse(entry.digest))
        with pytest.raises(UnknownKeyError):
            verify_sidecar(content, entry, origin=state.keystore.pins.origin, log_key=state.keystore.pins.log)


@pytest.mark.requirement("T3", "T22", "T67")
def test_a_sidecar_that_changes_while_it_is_used_gives_no_card(indexed: Case) -> None:
    """It was verified a moment ago; the line that is read now is compared with the signed root again."""
    with indexed.state() as state:
        scope = SearchScope(state, state.view.active)
        query = parse_query(("pytest", "12"))
        assert scope.search(window=None, query=query).cards
        (entry,) = state.view.active[0].kept
        path = state.locations.sidecars / f"sha256-{Digest.parse(entry.digest).hex()}"
        content = path.read_bytes()
        assert content.count(b'"exit_code":0') == 2
        path.write_bytes(content.replace(b'"exit_code":0', b'"exit_code":1'))
        with pytest.raises(DigestMismatchError):
            scope.search(window=None, query=query)
