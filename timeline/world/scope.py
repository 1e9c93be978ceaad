"""Who may see an assertion, and which route it belongs to (W47 to W60). Pure.

The route of a session is derived here by the runtime from its complete, enrolled binding, never from arguments: what
a launcher has authenticated as portal and thread, else the one local conversation of the task (ADR 0022).
"""

import hashlib
import re
from typing import Final

import msgspec

from sidecars.assertion import AssertionEntry, KnowledgeKind
from sidecars.identity import canonical_bytes
from sidecars.reasoned import PersonConsent
from timeline.assertion_row import AssertionRow
from timeline.binding import Binding, is_scope_id
from timeline.world.assertion import RouteRefs
from timeline.world.continuation import CONTINUATION_PREDICATE
from timeline.world.errors import WorldScopeError
from timeline.world.outcome_contract import CONTRACT_PREDICATE
from timeline.world.relational import is_consented

_REF_HEX: Final = 32
_TASK: Final = re.compile(r"[a-z][a-z0-9-]{0,31}:[A-Za-z0-9._/-]{1,191}", re.ASCII)
_TASK_NAME: Final = re.compile(r"[A-Za-z0-9._/-]{1,191}", re.ASCII)
LOCAL_PORTAL: Final = "local"


class Reader(msgspec.Struct, frozen=True):
    """Who asks: a session of a project on its route, or the owner (``route`` ``None`` and ``is_owner``).

    ``task`` is the subject of the current task. ``private`` asks for private assertions too; a group never gets them.
    ``purpose`` is what the answer is for; ``consents`` are those of the persons spoken of, in the log's order.
    """

    tenant: str
    user: str
    project: str | None
    task: str | None = None
    route: RouteRefs | None = None
    private: bool = True
    group: str | None = None
    is_owner: bool = False
    purpose: str | None = None
    consents: tuple[PersonConsent, ...] = ()

    @property
    def name(self) -> str:
        """By what a consent names the reader."""
        return f"user:{self.user}" if self.group is None else f"group:{self.group}"

    def __post_init__(self) -> None:
        """Refuse a mixture.

        Raises:
            WorldScopeError: a group is asked for together with private assertions, or is none (W59).
        """
        if self.group is not None and not is_scope_id(self.group):
            message = "field groupId: must be 1 to 128 letters, digits or : _ . @ / -"
            raise WorldScopeError(message)
        if self.group is not None and self.private:
            message = "a group's view never includes private assertions"
            raise WorldScopeError(message)


def task_subject(task: str) -> str:
    """The subject under which a task is known: the task's own name where it is one, else made from it."""
    if _TASK.fullmatch(task):
        return task
    if _TASK_NAME.fullmatch(task):
        return f"task:{task}"
    return f"task:{hashlib.sha256(task.encode()).hexdigest()[:_REF_HEX]}"


def route_refs(binding: Binding) -> RouteRefs:
    """The references of a session's route: of everything that tells one private task from another."""
    route = binding.route
    portal = _ref(
        "portal-ref",
        {
            "tag": "timeline-portal/v1",
            "tenant": binding.tenant,
            "user": binding.user,
            "portal": LOCAL_PORTAL if route is None else f"portal:{route.portal}",
        },
    )
    thread = _ref(
        "thread-ref",
        {
            "tag": "timeline-thread/v1",
            "portal": portal,
            "project": binding.project,
            "task": binding.task,
            "goal": binding.goal,
            "thread": LOCAL_PORTAL if route is None else f"thread:{route.thread}",
        },
    )
    return RouteRefs(portal, thread)


def _ref(name: str, parts: dict[str, str | None]) -> str:
    return f"{name}:{hashlib.sha256(canonical_bytes(dict(parts))).hexdigest()[:_REF_HEX]}"


def reader_of(binding: Binding) -> Reader:
    """The reader that a session is: its own task, on its own route, with private assertions."""
    return Reader(
        tenant=binding.tenant,
        user=binding.user,
        project=binding.project,
        task=task_subject(binding.task),
        route=route_refs(binding),
    )


def for_purpose(reader: Reader, purpose: str | None) -> Reader:
    """The same reader, who asks for a purpose."""
    return msgspec.structs.replace(reader, purpose=purpose)


def attached_route(subject: str, knowledge: KnowledgeKind | None, reader: Reader) -> RouteRefs | None:
    """The route that the runtime attaches to what a session records (W48): no argument has a say in it.

    Only knowledge about the current task is bound. General preferences and what was learnt of the project are not,
    and go on to other conversations (W55).
    """
    return reader.route if knowledge is not None and subject == reader.task else None


def is_visible(entry: AssertionEntry | AssertionRow, reader: Reader) -> bool:
    """Whether a reader may see an assertion at all; what he may not see leaves no trace in an answer (X12)."""
    if entry.tenant != reader.tenant or entry.project not in {None, reader.project}:
        return False
    if not _is_for(entry, reader) or not _is_for_use(entry, reader):
        return False
    if entry.portal is not None:
        refs = reader.route
        on_route = refs is not None and (entry.portal, entry.thread) == (refs.portal, refs.thread)
        return on_route or (reader.is_owner and reader.group is None)
    # A bound task does not inherit what was once said about it without a route (W52).
    return reader.route is None or entry.subject != reader.task or not is_task_local(entry)


def is_task_local(entry: AssertionEntry | AssertionRow) -> bool:
    """Whether an assertion about a task belongs to one conversation and goes on to no other (W52).

    Knowledge does, and so does a continuation or a contract of another system, which has no kind: whoever is bound
    could never replace it.
    """
    return entry.knowledge is not None or entry.predicate in {CONTINUATION_PREDICATE, CONTRACT_PREDICATE}


def _is_for_use(entry: AssertionEntry | AssertionRow, reader: Reader) -> bool:
    """Whether its purposes hold the reader's, and the person spoken of lets him know (P33, P49).

    The owner looks after all that is recorded: what is bound to a purpose is not hidden from him while he names none,
    nor what speaks of others.
    """
    if reader.is_owner and reader.group is None:
        return not entry.purposes or reader.purpose is None or reader.purpose in entry.purposes
    if entry.purposes and reader.purpose not in entry.purposes:
        return False
    return entry.about is None or is_consented(reader.consents, entry.about, reader.name, reader.purpose)


def _is_for(entry: AssertionEntry | AssertionRow, reader: Reader) -> bool:
    match entry.privacy:
        case "private":
            return reader.private and entry.user == reader.user
        case "group":
            return reader.group is not None and entry.group == reader.group
        case _:
            return True
