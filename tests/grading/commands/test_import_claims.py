"""``timeline world import-claims``: once, in as few leaves as may be, and nothing that was forgotten."""

from pathlib import Path
from typing import Any

import pytest

from sidecars.graded import CLAIMS_MAX, ClaimsEntry
from sidecars.leaf import Kind
from tests.forgetting.lives import forget
from tests.grading.commands.works import Librarian, head, line, lines_of
from tests.world.commands.speaking import PREDICATE, SUBJECT, Owner
from timeline import claims_use
from timeline.claims_file import read_work_file
from timeline.forget_use import Named
from timeline.forgetting.suppression import Forgotten, Suppression, digest_of
from timeline.registered import read_register
from timeline.state import State


def recorded(library: Librarian) -> list[str]:
    """The ids of all claims in the log's order."""
    with library.owner.stage.world.session.reading() as state:
        found = (one.body for one in read_register(state, Kind.CLAIMS))
        return [claim.id for body in found if isinstance(body, ClaimsEntry) for claim in body.claims]


@pytest.mark.requirement("G2", "G25")
def test_the_same_again_is_nothing_new(owner: Owner, library: Librarian) -> None:
    """Nor is a longer file of the same work, but for what it adds."""
    first, claims = head("lives", title="Lives"), [line("a"), line("b", 1816)]
    said = library.takes_in(first, *claims)
    assert (said["recorded"], said["duplicates"], said["leftOut"], said["classified"]) == (2, 0, [], 0)
    before = owner.stage.leaves()
    assert library.takes_in(first, *claims)["duplicates"] == 2
    assert owner.stage.leaves() == before
    assert library.takes_in(first, *claims, line("c"))["recorded"] == 1
    assert (recorded(library), owner.stage.leaves()) == (["claim:a", "claim:b", "claim:c"], before + 1)


def test_a_dry_run_records_nothing(owner: Owner, library: Librarian) -> None:
    """It says what would be recorded, and asks for nothing."""
    file = library.write(head("lives"), line("a"))
    before = owner.stage.leaves()
    planned = owner.says("world", "import-claims", file, "--dry-run")
    assert (planned["wouldRecord"], "recorded" in planned) == (1, False)
    assert owner.stage.leaves() == before
    code, out, _ = owner.types("world", "import-claims", file, "--dry-run")
    assert (code, out) == (0, "work:lives, reference, claims to be recorded: 1; there already: 0\n")


def test_a_no_records_nothing(owner: Owner, library: Librarian, monkeypatch: pytest.MonkeyPatch) -> None:
    """At a terminal the plan is shown before the question."""
    monkeypatch.setattr("timeline.cli.asking.has_terminal", lambda: True)
    file = library.write(head("lives"), line("a"))
    before = owner.stage.leaves()
    code, out, _ = owner.types("world", "import-claims", file, given=b"n\n")
    assert (code, "claims to be recorded: 1" in out, owner.stage.leaves()) == (130, True, before)
    code, out, _ = owner.types("world", "import-claims", file, "--yes")
    assert (code, "timeline world recompute" in out, owner.stage.leaves()) == (0, True, before + 1)


def test_refusals_record_nothing(owner: Owner, library: Librarian, tmp_path: Path) -> None:
    """No file, a file of another form, a work that has changed, and an id that is another claim's."""
    library.takes_in(head("lives"), line("a"))

    def refused(first: dict[str, Any], *claims: dict[str, Any], code: int = 2) -> str:
        return owner.refused("world", "import-claims", library.write(first, *claims), code=code)

    assert owner.refused("world", "import-claims", str(tmp_path / "none")) == "usage"
    assert refused(head("other"), line("ok"), line("b", key="X")) == "claims-file-invalid"
    assert refused(head("lives", author="person:other"), line("b")) == "claims-work-changed"
    assert refused(head("lives", **{"class": "fiction"}), line("b")) == "claims-work-changed"
    assert refused(head("lives"), line("b"), line("a", 1900), code=1) == "grading-claim-id-reused"
    assert refused(head("other"), line("a"), code=1) == "grading-claim-id-reused"


@pytest.mark.requirement("G1")
def test_sentences_are_read_by_named_rules(library: Librarian) -> None:
    """The answer and the grade name them."""
    talk = head("talk", **{"class": "conversation"})
    said = library.takes_in(talk, line("a", sentence="Suppose she had been born in 1816"), line("b"))
    assert (said["classified"], said["classifier"]) == (1, "wording/v1")
    graded = library.grade("claim:a")
    assert (graded["intent"], graded["classifier"], graded["composite"]) == (
        "hypothetical",
        "wording/v1",
        None,
    )
    assert library.grade("claim:b")["classifier"] is None


