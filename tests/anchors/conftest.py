from collections.abc import Iterator

import pytest

from tests.anchors.cluster import Cluster, find_binaries, running
from tests.anchors.stages import PostgresStage
from tests.services import skip_without
from timeline.anchors.schema import format_schema


@pytest.fixture(scope="session")
def server() -> Iterator[Cluster]:
    """Serve a PostgreSQL cluster for all tests of this process, or skip where the system has none."""
    binaries = find_binaries()
    if binaries is None:
        skip_without("PostgreSQL server (initdb, pg_ctl)")
    with running(binaries) as cluster:
        yield cluster


@pytest.fixture
def cluster(server: Cluster) -> Cluster:
    """Give the server with an empty anchor table."""
    server.execute("DROP SCHEMA IF EXISTS timeline_anchor CASCADE", format_schema())
    return server


@pytest.fixture
def stage(cluster: Cluster) -> PostgresStage:
    """Give a PostgreSQL anchor whose table is empty."""
    return PostgresStage(cluster)
