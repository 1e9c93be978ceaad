from pathlib import Path

import pytest


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Give a folder with a home and a project that no host has used yet."""
    for name in ("home", "project"):
        (tmp_path / "place" / name).mkdir(parents=True, mode=0o700)
    return tmp_path / "place"
