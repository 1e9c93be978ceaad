"""Each host's tests stand alone: another host may be taken out of the tree, or be broken, and they still run (T63)."""

import ast
from pathlib import Path

import pytest

HOSTS = ("claude", "codex", "king")
HERE = Path(__file__).parent


def imported(path: Path) -> set[str]:
    """Every module that a file imports, with the names it takes of it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return found


@pytest.mark.requirement("T63")
@pytest.mark.parametrize("host", HOSTS)
def test_no_test_of_a_host_needs_another_host(host: str) -> None:
    """Neither an adapter nor a simulator nor the cases of another one, in any test that bears the host's name."""
    files = sorted(HERE.glob(f"test_{host}_*.py"))
    assert files
    others = {name for name in HOSTS if name != host}
    for path in files:
        for module in imported(path):
            words = set(module.replace(".", "_").lower().split("_"))
            assert not words & others, (path.name, module)
