"""Asking a real database, and looking into it as its administrator."""

from tests.anchors.cluster import Cluster
from tests.anchors.contract import question
from tests.simulators.witnesses import Branch, HandClock
from timeline.anchors.port import Answer
from timeline.anchors.postgres import postgres_anchor

TABLE = "timeline_anchor.anchor"


def ask(cluster: Cluster, log: Branch, known: int = 0, **target: str) -> Answer:
    """Ask once, as any role and of any database."""
    return postgres_anchor(cluster.dsn(**target), HandClock()).advance(question(log, known))


def held_size(cluster: Cluster) -> int | None:
    """Give the size in the table, read by an administrator."""
    with cluster.connect() as connection:
        row = connection.execute(f"SELECT size FROM {TABLE}").fetchone()
    return None if row is None else row[0]


def said(answer: Answer) -> tuple[str, str | None]:
    """Give standing and reason."""
    return str(answer.standing), answer.reason
