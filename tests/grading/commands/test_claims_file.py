"""A file of claims: what its lines become, and that each defect is told by line, field and rule, and by no text."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sidecars.graded import CLAIMS_MAX, Claim, ClaimSource, SourceType, check_graded
from tests.grading.commands.works import SAID, head, line, lines_of
from tests.grading.examples import OF_CLASSES
from timeline import claims_file
from timeline.claims_file import WorkFile, read_work_file
from timeline.clock import parse_utc
from timeline.errors import TimelineError
from timeline.reasoning.intent import CLASSIFIER

SECRET = "sk-proj-" + "abcDEF123456" * 4
MARK = "zebra"
"""Stands in refused lines, and in no message."""


def read(first: dict[str, Any], *claims: dict[str, Any]) -> WorkFile:
    """Read a file of these lines."""
    return read_work_file(lines_of(first, *claims))


def one(first: dict[str, Any], claim: dict[str, Any]) -> Claim:
    """The claim of a file of one."""
    (found,) = read(first, claim).claims
    return found


def refusal(content: bytes) -> tuple[str, str]:
    """Reason and message of the refusal of a file."""
    with pytest.raises(TimelineError) as refused:
        read_work_file(content)
    return refused.value.reason, str(refused.value.message)


def test_a_line_becomes_a_claim() -> None:
    """Everything that a line does not say comes from the line of the work, or from the defaults (G26)."""
    first = head("lives", reliability=5, citations=3)
    claim = one(first, line("a", {"b": 1.5, "a": None}, mutability=None))
    assert claim == Claim(
        id="claim:a",
        subject="person:ada",
        key="born",
        domain="biography",
        value='{"a":null,"b":1.5}',
        intent="asserted",
        mutability="slow_changing",
        said_at=parse_utc(SAID),
        sources=(
            ClaimSource(
                entity="person:editor-lives",
                source_type="cited",
                hops=1,
                verification=900_000,
                root="root:lives",
            ),
        ),
    )
    own = one(
        head("lives", domain=None, saidAt=None),
        line(
            "a",
            domain="history",
            saidAt="1990-01-01T00:00:00Z",
            validFrom="1980-01-01T00:00:00Z",
            validUntil="1981-01-01T00:00:00Z",
        ),
    )
    assert (own.domain, own.said_at) == ("history", parse_utc("1990-01-01T00:00:00Z"))
    assert own.valid_until is not None
    assert own.valid_until - (own.valid_from or 0) == 366 * 86_400_000
    assert one(head("lives", domain=None), line("a")).domain == "_global"


@pytest.mark.requirement("G25", "G5")
@pytest.mark.parametrize(("work_class", "intent", "source_type", "hops"), OF_CLASSES)
def test_the_class_decides(work_class: str, intent: str, source_type: SourceType, hops: int) -> None:
    """How a statement is meant and how far its author stood; whatever the line says of a novel's story."""
    claim = one(head("x", **{"class": work_class}), line("a"))
    (source,) = claim.sources
    assert (claim.intent, source.source_type, source.hops) == (intent, source_type, hops)


@pytest.mark.requirement("G1", "G2")
def test_the_wording_decides_in_conversation() -> None:
    """By labelled rules, where nobody has said how it was meant; the sentence is not kept."""
    talk = head("talk", **{"class": "conversation"})
    hedged = line("a", sentence="I guess Ada was born in 1815")
    claim = one(talk, hedged)
    assert (claim.intent, claim.classifier) == ("speculative", CLASSIFIER)
    assert b"guess" not in b"".join(
        json.dumps(str(page)).encode() for page in read(talk, hedged).pages([claim])
    )
    said = one(talk, {**hedged, "intent": "asserted"})
    assert (said.intent, said.classifier) == ("asserted", None)
    assert read(talk, hedged, line("b")).classified == 1
    plain = one(talk, line("a", sentence="Ada was born in 1815."))
    assert (plain.intent, plain.classifier) == ("asserted", CLASSIFIER)


@pytest.mark.requirement("G21", "M7")
def test_the_root_of_a_talk_is_its_session() -> None:
    """Where the work names none; of another work a session is no root, and without both the lineage is unknown."""
    talk = {"class": "conversation", "root": None}
    assert one(head("talk", **talk), line("a", session="session:1")).sources[0].root == "session:1"
    assert one(head("talk", **talk), line("a")).sources[0].root is None
    assert one(head("book", root=None), line("a", session="session:1")).sources[0].root is None
    named = head("talk", **{"class": "conversation"})
    assert one(named, line("a", session="session:1")).sources[0].root == "root:talk"


@pytest.mark.requirement("G22")
def test_a_line_may_name_its_sources() -> None:
    """In place of what the class gives; the hops of a source are the fewest that its type has, unless said."""
    told = [
        {"entity": "person:ada", "sourceType": "self"},
        {"entity": "person:kim", "sourceType": "hearsay", "hops": 3, "verification": 0, "root": "root:k"},
        {"entity": "person:bo", "sourceType": "observed"},
    ]
    sources = one(head("x"), line("a", sources=told)).sources
    assert [(source.entity, source.hops, source.verification) for source in sources] == [
        ("person:ada", 0, None),
        ("person:kim", 3, 0),
        ("person:bo", 1, None),
    ]


