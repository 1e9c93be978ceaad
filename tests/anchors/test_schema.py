import pytest

from tests.programs import runner
from timeline.anchors.schema import format_schema
from timeline.errors import UsageError


def test_the_command_prints_the_schema_for_a_role(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an administrator runs is what the tests run, with the role in every place."""
    run = runner(monkeypatch)
    code, out, err = run("anchor", "postgres-schema", "--role", "keeper")
    assert (code, out, err) == (0, format_schema("keeper"), "")
    assert "timeline_client" not in out
    assert "CREATE ROLE keeper LOGIN" in out
    assert run("anchor", "postgres-schema")[1] == format_schema("timeline_client")


@pytest.mark.parametrize(
    "role", ["", "Keeper", "a-b", "1a", 'a"; DROP TABLE x; --', "a'b", "a\n", "pg_monitor", "a" * 64, "ä"]
)
def test_a_role_that_needs_quotes_is_refused(role: str) -> None:
    """Nothing from the command line becomes SQL."""
    with pytest.raises(UsageError):
        format_schema(role)
