"""A timeline that a witness watches, as fixtures of every package that puts one back."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.simulators.anchored import Anchored, make_anchored
from tests.simulators.witnesses import socket_path


@pytest.fixture(scope="session")
def witness_socket() -> Iterator[str]:
    """Give the place where the witness is asked."""
    with socket_path() as path:
        yield path


@pytest.fixture(scope="session")
def anchored_origin(tmp_path_factory: pytest.TempPathFactory, witness_socket: str) -> Anchored:
    """Give the anchored world at its newest moment; it is copied, never changed."""
    return make_anchored(tmp_path_factory.mktemp("anchored"), witness_socket)


@pytest.fixture
def anchored(anchored_origin: Anchored, tmp_path: Path) -> Anchored:
    """Give a copy, to be changed."""
    return anchored_origin.copy(tmp_path)
