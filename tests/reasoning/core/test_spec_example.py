"""The tables and the example of docs/spec/reasoning.md."""

import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from timeline.reasoning.admission import ORIGIN_FIELDS, ROOT_ROLES, check_graph
from timeline.reasoning.graph import Access, Graph, Head, Marker
from timeline.reasoning.lifecycle import erase, inscribe, revoke, supersede
from timeline.reasoning.policy import Policy
from timeline.reasoning.promotion import PROMOTIONS
from timeline.reasoning.proposition import Query
from timeline.reasoning.resolution import resolve
from timeline.reasoning.roles import DERIVED, GROUNDED, Role
from timeline.reasoning.roots import FAMILY_MAX
from timeline.reasoning.witness import canonical_witness, query_digest

PAGE = (Path(__file__).parents[3] / "docs" / "spec" / "reasoning.md").read_text(encoding="utf-8")
AFTER = Head(11, "root-11")
CHANGES: dict[str, Callable[[Graph], Graph]] = {
    "nothing": lambda graph: graph,
    "`session-1` is revoked": lambda graph: revoke(graph, AFTER, "session-1"),
    "`said` is erased": lambda graph: erase(graph, AFTER, Marker("said", "erased", "c-said")),
    "`note` supersedes `summary`": lambda graph: supersede(graph, AFTER, "note", "summary"),
    "`summary` and `note` are inscribed": lambda graph: inscribe(graph, AFTER, "summary", "note"),
}


def block(name: str) -> str:
    """The text of a fenced block of the page."""
    found = re.search(rf"^```{name}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def table(heading: str) -> list[list[str]]:
    """The cells of the table with this first row."""
    _, _, rest = PAGE.partition(f"| {heading} |")
    rows = rest.partition("\n\n")[0].split("\n")[2:]
    assert rows
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def example() -> Graph:
    """The graph of the page."""
    graph = msgspec.json.decode(block("graph"), type=Graph)
    check_graph(graph)
    return graph


@pytest.mark.requirement("P22", "P35")
@pytest.mark.parametrize(
    "row",
    table("what has happened | who asks | at | roots | status | flags | premises"),
    ids=lambda row: ", ".join(row[:4]),
)
def test_each_row_of_the_example_is_decided_so(row: list[str]) -> None:
    """What each asker is answered at each moment."""
    happened, who, at, roots, status, flags, premises = row
    graph = CHANGES[happened](example())
    found = resolve(graph, Query("service", "listens-on", int(at)), Access(who), Policy(1, roots=int(roots)))
    assert found.status == status
    assert " ".join(sorted(found.flags)) == flags
    assert " ".join(f"`{vertex.id}`" for vertex in found.premises) == premises


@pytest.mark.requirement("P27", "N7")
def test_the_witness_of_the_example_is_that_of_the_page() -> None:
    """Byte for byte; the two digests stand for themselves."""
    query, policy = Query("service", "listens-on", 2000), Policy(1)
    witness = resolve(example(), query, Access("bob"), policy).witness
    assert witness is not None
    text = canonical_witness(witness).decode()
    assert (
        text.replace(query_digest(query), "QUERY").replace(policy.digest, "POLICY")
        == block("witness").strip()
    )


@pytest.mark.requirement("P12", "P45", "P46")
def test_the_tables_of_the_page_are_those_of_the_program() -> None:
    """Roles, origins, promotions, and the bound of a family."""
    assert [row[1].strip("`") for row in table("family | role | what it is")] == list(Role)
    origins = {row[0].strip("`"): row[1:] for row in table("class | role of such a root | required fields")}
    assert {kind: row[0].strip("`") for kind, row in origins.items()} == ROOT_ROLES
    assert {kind: set(re.findall("`(.*?)`", row[1])) for kind, row in origins.items()} == ORIGIN_FIELDS
    shown = {
        "any role": frozenset(Role),
        "any grounded or derived role": GROUNDED | DERIVED,
    }
    for target, sources, binds in table(
        "target | each alternative has one of | the derivation binds besides"
    ):
        rule = PROMOTIONS[Role(target.strip("`"))]
        assert shown.get(sources, set(re.findall("`(.*?)`", sources))) == rule.sources
        assert set(re.findall("`(.*?)`", binds)) == rule.binds
    assert f"after {FAMILY_MAX} root sets" in PAGE
