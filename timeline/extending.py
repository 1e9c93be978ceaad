"""Followed sources that are due, read on together: what they have waiting is committed as one group.

For the daemon. Each source is asked for as a command would ask for it, and is refused alone; what the owner's scope
or consent does not allow any more is no part of the group.
"""

from collections.abc import Sequence

import msgspec

from timeline.committing import Work, commit_together
from timeline.config import Config, load_config
from timeline.index import IndexResult, index_work
from timeline.limits import INDEX_BYTES_DEFAULT
from timeline.service import Session, asked_sources
from timeline.span import without_collector
from timeline.state import State


class Due(msgspec.Struct, frozen=True):
    """One source that is to be read on: its project and enrollment, and how many bytes before its end to compare."""

    project: str
    enrollment_id: str
    proof_bytes: int


def extend_together(session: Session, due: Sequence[Due]) -> tuple[IndexResult | Exception, ...]:
    """Read on each of ``due`` to its end, and commit what they want in as few batches as the log's bounds allow.

    Returns, for each, the result or the error that refused it.

    Raises:
        ConfigError: the configuration is not usable.
        StateError, SidecarError: the state cannot be used, or a batch not be committed; that batch fails for all.
    """
    with session.writing() as state, without_collector():
        config = load_config(session.locations.settings)
        return commit_together(state, [_work(state, session, config, item) for item in due])


def _work(state: State, session: Session, config: Config, due: Due) -> Work[IndexResult]:
    # Asked for once the work has begun: a refusal is then this source's own.
    (source,) = asked_sources(state, session, due.project, due.enrollment_id)
    return (
        yield from index_work(
            state,
            source,
            max_bytes=INDEX_BYTES_DEFAULT,
            proof_bytes=due.proof_bytes,
            strict_formats=config.strict_formats,
        )
    )
