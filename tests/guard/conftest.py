"""Worlds of the tests of the use cases; each test has its own, since a transcript is part of it."""

from pathlib import Path

import pytest

from tests.guard.agents import Agent, agent_of
from tests.simulators.worlds import World, new_world
from tests.timeline.cases import Case, enroll_session
from timeline.hosts import HOSTS


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Give a timeline after ``init``."""
    return new_world(tmp_path / "world")


@pytest.fixture
def enrolled(world: World) -> Case:
    """Give one enrolled session of three test runs, not indexed yet."""
    return enroll_session(world)


@pytest.fixture
def indexed(enrolled: Case) -> Case:
    """Give the same, indexed to its end."""
    enrolled.index()
    return enrolled


@pytest.fixture(params=sorted(HOSTS))
def agent(request: pytest.FixtureRequest, world: World) -> Agent:
    """Give the agent of an enrolled and indexed session, of each host."""
    return agent_of(world, request.param)
