"""The whole program with a real database: a complete restoration of the machine is refused (X5)."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.anchors.cluster import Cluster
from tests.anchors.stages import PostgresStage
from tests.programs import runner

pytestmark = pytest.mark.requirement("X5")

FOLDERS = ("state", "trust", "config")
Said = Callable[..., dict[str, Any]]


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Said:
    """Give a function that runs a command: what it says as JSON, however it ends."""
    run = runner(monkeypatch)
    return lambda *arguments: json.loads(run(*arguments, "--json")[1])


def move(source: Path, target: Path) -> None:
    """Copy the folders of a timeline, and leave nothing else in their place."""
    for name in FOLDERS:
        shutil.rmtree(target / name, ignore_errors=True)
        shutil.copytree(source / name, target / name)


@pytest.fixture
def machine(cluster: Cluster, said: Said, tmp_path: Path) -> Path:
    """Give the folders of a timeline that requires the database, at three leaves; a backup lies beside them."""
    # conftest.py points the program here.
    folders = tmp_path / "timeline"
    assert said("init")["status"] == "initialised"
    # A loaded machine is no reason for a silent anchor.
    added = said("anchor", "add", "postgres", cluster.dsn(), "--deadline-ms", "30000")
    assert (added["status"], added["name"]) == ("required", "postgres-1")
    move(folders, tmp_path / "backup")
    assert said("anchor", "set", "--freshness-seconds", "3600")["status"] == "changed"
    status = said("anchor", "status")
    assert (status["status"], status["anchors"][0]["standing"]) == ("confirmed", "confirmed")
    return folders


def test_a_complete_restoration_is_refused(machine: Path, said: Said, tmp_path: Path) -> None:
    """State, trust and configuration are of one older moment, and only the database knows."""
    newest = said("anchor", "status")["size"]
    move(machine, tmp_path / "newest")
    move(tmp_path / "backup", machine)
    older = said("anchor", "status")
    assert (older["status"], older["reason"]) == ("refused", "external-anchor-ahead")
    assert (older["anchors"][0]["standing"], older["anchors"][0]["remembers"]) == ("ahead", newest)
    assert said("verify")["verdict"] == "refused"
    move(tmp_path / "newest", machine)
    assert said("anchor", "status")["status"] == "confirmed"


def test_a_restored_database_is_distrusted_and_never_an_alarm_about_the_state(
    machine: Path, cluster: Cluster, said: Said
) -> None:
    """Its older row says nothing about the state at hand, which is the newest."""
    stage = PostgresStage(cluster)
    newest = said("anchor", "status")["size"]
    kept = stage.keep()
    assert said("anchor", "set", "--freshness-seconds", "7200")["status"] == "changed"
    stage.put_back(kept)
    status = said("anchor", "status")
    assert (status["status"], status["reason"]) == ("refused", "external-anchor-distrusted")
    assert (status["anchors"][0]["standing"], status["anchors"][0]["remembers"]) == ("regressed", newest)
    assert stage.keep() == kept
