"""The leaves of the log as a plan sees them: all that are not erased, one after the other."""

from collections.abc import Iterator

from sidecars.envelope import parse_envelope
from sidecars.erased import is_erased
from sidecars.leaf import SIGNED_BY, leaf_hash, parse_leaf, payload_type
from timeline.errors import StateCorruptError
from timeline.forgetting.plan import Item
from timeline.state import State

_KIND_OF_TYPE = {payload_type(kind): kind for kind in SIGNED_BY}


def read_items(state: State) -> Iterator[Item]:
    """Every leaf that is there and not erased, in order; they were verified when the state was opened.

    Raises:
        StateError, SidecarError: they cannot be read.
    """
    for index, salt, envelope in state.store.leaves():
        if index >= state.belief.size:
            return
        if is_erased(salt) or index in state.view.erased:
            continue
        parsed = parse_envelope(envelope)
        kind = _KIND_OF_TYPE.get(parsed.payload_type)
        if kind is None:
            message = f"{state.store.path}: leaf {index}: not of a kind that was verified"
            raise StateCorruptError(message)
        leaf = parse_leaf(parsed.payload, kind)
        yield Item(index, leaf_hash(salt, envelope), kind.value, leaf.body)