@pytest.mark.requirement("G26")
def test_older_facts_are_filled_up() -> None:
    """By the defaults of the design, and their distance is named as unknown; they say nothing else."""
    older = head("old", older=True, **{"class": "data"})
    bare = line("a", mutability=None, session="session:1")
    claim = one(older, bare)
    (source,) = claim.sources
    assert (claim.intent, claim.mutability, claim.domain) == ("asserted", "slow_changing", "_global")
    assert (source.source_type, source.hops, source.verification, source.root) == (
        "unstated",
        0,
        None,
        "session:1",
    )
    more: list[dict[str, Any]] = [
        {"domain": "history"},
        {"mutability": "immutable"},
        {"intent": "speculative"},
        {"validFrom": SAID},
        {"extract": "theme", "subject": None},
        {"sources": [{"entity": "a:b", "sourceType": "self"}]},
    ]
    for changes in more:
        changed = {name: field for name, field in (bare | changes).items() if field is not None}
        message = refusal(lines_of(older, changed))[1]
        assert message == "line 2: of an older work must be id, subject, key, value, saidAt and session alone"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"schema": MARK}, "line 1, field schema: must be timeline-claims/v1"),
        ({"id": MARK}, "line 1, field id: must be a namespace and a name, such as person:ada"),
        ({"class": MARK}, "line 1, field class: must be one of fiction, "),
        ({"author": None}, "line 1, field author: is missing"),
        ({MARK: 1}, "line 1: has a field that the format does not know"),
        ({"reliability": 6}, "line 1, field reliability: must be a whole number from 0 to 5"),
        ({"reliability": 4.5}, "line 1, field reliability: must be a whole number from 0 to 5"),
        ({"peerReviewed": MARK}, "line 1, field peerReviewed: must be true or false"),
        ({"saidAt": MARK}, "line 1, field saidAt: must be a UTC time from 1970 on"),
        ({"saidAt": "1969-12-31T00:00:00Z"}, "line 1, field saidAt: must be a UTC time from 1970 on"),
        ({"title": "x" * 501}, "line 1, field title: must be a text of at most 500 characters"),
    ],
)
def test_a_work_of_another_form_is_refused(changes: dict[str, Any], said: str) -> None:
    """By its field and the rule."""
    reason, message = refusal(lines_of(head("x", **changes), line("a")))
    assert (reason, message[: len(said)]) == ("claims-file-invalid", said)
    assert MARK not in message


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"id": MARK}, "line 2, field id: must be a namespace"),
        ({"key": MARK.upper()}, "line 2, field key: must be lowercase letters"),
        ({"key": None}, "line 2, field key: is missing"),
        ({MARK: 1}, "line 2: has a field that the format does not know"),
        ({"intent": MARK}, "line 2, field intent: must be one of asserted, "),
        ({"extract": MARK}, "line 2, field extract: must be one of statement, "),
        ({"mutability": MARK}, "line 2, field mutability: must be one of immutable, "),
        ({"value": "x" * 8193}, "line 2: a claim's value must be JSON in RFC 8785 form, at most 8192 bytes"),
        ({"subject": None}, "line 2, field subject: must be there for a statement, and for nothing else"),
        ({"extract": "theme"}, "line 2, field subject: must be there for a statement, and for nothing else"),
        ({"extract": "reaction", "subject": None}, "line 2, field reader: must be there for a reaction"),
        ({"reader": "person:me"}, "line 2, field reader: must be there for a reaction"),
        (
            {"sentence": "so it is"},
            "line 2, field sentence: must be left out unless the work is a conversation",
        ),
        ({"validFrom": SAID, "validUntil": SAID}, "line 2: a claim must hold from before it ends"),
        ({"validFrom": MARK}, "line 2, field validFrom: must be a UTC time from 1970 on"),
        (
            {"extract": "theme", "subject": None, "sources": [{"entity": "a:b", "sourceType": "self"}]},
            "line 2, field sources: must be left out where",
        ),
        (
            {"sources": [{"entity": "a:b", "sourceType": MARK}]},
            "line 2, field sources[0].sourceType: must be one of self, ",
        ),
        ({"sources": [{"entity": "a:b"}]}, "line 2, field sources[0].sourceType: is missing"),
        (
            {"sources": [{"entity": "a:b", "sourceType": "self", "hops": 1}]},
            "line 2: hops must be 0 exactly where",
        ),
        (
            {"sources": [{"entity": "a:b", "sourceType": "self"}] * 2},
            "line 2: the sources of a claim must differ",
        ),
        (
            {"sources": [{"entity": "a:b", "sourceType": "self", "verification": 0.5}]},
            "line 2, field sources[0].verification: must be a whole number of millionths",
        ),
    ],
)
def test_a_claim_of_another_form_is_refused(changes: dict[str, Any], said: str) -> None:
    """By its line, its field and the rule; and nothing of the file is taken."""
    reason, message = refusal(lines_of(head("x"), line("a", **changes), line("b")))
    assert (reason, message[: len(said)]) == ("claims-file-invalid", said)
    assert MARK not in message.lower()


