"""What goes with what is named: the lineage of a selection, followed until nothing is added. Pure.

With a source goes everything that was captured from it; with an assertion everything that it had replaced and that
would come back; with both everything that rests on them alone (M22). What rests on other things too goes by the rule
that the owner has given beforehand (M15). What has no recorded lineage stays, and is told (M7).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from sidecars.assertion import AssertionEntry
from sidecars.digest import Digest
from sidecars.graded import ClaimsEntry, CredentialEntry, CredibilityEntry, VerdictEntry
from sidecars.leaf import (
    Body,
    Enrollment,
    Exclusion,
    Extension,
    ForgetReport,
    Invalidation,
    PrefixProof,
    Revocation,
    SidecarEntry,
)
from timeline.forgetting.plan import (
    Decided,
    Item,
    Rule,
    Selector,
    Why,
    imported_parts,
    is_enrollment_forgotten,
    is_entry_named,
    is_work_forgotten,
    value_parts,
)
from timeline.forgetting.suppression import Forgotten, Suppression

_OF_SOURCE = (Extension, SidecarEntry, PrefixProof, Invalidation, Revocation)


class Lineage(msgspec.Struct, frozen=True):
    """What the rest of the program knows of lineage and this package does not.

    ``session_ref`` gives the opaque reference under which captures name their session; ``carried_on`` are predicates
    whose newer assertions take over what older ones said; ``close_over`` adds to leaves those that must be erased
    along with them. Of events that are to go, ``events`` are the digests of their lines, by id, and ``reduced`` the
    sidecars, by digest, that are made again without them.
    """

    session_ref: Callable[[Enrollment], str]
    carried_on: frozenset[str]
    close_over: Callable[[frozenset[int]], frozenset[int]]
    events: Mapping[str, tuple[str, ...]] = {}
    reduced: frozenset[str] = frozenset()


def decide_targets(
    items: Sequence[Item], selector: Selector, rule: Rule, suppression: Suppression, lineage: Lineage
) -> Decided:
    """Everything that forgetting a selection means at a log of these items."""
    search = _Search(items, suppression, lineage)
    search.name(selector)
    search.follow(rule)
    return search.decided(selector)


class _Search:
    """One search for targets, from what is named to what rests on it, until nothing is added."""

    def __init__(self, items: Sequence[Item], suppression: Suppression, lineage: Lineage) -> None:
        self._items = {item.leaf: item for item in items}
        self._suppression, self._lineage = suppression, lineage
        self._targets: dict[int, Why] = {}
        self._retained: dict[int, str] = {}
        self._names: set[str] = set()
        """The ids of everything that goes: of assertions, events, sources, sessions, works."""
        self._subjects: set[str] = set()
        """The subjects that are named: what only speaks of one rests on other things too."""
        self._known = frozenset(name for item in items for name in _ids_of(item.body))
        self._replaced = frozenset(
            name for item in items if isinstance(item.body, AssertionEntry) for name in item.body.supersedes
        )

    # -- what is named -----------------------------------------------------------------------------------------

    def name(self, selector: Selector) -> None:
        wanted = frozenset(selector.digests)

        def is_named(kind: Forgotten, *parts: str) -> bool:
            return self._suppression.digest(kind, *parts) in wanted

        match selector.sort:
            case "session":
                self._name_sessions(is_named)
            case "assertions":
                self._name_all(lambda body: is_named(Forgotten.ASSERTION, body.id))
            case "subject":
                self._name_subject(is_named)
            case "event":
                self._name_event(is_named)
            case "work":
                self._name_register(lambda name: is_named(Forgotten.WORK, name))
            case "suppressed":
                self._name_suppressed()

    def _name_suppressed(self) -> None:
        held = self._suppression
        # By its id alone: another one that says the same was there at the time, and stayed.
        self._name_all(lambda body: is_entry_named(held, body))
        for item in self._items.values():
            if (isinstance(item.body, ClaimsEntry) and is_work_forgotten(held, item.body)) or (
                _is_record(item.body) and held.holds(Forgotten.RECORD, str(Digest(item.hash)))
            ):
                self._add(item.leaf, "named")
        self._name_event(held.holds)
        self._name_sources(lambda body: is_enrollment_forgotten(held, body), held.holds)

    def _name_sessions(self, is_named: Callable[..., bool]) -> None:
        self._name_sources(
            lambda body: is_named(Forgotten.SESSION, body.binding.host, body.binding.session), is_named
        )

    def _name_sources(self, is_gone: Callable[[Enrollment], bool], is_named: Callable[..., bool]) -> None:
        gone: list[Enrollment] = []
        for item in self._items.values():
            if isinstance(item.body, Enrollment) and is_gone(item.body):
                gone.append(item.body)
                self._add(item.leaf, "named")
        ids = {enrollment.enrollment_id for enrollment in gone}
        refs = {self._lineage.session_ref(enrollment) for enrollment in gone}
        self._names |= ids | refs | {enrollment.source.ref for enrollment in gone}
        paths = {enrollment.source.path for enrollment in gone}
        for item in self._items.values():
            body = item.body
            if isinstance(body, _OF_SOURCE) and body.enrollment_id in ids:
                self._add(item.leaf, "of-the-source")
            elif isinstance(body, Exclusion) and (
                (body.about == "path" and (body.name in paths or is_named(Forgotten.PATH, body.name)))
                or (body.about == "session" and is_named(Forgotten.SESSION, body.host or "", body.name))
            ):
                self._add(item.leaf, "named")
            elif isinstance(body, AssertionEntry) and body.session in refs:
                self._add(item.leaf, "captured")
            elif (
                gone
                and isinstance(body, AssertionEntry)
                and body.recorder == "model"
                and body.session is None
            ):
                # Which session has suggested it is not recorded: unknown lineage stays unknown (M7).
                self._retained[item.leaf] = "lineage-unknown"

    def _name_all(self, is_named: Callable[[AssertionEntry], bool]) -> None:
        for item in self._items.values():
            if isinstance(item.body, AssertionEntry) and is_named(item.body):
                self._add(item.leaf, "named")

    def _name_subject(self, is_named: Callable[..., bool]) -> None:
        for item in self._items.values():
            body = item.body
            about = (body.subject, body.about) if isinstance(body, AssertionEntry) else _abouts(body)
            named = {name for name in about if name is not None and is_named(Forgotten.SUBJECT, name)}
            if named:
                self._subjects |= named
                self._add(item.leaf, "named")

    def _name_event(self, is_named: Callable[..., bool]) -> None:
        self._names |= self._lineage.events.keys()
        for item in self._items.values():
            body = item.body
            if isinstance(body, AssertionEntry):
                for name in (body.evidence_id, body.message):
                    if name is not None and (name in self._names or is_named(Forgotten.EVENT, name)):
                        self._names.add(name)
                        self._add(item.leaf, "captured")

    def _name_register(self, is_named: Callable[[str], bool]) -> None:
        for item in self._items.values():
            for name in _abouts(item.body):
                if is_named(name):
                    self._names.add(name)
                    self._add(item.leaf, "named")

    def _add(self, leaf: int, why: Why) -> None:
        if leaf not in self._targets:
            self._targets[leaf] = why
            self._retained.pop(leaf, None)
            self._names.update(_ids_of(self._items[leaf].body))

    # -- what goes with it -------------------------------------------------------------------------------------

    def follow(self, rule: Rule) -> None:
        before = -1
        while before != len(self._targets):
            before = len(self._targets)
            for leaf in sorted(self._lineage.close_over(frozenset(self._targets)) - self._targets.keys()):
                self._add(leaf, self._why_along(self._items[leaf].body))
            for item in self._items.values():
                if item.leaf not in self._targets:
                    self._follow_one(item, rule)

    def _why_along(self, body: Body) -> Why:
        if isinstance(body, AssertionEntry):
            return "would-come-back"
        return "of-the-source" if isinstance(body, (Enrollment, *_OF_SOURCE)) else "derived"

    def _follow_one(self, item: Item, rule: Rule) -> None:
        match self._rests(item.body):
            case "alone":
                self._add(item.leaf, "derived")
            case "partly" if rule == "keep":
                self._retained[item.leaf] = "mixed-source"
            case "partly":
                anew = rule == "recompute" and self._can_be_made_anew(item.body)
                self._add(item.leaf, "made-anew" if anew else "mixed")

    def _can_be_made_anew(self, body: Body) -> bool:
        """Whether what is left of a derivation suffices, and nothing that stays has replaced what it says.

        What it says itself must speak of nothing that goes: it would be said anew.
        """
        return (
            isinstance(body, AssertionEntry)
            and body.derivation is not None
            and body.id not in self._replaced
            and (self._names | self._subjects).isdisjoint(texts_in(_value_of(body)))
        )

    def _rests(self, body: Body) -> Literal["alone", "partly"] | None:
        """Whether a body rests on what goes: on nothing else, on other things too, or not at all."""
        if isinstance(body, AssertionEntry):
            return self._assertion_rests(body)
        if isinstance(body, ForgetReport) or not hasattr(type(body), "abouts"):
            return None
        if isinstance(body, CredibilityEntry) and self._was_computed_from(body):
            return "partly"
        if isinstance(body, VerdictEntry) and not body.chosen:
            found = self._question_rests(body)
            if found is not None:
                return found
        texts = frozenset(texts_in(msgspec.to_builtins(body))).difference(_ids_of(body))
        return self._named_in(texts, texts & self._known)

    def _question_rests(self, body: VerdictEntry) -> Literal["alone", "partly"] | None:
        """Of a verdict that has chosen none of the claims: whether those that it was about go."""
        question = (body.subject, body.key)
        about = {
            item.leaf
            for item in self._items.values()
            if isinstance(item.body, ClaimsEntry)
            and any((claim.subject, claim.key) == question for claim in item.body.claims)
        }
        if about.isdisjoint(self._targets):
            return None
        return "alone" if about <= self._targets.keys() else "partly"

    def _was_computed_from(self, body: CredibilityEntry) -> bool:
        """Whether a computation has read claims or credentials that go: it names none, but how far it has read."""
        return any(
            leaf < body.inputs and isinstance(self._items[leaf].body, ClaimsEntry | CredentialEntry)
            for leaf in self._targets
        )

    def _assertion_rests(self, body: AssertionEntry) -> Literal["alone", "partly"] | None:
        if body.derivation is not None:
            spoiled = [bool(self._names & set(family)) for family in body.derivation.alternatives]
            if any(spoiled):
                return "alone" if all(spoiled) else "partly"
        replaced = [name for name in body.supersedes if name in self._names]
        if replaced and body.predicate in self._lineage.carried_on:
            # It goes on from the older one, whose words it has taken over; and it has evidence of its own.
            return "partly"
        texts = frozenset(texts_in(_value_of(body)))
        return self._named_in(texts, texts & self._known)

    def _named_in(self, texts: frozenset[str], known: frozenset[str]) -> Literal["alone", "partly"] | None:
        if not texts & self._names:
            return "partly" if texts & self._subjects else None
        return "partly" if known - self._names else "alone"

    # -- what it comes to --------------------------------------------------------------------------------------

    def decided(self, selector: Selector) -> Decided:
        files = {
            item.body.digest
            for leaf in self._targets
            if isinstance((item := self._items[leaf]).body, SidecarEntry)
        }
        return Decided(
            dict(sorted(self._targets.items())),
            dict(sorted(self._retained.items())),
            tuple(sorted(files | self._lineage.reduced)),
            frozenset(self._suppressed(selector)),
            tuple(self._anew()),
        )

    def _anew(self) -> Iterator[AssertionEntry]:
        for leaf, why in self._targets.items():
            body = self._items[leaf].body
            if why != "made-anew" or not isinstance(body, AssertionEntry) or body.derivation is None:
                continue
            left = tuple(one for one in body.derivation.alternatives if not self._names & set(one))
            yield msgspec.structs.replace(
                body,
                id=f"assertion:anew-{Digest.parse(self._suppression.digest(Forgotten.ASSERTION, body.id)).hex()[:32]}",
                supersedes=(),
                derivation=msgspec.structs.replace(body.derivation, alternatives=left),
            )

    def _suppressed(self, selector: Selector) -> Iterator[str]:
        digest = self._suppression.digest
        if (
            selector.sort != "subject"
        ):  # of a subject other things may be said; what was said is suppressed below
            yield from selector.digests
        for leaf, why in self._targets.items():
            body = self._items[leaf].body
            if isinstance(body, Enrollment):
                source = body.source
                yield digest(Forgotten.SESSION, body.binding.host, body.binding.session)
                yield digest(Forgotten.PATH, source.path)
                yield digest(Forgotten.SOURCE, source.ref)
                if source.prefix_length:
                    yield digest(Forgotten.PREFIX, str(source.prefix_length), source.prefix_digest)
            elif isinstance(body, ClaimsEntry):
                yield from self._claims_suppressed(body, selector)
            elif isinstance(body, AssertionEntry):
                yield from self._values_suppressed(body, selector, why)
            elif _is_record(body):
                yield digest(Forgotten.RECORD, str(Digest(self._items[leaf].hash)))
        if selector.sort in {"event", "suppressed"}:
            for event, lines in self._lineage.events.items():
                yield digest(Forgotten.EVENT, event)
                yield digest(Forgotten.LINES, *lines)

    def _values_suppressed(self, body: AssertionEntry, selector: Selector, why: Why) -> Iterator[str]:
        digest = self._suppression.digest
        yield digest(Forgotten.ASSERTION, body.id)
        if why == "made-anew":
            return
        # An import brings back what was exported before. What a session showed, another may show too.
        yield digest(Forgotten.IMPORTED_VALUE, *imported_parts(body))
        if selector.sort not in {"session", "event", "suppressed"} and why != "mixed":
            yield digest(Forgotten.VALUE, *value_parts(body))

    def _claims_suppressed(self, body: ClaimsEntry, selector: Selector) -> Iterator[str]:
        """The whole work where it was named; else its claims that speak of what goes: the others may come again."""
        digest = self._suppression.digest
        held = selector.digests if selector.sort == "work" else self._suppression.digests
        if digest(Forgotten.WORK, body.work) in held:
            yield digest(Forgotten.WORK, body.work)
            yield from (digest(Forgotten.CLAIM, claim.id) for claim in body.claims)
            return
        gone = (self._names | self._subjects).difference(_ids_of(body))
        is_whole = {body.work, body.author} & gone
        for claim in body.claims:
            if is_whole or not gone.isdisjoint(texts_in(msgspec.to_builtins(claim))):
                yield digest(Forgotten.CLAIM, claim.id)


def texts_in(value: Any) -> Iterator[str]:  # noqa: ANN401  # any JSON
    """Every text that stands anywhere in a JSON value, keys apart."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from texts_in(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from texts_in(part)


def _is_record(body: Body) -> bool:
    """Whether nothing but its hash says again that a body was forgotten."""
    return not isinstance(body, AssertionEntry | ClaimsEntry | Enrollment | ForgetReport) and hasattr(
        type(body), "abouts"
    )


def _value_of(body: AssertionEntry) -> Any:  # noqa: ANN401  # any JSON
    return msgspec.json.decode(body.value)


def _abouts(body: Body) -> tuple[str, ...]:
    found: tuple[str, ...] = getattr(body, "abouts", ())
    return found


def _ids_of(body: Body) -> tuple[str, ...]:
    """By what other leaves name what a leaf states."""
    if isinstance(body, ClaimsEntry):
        return (body.work, *(claim.id for claim in body.claims))
    if isinstance(body, AssertionEntry | CredentialEntry | VerdictEntry):
        return (body.id,)
    return (body.run,) if isinstance(body, CredibilityEntry) else ()