def test_what_was_committed_stays(owner: Owner, library: Librarian, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interruption between two commits loses none of the first, and the same file goes on behind it."""
    monkeypatch.setattr(claims_use, "BATCH_SIZE_MAX", 1)
    claims = [line(f"a{number}") for number in range(2 * CLAIMS_MAX + 1)]
    file = library.write(head("long"), *claims)
    before = owner.stage.leaves()
    commit = State.commit

    def interrupted(state: State, bodies: Any, **more: Any) -> Any:
        if state.belief.size > before:
            raise KeyboardInterrupt
        return commit(state, bodies, **more)

    with monkeypatch.context() as patched:
        patched.setattr(State, "commit", interrupted)
        assert owner.types("world", "import-claims", file)[0] == 130
    assert len(recorded(library)) == CLAIMS_MAX
    said = owner.says("world", "import-claims", file)
    assert (said["recorded"], said["duplicates"]) == (CLAIMS_MAX + 1, CLAIMS_MAX)
    assert recorded(library) == [one["id"] for one in claims]


def test_a_long_work_is_few_leaves(owner: Owner, library: Librarian) -> None:
    """As many claims in a leaf as its bounds allow, all leaves in one commit."""
    before = owner.stage.leaves()
    library.takes_in(head("long"), *(line(f"a{number}") for number in range(2 * CLAIMS_MAX + 1)))
    with owner.stage.world.session.reading() as state:
        leaves = read_register(state, Kind.CLAIMS)
    assert [one.leaf for one in leaves] == [before, before + 1, before + 2]
    assert len({one.at for one in leaves}) == 1


@pytest.mark.requirement("M18")
def test_a_forgotten_work_does_not_come_back(owner: Owner, library: Librarian) -> None:
    """All of it is refused; another work is taken."""
    library.takes_in(head("lives"), line("a"))
    forget(owner.stage.world, Named(work="work:lives"))
    assert recorded(library) == []
    file = library.write(head("lives"), line("a"))
    assert owner.types("world", "import-claims", file)[0] != 0
    assert owner.types("world", "import-claims", file, "--dry-run")[0] != 0
    assert recorded(library) == []
    library.takes_in(head("other"), line("b"))
    assert owner.run("verify", "--deep")[0] == 0


@pytest.mark.requirement("M18")
@pytest.mark.parametrize("scope", [(), ("--everywhere",)])
def test_a_forgotten_value_does_not_come_back(
    owner: Owner, library: Librarian, scope: tuple[str, ...]
) -> None:
    """What the owner had said and had forgotten is no claim either; the rest of the file is taken, and it is told."""
    gone = owner.records("zebra", *scope)
    forget(owner.stage.world, Named(assertions=(gone,)))
    file = library.write(
        head("notes"),
        line("a", "zebra", subject=SUBJECT, key=PREDICATE),
        line("b", "main", subject=SUBJECT, key=PREDICATE),
    )
    code, out, _ = owner.types("world", "import-claims", file)
    assert (code, "left out: claim:a  forgotten" in out) == (3, True)
    assert recorded(library) == ["claim:b"]


@pytest.mark.requirement("M18")
@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        (Forgotten.CLAIM, ("claim:a",)),
        (Forgotten.WORK, ("claim:a",)),
        (Forgotten.IMPORTED_VALUE, ("local", "", "person:ada", "born", "1815")),
    ],
)
def test_what_is_suppressed_is_a_claim_no_more(kind: Forgotten, parts: tuple[str, ...]) -> None:
    """By its id, or by what it says in a scope that is known; another one is."""
    key = bytes(32)
    held = Suppression(key, frozenset({digest_of(key, kind, *parts)}))
    same, other = (
        read_work_file(lines_of(head("x"), line(name, value))).claims[0]
        for name, value in (("a", 1815), ("b", 1816))
    )
    assert claims_use.is_claim_forgotten(held, same, [("local", "")])
    assert not claims_use.is_claim_forgotten(held, other, [("local", "")])
    assert not claims_use.is_claim_forgotten(Suppression(), same, [("local", "")])
    if kind is Forgotten.IMPORTED_VALUE:
        assert not claims_use.is_claim_forgotten(held, same, [("local", "/w/other")])


@pytest.mark.requirement("M18")
def test_what_was_said_of_a_forgotten_subject_does_not_come_back(owner: Owner, library: Librarian) -> None:
    """A leaf holds claims about many: those about others can be taken in again, and nothing else."""
    file = library.write(head("lives"), line("a"), line("b", subject="person:bo"))
    owner.says("world", "import-claims", file)
    forget(owner.stage.world, Named(subject="person:ada"))
    assert recorded(library) == []
    assert owner.types("world", "import-claims", file)[0] == 3
    assert recorded(library) == ["claim:b"]