def test_a_claim_needs_a_time() -> None:
    """Its own, or that of the work."""
    _, message = refusal(lines_of(head("x", saidAt=None), line("a")))
    assert message == "line 2, field saidAt: is missing, here and in the line of the work"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the file must be one line for the work and 1 to 200000 for its claims"),
        (lines_of(head("x")), "the file must be one line for the work and 1 to 200000 for its claims"),
        (lines_of(head("x"), line("a"), line("a")), "line 3, field id: must not be that of an earlier line"),
        (lines_of(head("x"), line("a")) + b"\n", "line 3: the document must be JSON (RFC 8259)"),
        (lines_of(head("x"), line("a")) + b"[]\n", "line 3: must be a JSON object"),
        (lines_of(head("x"), line("a")) + b"\xff\n", "line 3: a JSON document must be UTF-8"),
        (
            lines_of(head("x"), line("a")) + b'{"id":1,"id":2}\n',
            "line 3: a JSON object must not have duplicate",
        ),
        (lines_of(head("x"), line("a")) + b'{"a":NaN}\n', "line 3: JSON has no NaN or Infinity"),
        (lines_of(head("x"), line("a")) + b" " * 65_537, "line 3: must be at most 65536 bytes"),
    ],
)
def test_a_file_of_another_form_is_refused(content: bytes, said: str) -> None:
    """Strict JSON, a line each, and bounds."""
    reason, message = refusal(content)
    assert (reason, message[: len(said)]) == ("claims-file-invalid", said)


def test_the_size_of_a_file_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all of it, and of the number of its claims."""
    content = lines_of(head("x"), line("a"), line("b"))
    monkeypatch.setattr(claims_file, "CLAIMS_IN_FILE_MAX", 1)
    assert refusal(content)[1] == "the file must be one line for the work and 1 to 1 for its claims"
    monkeypatch.setattr(claims_file, "FILE_BYTES_MAX", len(content) - 1)
    assert refusal(content)[1].startswith("the file must be at most")


@pytest.mark.requirement("W29")
@pytest.mark.parametrize(
    "changes",
    [
        {"value": f"the key is {SECRET}"},
        {"value": {"note": SECRET}},
        {"subject": f"person:{SECRET}"},
        {"sources": [{"entity": f"person:{SECRET}", "sourceType": "self"}]},
    ],
)
def test_a_secret_is_refused(changes: dict[str, Any]) -> None:
    """Wherever it stands, and it is not told."""
    reason, message = refusal(lines_of(head("x"), line("ok"), line("a", **changes)))
    assert reason == "world-secret-shaped"
    assert message.startswith("line 3, field ")
    assert SECRET not in message


@pytest.mark.requirement("W62")
@pytest.mark.parametrize(
    ("changes", "field"),
    [({"key": "tool.permission"}, "key"), ({"value": {"apiToken": 1}}, "value.apiToken")],
)
def test_a_name_of_authority_is_refused(changes: dict[str, Any], field: str) -> None:
    """As in every assertion."""
    reason, message = refusal(lines_of(head("x"), line("a", **changes)))
    assert reason == "world-authority-shaped"
    assert message.startswith(f"line 2, field {field}: ")


def test_pages_are_as_full_as_they_may_be() -> None:
    """By number, and by size: each is a body that a leaf can hold, and no claim is lost or moved."""
    small = read(head("x"), *(line(f"a{number}") for number in range(CLAIMS_MAX + 1)))
    assert [len(page.claims) for page in small.pages(small.claims)] == [CLAIMS_MAX, 1]
    large = read(head("x"), *(line(f"a{number}", "y" * 8000) for number in range(100)))
    pages = list(large.pages(large.claims))
    assert len(pages) > 1
    for page in pages:
        check_graded(page)
    assert tuple(claim for page in pages for claim in page.claims) == large.claims
    assert list(small.pages(())) == []


def test_progress_is_told() -> None:
    """For long files, every so many lines."""
    told: list[tuple[int, int]] = []
    content = lines_of(head("x"), *(line(f"a{number}") for number in range(600)))
    read_work_file(content, lambda done, whole: told.append((done, whole)))
    assert told == [(256, 601), (512, 601)]


def test_the_example_of_the_page(root: Path) -> None:
    """The file of docs/spec/claims-file.md becomes the body beside it."""
    page = (root / "docs" / "spec" / "claims-file.md").read_text(encoding="utf-8")
    content, body = (
        page.partition(f"```{name}\n")[2].partition("```")[0] for name in ("claims", "leaf-body")
    )
    file = read_work_file(content.encode())
    (made,) = file.pages(file.claims)
    assert json.loads(msgspec.json.encode(made)) == json.loads(body)
