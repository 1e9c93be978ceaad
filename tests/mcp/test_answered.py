"""How an answer leaves: bounded as a whole, never cut without a word, and always context only."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from timeline.limits import CARDS_MAX, MCP_ANSWER_BYTES_MAX
from timeline.mcp_server.answered import Sent, prepare, unavailable

TEXTS = st.text(st.characters(codec="utf-8"), max_size=400)
CARDS = st.lists(st.dictionaries(st.sampled_from("abcdefgh"), TEXTS), max_size=12)
FIELDS = st.dictionaries(st.sampled_from(["hint", "matched", "unknownTypes"]), st.lists(TEXTS, max_size=60))


def card(number: int, size: int = 600) -> dict[str, Any]:
    """Give a card with a filling."""
    return {"id": f"timeline-event:{number:032x}", "filling": "x" * size}


def found(cards: list[dict[str, Any]], **more: Any) -> Sent:
    """Prepare an answer with cards."""
    return prepare({"status": "found", "events": cards, **more}, is_error=False)


def wire_size(sent: Sent) -> int:
    """Give the bytes of both forms, as a tool result holds them."""
    content = [{"type": "text", "text": sent.text}]
    return len(
        msgspec.json.encode({"content": content, "structuredContent": sent.structured, "isError": False})
    )


@pytest.mark.requirement("T4")
@given(CARDS, FIELDS)
def test_any_answer_is_small_says_what_it_left_out_and_is_context_only(
    cards: list[dict[str, Any]], fields: dict[str, Any]
) -> None:
    """Whatever a tool finds."""
    sent = found(cards, **fields)
    answer = sent.structured
    assert wire_size(sent) <= MCP_ANSWER_BYTES_MAX
    assert answer["authority"] == "context-only"
    assert answer["status"] == "found"
    assert json.loads(sent.text) == answer
    shown = answer["events"]
    assert shown == cards[: len(shown)]
    assert len(shown) <= CARDS_MAX
    assert len(shown) + answer.get("omitted", 0) == len(cards)
    assert ("omitted" in answer) == (len(shown) < len(cards))
    missing = [name for name in fields if name not in answer]
    assert sorted(answer.get("fieldsOmitted", [])) == sorted(missing)


def test_eight_cards_of_a_usual_size_fit() -> None:
    """What a search finds is shown whole."""
    assert "omitted" not in found([card(n) for n in range(CARDS_MAX)]).structured


def test_the_best_cards_stay() -> None:
    """Cards come best first; the last go."""
    answer = found([card(n, 3000) for n in range(CARDS_MAX)]).structured
    assert answer["events"] == [card(0, 3000), card(1, 3000)]
    assert answer["omitted"] == CARDS_MAX - 2
    assert answer["more"] is True


def test_a_field_that_is_far_too_large_costs_no_card() -> None:
    """The field goes by name."""
    answer = found([card(0)], unknownTypes=["x" * 100] * 100).structured
    assert answer["events"] == [card(0)]
    assert answer["fieldsOmitted"] == ["unknownTypes"]


def test_nothing_is_left_out_where_it_fits() -> None:
    """Left alone, but for what every answer has."""
    given = {"status": "not-found", "reason": "a-reason", "at": None, "events": []}
    assert prepare(given, is_error=False).structured == {**given, "authority": "context-only"}


@pytest.mark.requirement("T4")
def test_no_tool_can_claim_another_authority() -> None:
    """The last word is not the tool's."""
    assert (
        prepare({"status": "x", "authority": "all"}, is_error=False).structured["authority"] == "context-only"
    )


def test_an_answer_without_a_status_is_our_own_mistake() -> None:
    """It would leave a model guessing."""
    with pytest.raises(RuntimeError, match="status"):
        prepare({"events": []}, is_error=False)


def test_an_answer_that_is_too_large_without_cards_is_our_own_mistake() -> None:
    """A status of 16 KB is no status."""
    with pytest.raises(RuntimeError, match="without cards"):
        prepare({"status": "x" * MCP_ANSWER_BYTES_MAX, "events": []}, is_error=False)


def test_an_unavailable_answer_says_why() -> None:
    """With the reason's code, and what to do."""
    sent = unavailable("daemon-busy", "try again")
    assert sent.is_error
    assert sent.structured["status"] == "unavailable"
    assert (sent.structured["reason"], sent.structured["hint"]) == ("daemon-busy", "try again")


# -- lists that are counted beside themselves --------------------------------------------------------------------

LISTS = st.lists(st.dictionaries(st.sampled_from("abcd"), TEXTS, max_size=3), max_size=30)


@pytest.mark.requirement("T4")
@given(facts=LISTS, proposals=LISTS, current=LISTS)
def test_a_counted_list_is_shortened_item_by_item_and_counted(
    facts: list[Any], proposals: list[Any], current: list[Any]
) -> None:
    """At the top and in an object: what is left is the beginning, and the count says what is missing."""
    given_lists = {"facts": facts, "proposals": proposals}
    answer = {
        "status": "found",
        **given_lists,
        "omitted": {"facts": 3, "proposals": 0, "unread": 1},
        "knowledge": {
            "current": current,
            "omitted": {"current": 0},
            "continuation": {"tasks": facts, "terminal": proposals, "omitted": 2, "words": ["a"]},
        },
    }
    before = json.dumps(answer)

    sent = prepare(answer, is_error=False)

    found = sent.structured
    assert wire_size(sent) <= MCP_ANSWER_BYTES_MAX
    assert json.dumps(answer) == before
    assert "fieldsOmitted" not in found
    for shown, whole, omitted, known in (
        (found["facts"], facts, found["omitted"]["facts"], 3),
        (found["proposals"], proposals, found["omitted"]["proposals"], 0),
        (found["knowledge"]["current"], current, found["knowledge"]["omitted"]["current"], 0),
    ):
        assert shown == whole[: len(shown)]
        assert omitted == known + len(whole) - len(shown)
    assert found["omitted"]["unread"] == 1
    tasks = found["knowledge"]["continuation"]
    assert tasks["words"] == ["a"]
    assert tasks["omitted"] - 2 == len(facts) - len(tasks["tasks"]) + len(proposals) - len(tasks["terminal"])


def test_only_what_does_not_fit_is_left_out() -> None:
    """Of the largest list first, and no more than is needed."""
    facts, stale = [card(n, 300) for n in range(30)], [card(n, 30) for n in range(3)]
    sent = prepare(
        {"status": "found", "facts": facts, "stale": stale, "omitted": {"facts": 0, "stale": 0}},
        is_error=False,
    )

    assert sent.structured["stale"] == stale
    assert sent.structured["omitted"] == {"facts": 30 - len(sent.structured["facts"]), "stale": 0}
    assert 0 < len(sent.structured["facts"]) < len(facts)
    assert wire_size(sent) > MCP_ANSWER_BYTES_MAX - 1200


def test_a_list_that_nobody_counts_is_not_cut() -> None:
    """It goes as a whole, by name."""
    answer = prepare(
        {"status": "found", "facts": [card(n) for n in range(30)], "omitted": {"other": 0}}, is_error=False
    ).structured

    assert answer["fieldsOmitted"] == ["facts"]
