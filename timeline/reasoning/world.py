"""The only way out of the resolver: one graph and policy, and what one reader is told of them (P4, P36). Pure.

Whoever answers a host, an agent or a person asks a ``ReaderView``. What it gives for the reader is made of views, and
so of what that reader may see (X12); the trace beside a mediated answer is for the log and never for the reader.
"""

from collections.abc import Sequence

import msgspec

from sidecars.reasoned import MediationTraceEntry
from timeline.reasoning.declassified import Standing, View
from timeline.reasoning.graph import Access, Graph, Head
from timeline.reasoning.mediation import Diagnostic, Emission, Released, Unit, mediate
from timeline.reasoning.policy import Policy
from timeline.reasoning.proposition import Query
from timeline.reasoning.rendering import render_content, render_set
from timeline.reasoning.trace import Seal, digest_output, make_trace
from timeline.reasoning.view import ask


class Answer(msgspec.Struct, frozen=True):
    """What a reader is told about one question: the view, and the sentences that may be said of it.

    ``status`` is the render set; ``contents`` are the sentences that assert something, where something is supported.
    """

    view: View
    status: tuple[str, ...]
    contents: tuple[str, ...]


class MediatedAnswer(msgspec.Struct, frozen=True):
    """What a reader gets of a mediated answer, both in the order of the units."""

    released: tuple[Released, ...]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def is_bounded(self) -> bool:
        """Whether every unit passed, so that the answer may go out whole (P41)."""
        return not self.diagnostics


class Mediated(msgspec.Struct, frozen=True):
    """A mediated answer, and the body of the leaf that keeps how it was decided (P42); the reader gets ``answer``."""

    answer: MediatedAnswer
    trace: MediationTraceEntry


class ReaderView:
    """The world as one reader may know it, for one purpose and in one task (P21)."""

    __slots__ = ("_access", "_graph", "_policy")

    def __init__(self, graph: Graph, policy: Policy, access: Access) -> None:
        """Made by ``World.view``."""
        self._graph = graph
        self._policy = policy
        self._access = access

    def resolve(self, query: Query, as_of: int | None = None) -> Answer:
        """What this reader is told about a question; ``as_of`` (UTC milliseconds) is the moment that its words name."""
        view = ask(self._graph, query, self._access, self._policy)
        asserted = view.contents if view.standing is Standing.SUPPORTED else ()
        contents = tuple(render_content(content, as_of) for content in asserted)
        return Answer(view, render_set(view, query, as_of), contents)

    def mediate(
        self,
        units: Sequence[Unit],
        prompt_head: Head,
        emission_head: Head,
        *,
        emitted_at: int,
        trace_id: str,
        salt: bytes,
    ) -> Mediated:
        """Gate the units of one answer; what is written in place of a blocked one has to come here again.

        Args:
            units: in the order of the answer, each with an id of its own.
            prompt_head: the head that the answer was written from; the graph must be of this head.
            emission_head: the head as it is now.
            emitted_at: now, in UTC milliseconds.
            trace_id: ``trace:`` and 32 random hex digits.
            salt: 32 random bytes for this answer alone, to be kept beside the trace and not in it.

        Raises:
            MediationInvalidError: the units, or the prompt's head, are not as above.
        """
        emission = Emission(prompt_head, emission_head, emitted_at)
        found = mediate(
            units, emission, graph=self._graph, access=self._access, policy=self._policy, salt=salt
        )
        output = digest_output([one.text for one in found.released], Seal(salt))
        heads = (prompt_head, emission_head)
        trace = make_trace(trace_id, found.bindings, heads, emitted_at, self._policy.digest, output)
        return Mediated(MediatedAnswer(found.released, found.diagnostics), trace)


class World:
    """Everything that is admitted at one head, under one policy; nobody reads it but through a view."""

    __slots__ = ("_graph", "_policy")

    def __init__(self, graph: Graph, policy: Policy) -> None:
        """Take a graph that ``admission.check_graph`` lets pass."""
        self._graph = graph
        self._policy = policy

    def view(self, principal: str, purpose: str | None = None, task: str | None = None) -> ReaderView:
        """The world for one reader, purpose and task; a missing one sees only what is for all."""
        return ReaderView(self._graph, self._policy, Access(principal, purpose, task))
