"""What is exported as PROV can be read by the library that others use, and is valid by the Recommendation."""

import itertools
import json
import warnings
from pathlib import Path

import pytest
from prov.model import ProvDocument

from sidecars.assertion import EvidenceKind
from sidecars.digest import Digest
from tests.world.export.prov_constraints import check
from timeline.world.assertion import Assertion, Evidence, Origin, Scope, make_entry
from timeline.world.export import prov_json

VECTORS = Path(__file__).parents[4] / "shared" / "vectors" / "prov-constraints"
CASES = VECTORS / "modules-validation/prov-validation/src/test/resources"
needs_vectors = pytest.mark.skipif(not VECTORS.is_dir(), reason="the public test vectors are not here")

STRICT_CYCLES = {"validate/ordering/derivation2", "validate/ordering/specialization4"}
"""The corpus names no expectation for its cases of order: in these two something would stand before itself (42)."""

NOW = 1_796_000_000_000


def _recorded(
    number: int, value: object, *, supersedes: tuple[str, ...] = (), privacy: str = "private"
) -> Assertion:
    entry = make_entry(
        id=f"assertion:number-{number}",
        recorder="owner",
        subject="task:demo",
        predicate="task.note",
        value=value,  # type: ignore[arg-type]  # a JSON value
        evidence=Evidence(
            "explicit-user-feedback", f"owner-statement:{number}", Digest.of(b"%d" % number), NOW + number
        ),
        scope=Scope("local", "ann", "/srv/demo", privacy),  # type: ignore[arg-type]  # one of three
        supersedes=supersedes,
    )
    return Assertion(number, NOW + number, entry, value)  # type: ignore[arg-type]  # a JSON value


HISTORY = (
    _recorded(1, "red"),
    _recorded(2, "blue", supersedes=("assertion:number-1",)),
    _recorded(3, {"a": [1, 2.5, None]}, privacy="shared"),
    _recorded(4, "green", supersedes=("assertion:number-2", "assertion:number-3")),
)


def _document(assertions: tuple[Assertion, ...]) -> ProvDocument:
    return ProvDocument.deserialize(content=json.dumps(prov_json(assertions)), format="json")


@pytest.mark.requirement("W67")
def test_the_library_reads_every_record() -> None:
    """Nothing is lost on the way: every assertion is an entity with its value, its recording and its agent."""
    document = _document(HISTORY)
    records = [record for bundle in document.bundles for record in bundle.get_records()]
    values = {str(value) for record in records for value in record.value}
    assert values == {assertion.entry.value for assertion in HISTORY}
    kinds = [record.get_type().localpart for record in records]
    assert kinds.count("Generation") == kinds.count("Usage") == len(HISTORY)
    assert kinds.count("Invalidation") == 3
    assert kinds.count("Derivation") == len(HISTORY) + 3
    assert len(list(document.bundles)) == 2


def test_the_export_survives_the_library() -> None:
    """Written again by the library and read again, it is the same document."""
    document = _document(HISTORY)
    again = ProvDocument.deserialize(content=document.serialize(format="json"), format="json")
    assert again == document
    assert document.unified()


def test_the_export_is_valid() -> None:
    """By our own checker too, which sees more."""
    assert check(_document(HISTORY)) == []
    assert check(_document(())) == []


@pytest.mark.parametrize("order", list(itertools.permutations(range(len(HISTORY)))))
def test_the_order_of_what_is_given_is_of_no_consequence(order: tuple[int, ...]) -> None:
    """The log's order rules."""
    assert prov_json([HISTORY[place] for place in order]) == prov_json(HISTORY)


def _said(number: int, id_: str, evidence_id: str, *, kind: EvidenceKind = "model-suggestion") -> Assertion:
    by_model = kind == "model-suggestion"
    entry = make_entry(
        id=id_,
        recorder="model" if by_model else "capture",
        subject="task:demo",
        predicate="task.note",
        value=number,
        evidence=Evidence(kind, evidence_id, Digest.of(b"%d" % number), NOW + number),
        scope=Scope("local", "ann", "/srv/demo"),
        knowledge="fact",
        origin=Origin("session-ref:" + "a" * 32, "message:1"),
    )
    return Assertion(number, NOW + number, entry, number)


@pytest.mark.requirement("W67", "W30")
def test_no_model_can_rewrite_what_a_measurement_rests_on() -> None:
    """It may name the same evidence; the bytes and the kind of the measurement's stay what they were."""
    measured = _said(1, "assertion:a", "timeline-event:1", kind="objective-measurement")
    (alone,) = prov_json([measured])["bundle"].values()
    (beside,) = prov_json([measured, _said(2, "assertion:b", "timeline-event:1")])["bundle"].values()
    for kind, records in alone.items():
        assert beside[kind].items() >= records.items(), kind


