import pytest
from click.testing import CliRunner

from timeline.anchors.schema import format_schema
from timeline.cli.anchors import anchor_group
from timeline.errors import UsageError


def test_the_command_prints_the_schema_for_a_role() -> None:
    """What an administrator runs is what the tests run, with the role in every place."""
    result = CliRunner().invoke(anchor_group, ["postgres-schema", "--role", "keeper"])
    assert (result.exit_code, result.stdout) == (0, format_schema("keeper"))
    assert "timeline_client" not in result.stdout
    assert "CREATE ROLE keeper LOGIN" in result.stdout
    assert CliRunner().invoke(anchor_group, ["postgres-schema"]).stdout == format_schema("timeline_client")


@pytest.mark.parametrize(
    "role", ["", "Keeper", "a-b", "1a", 'a"; DROP TABLE x; --', "a'b", "a\n", "pg_monitor", "a" * 64, "ä"]
)
def test_a_role_that_needs_quotes_is_refused(role: str) -> None:
    """Nothing from the command line becomes SQL."""
    with pytest.raises(UsageError):
        format_schema(role)
