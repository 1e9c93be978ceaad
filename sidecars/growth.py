"""What the log key says about a followed file: that it has grown, how far that is proven, and that it was changed.

Bodies of leaves (``docs/spec/log.md``); when each may be said is in ``docs/spec/enrollment.md``.
"""

from typing import Annotated, Literal

import msgspec

from sidecars.wire import Count, Decimal, EnrollmentRef, SourceRef


class Extension(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="extension", tag_field="kind"):
    """A followed file was seen to have grown: the next generation of its snapshot, with size and times as found.

    Generation 0 is the enrollment. The generation before was indexed to its end.
    """

    source: SourceRef
    enrollment_id: EnrollmentRef
    generation: Annotated[int, msgspec.Meta(ge=1)]
    size: Count
    mtime_ns: Decimal
    ctime_ns: Decimal


class PrefixProof(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="prefix-proof", tag_field="kind"
):
    """The first ``proven`` bytes of a followed file were compared with what was committed, after ``generation``.

    The generation is proven when ``proven`` is the whole size of the generation before it.
    """

    source: SourceRef
    enrollment_id: EnrollmentRef
    generation: Annotated[int, msgspec.Meta(ge=1)]
    proven: Annotated[int, msgspec.Meta(ge=1)]


class Invalidation(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="invalidation", tag_field="kind"
):
    """A followed file was found not to be what was committed: nothing is answered from it any more."""

    source: SourceRef
    enrollment_id: EnrollmentRef
    reason: Literal["transcript-rewritten", "transcript-truncated", "transcript-replaced"]
