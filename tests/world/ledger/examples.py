"""The assertions of the example in docs/spec/world.md."""

from typing import Final

from sidecars.assertion import AssertionEntry
from tests.sidecars.samples import AT, digest_text

MEASURED: Final = AssertionEntry(
    id="assertion:timeline-5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e",
    recorder="capture",
    subject="suite:unit",
    predicate="test.outcome",
    value='{"failed":1,"outcome":"fail","runner":"pytest"}',
    evidence_kind="objective-measurement",
    evidence_id="timeline-event:1d0b60f64939e4613433006e2813ea71",
    evidence_digest=digest_text("line"),
    observed_at=AT - 5_000,
    tenant="local",
    user="ada",
    privacy="shared",
    project="/srv/u/projekt-ü",
)
CONFIRMED: Final = AssertionEntry(
    id="assertion:timeline-6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f",
    recorder="owner",
    subject="suite:unit",
    predicate="test.outcome",
    value='{"failed":0,"outcome":"pass","runner":"pytest"}',
    evidence_kind="explicit-user-feedback",
    evidence_id="statement:6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f6f",
    evidence_digest=digest_text("statement"),
    observed_at=AT - 1_000,
    tenant="local",
    user="ada",
    privacy="private",
    project="/srv/u/projekt-ü",
    supersedes=(MEASURED.id,),
)
EXAMPLES: Final = (MEASURED, CONFIRMED)