@pytest.mark.requirement("W67")
@pytest.mark.parametrize("other", ["assertion:a-b", "a:b", "assertion:a.b"])
def test_names_that_look_alike_lose_no_record(other: str) -> None:
    """A dash and a slash stand in ids as they please."""
    (bundle,) = prov_json([_said(1, "assertion:a/b", "e:1"), _said(2, other, "e:2")])["bundle"].values()
    assert {kind: len(records) for kind, records in bundle.items() if kind.startswith("was")} == {
        "wasGeneratedBy": 2,
        "wasAssociatedWith": 2,
        "wasAttributedTo": 2,
        "wasDerivedFrom": 2,
    }


def test_names_and_paths_do_not_leave() -> None:
    """A scope is named by a digest only."""
    text = json.dumps(prov_json(HISTORY))
    assert "/srv/demo" not in text
    assert "ann" not in text


def _mutants() -> list[tuple[str, dict[str, object]]]:
    """Exports with one fault each that the checker must see."""

    def broken(kind: str, name: str, **changed: object) -> dict[str, object]:
        found = json.loads(json.dumps(prov_json(HISTORY[:2])))
        (bundle,) = found["bundle"].values()
        bundle.setdefault(kind, {}).setdefault(name, {}).update(changed)
        return dict(found)

    one, two = "tl:assertion/assertion/number-1", "tl:assertion/assertion/number-2"
    return [
        (
            "derived in a circle",
            broken("wasDerivedFrom", "_:x", **{"prov:generatedEntity": one, "prov:usedEntity": two}),
        ),
        ("an entity that acts", broken("activity", one)),
        (
            "its own general form",
            broken("specializationOf", "_:x", **{"prov:specificEntity": one, "prov:generalEntity": one}),
        ),
        ("attributed to nobody", broken("wasAttributedTo", "_:x", **{"prov:entity": one})),
        (
            "recorded at two times",
            broken(
                "wasGeneratedBy",
                "_:x",
                **{
                    "prov:entity": one,
                    "prov:activity": "tl:recording/leaf-1",
                    "prov:time": "2020-01-01T00:00:00Z",
                },
            ),
        ),
    ]


@pytest.mark.parametrize(("name", "document"), _mutants(), ids=[name for name, _ in _mutants()])
def test_a_broken_export_is_seen(name: str, document: dict[str, object]) -> None:
    """Each is valid PROV-JSON, and against the Recommendation."""
    assert check(ProvDocument.deserialize(content=json.dumps(document), format="json")), name


# -- the public corpus -----------------------------------------------------------------------------------------


def _oracles() -> dict[str, bool]:
    """By the name of a case whether it is valid; what the corpus says of it goes before what it is called."""
    if not VECTORS.is_dir():
        return {}
    said = {
        one["file"].removesuffix(".provn"): one
        for one in json.loads((VECTORS / "oracles_validate.json").read_text("utf-8"))
    }
    found = {}
    for path in sorted(CASES.glob("validate/*/*.xml")):
        name = str(path.relative_to(CASES)).removesuffix(".xml")
        oracle = said.get(name)
        if oracle is None:
            found[name] = "fail" not in name and name not in STRICT_CYCLES
        else:
            found[name] = not (oracle["malformed"] or oracle["strictCycles"] or oracle["typeOverlaps"]) and (
                oracle["failedMerges"] in {0, "z"}
            )
    return found


@needs_vectors
@pytest.mark.parametrize(("name", "valid"), _oracles().items(), ids=_oracles())
def test_the_checker_agrees_with_the_corpus(name: str, valid: bool) -> None:  # a column of the table
    """183 cases of ProvToolbox; three have bundles in a form that the library does not read."""
    pytest.importorskip("lxml", reason="the library reads XML by lxml")
    path = CASES / f"{name}.xml"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            document = ProvDocument.deserialize(str(path), format="xml")
        except Exception as error:
            if "bundle" in name:
                pytest.skip(f"the library does not read this file: {type(error).__name__}")
            raise
    assert (check(document) == []) is valid


@needs_vectors
def test_the_library_alone_would_not_see_it() -> None:
    """Why there is a checker: of the invalid cases the library's own merging refuses fewer than half."""
    pytest.importorskip("lxml", reason="the library reads XML by lxml")
    silent = refused = 0
    for name, valid in _oracles().items():
        if valid or "bundle" in name:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            document = ProvDocument.deserialize(str(CASES / f"{name}.xml"), format="xml")
            try:
                document.unified()
            except Exception:  # noqa: BLE001  # whatever it raises, it has seen it
                refused += 1
            else:
                silent += 1
    assert silent > refused > 0
