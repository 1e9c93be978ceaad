"""How a timeline begins, and how a beginning that was interrupted is brought to its end.

Each step is taken only where its file is missing, and never twice: a key is kept, an empty log is gone on with, and
what holds more than that is refused. ``timeline.remains`` decides what the standing files mean.
"""

from sidecars.leaf import KeyEpoch, Policy
from timeline.anchors.pin import write_pin
from timeline.clock import Entropy
from timeline.errors import StateExistsError, StateRemainsError
from timeline.files import hold_directory, is_there, make_directory, remove_temporaries
from timeline.keystore import begin_keystore, load_keystore, pin_keystore
from timeline.lock import hold_writer_lock
from timeline.paths import Locations
from timeline.ports import Ports
from timeline.projection import write_vocabulary
from timeline.remains import Stage, decide_stage, find_remains
from timeline.state import State, open_local
from timeline.store import create_store
from timeline.tlog import is_unrecorded, write_empty_log
from timeline.view import LogView


def found_timeline(locations: Locations, ports: Ports, rules: Policy) -> LogView:
    """Make keys, state, head and anchor, and record the owner's rules; or complete what was interrupted.

    Raises:
        StateExistsError: there is one already; nothing is changed.
        StateRemainsError: only parts of one are there; nothing is changed.
        StateBusyError: another process is writing.
        StateError, SidecarError: it cannot be written, or what was left is not to be believed.
    """
    with hold_writer_lock(locations.lock):
        _refuse_lost(locations)
        make_directory(locations.state)
        with hold_directory(locations.state):
            # Asked again: until the folder was held, a process with another lock could write.
            if _refuse_lost(locations) is Stage.UNPINNED:
                _prepare(locations, ports.entropy)
            return _record(locations, ports, rules)


def _refuse_lost(locations: Locations) -> Stage:
    found = find_remains(locations)
    stage = decide_stage(found)
    if stage is Stage.LOST:
        there = ", ".join(name for name in found.__struct_fields__ if getattr(found, name))
        message = f"{locations.state}, {locations.trust}: of a timeline only these are left: {there}"
        raise StateRemainsError(
            message,
            hint=(
                "restore the missing files from a backup of the same moment; where nothing is to be kept, move "
                f"{locations.state} and {locations.trust} away, then run `timeline init`"
            ),
        )
    return stage


def _prepare(locations: Locations, entropy: Entropy) -> None:
    """Everything up to the pins, in the order that ``timeline.remains`` relies on."""
    for folder in (locations.trust, locations.keys, locations.sidecars):
        make_directory(folder)
    keystore = begin_keystore(locations, entropy)
    write_empty_log(locations, keystore)
    if not is_there(locations.database):
        create_store(locations.database).close()
    make_directory(locations.config)
    write_pin(locations.anchor_pin, keystore.pins.origin, None)
    pin_keystore(locations)


def _record(locations: Locations, ports: Ports, rules: Policy) -> LogView:
    """The first batch: committed, or, where it was committed and not finished, repaired."""
    keystore = load_keystore(locations)
    if not is_unrecorded(locations, keystore):
        message = f"{locations.state}: there is a timeline already"
        raise StateExistsError(message)
    for folder in (locations.state, locations.trust, locations.keys):
        remove_temporaries(folder)
    with open_local(locations, ports, may_be_empty=True) as state:
        if state.view.policy is None:
            _commit_rules(state, rules)
        elif state.view.policy == rules:
            state.repair()
        else:  # whoever asks for other rules now must not be told that they were recorded
            message = f"{locations.state}: other rules of the owner are recorded already"
            raise StateExistsError(message)
        return state.view


def _commit_rules(state: State, rules: Policy) -> None:
    pins = state.keystore.pins
    state.commit(
        [rules, KeyEpoch(epoch=0, log_key=str(pins.log), owner_key=str(pins.owner), reason="first")],
        project=lambda store, _leaves: write_vocabulary(store),
    )
