"""Which leaves can only be erased together, so that what is left says nothing that was not so before. Pure.

An erasure may take away what was said; it must not bring back what had ended. So with an enrollment goes every leaf
that names it, and the older one that it had replaced; with what replaces goes what it had replaced; with what took back
goes what was taken back. What was only said about something goes with it, and the parts of one computation together.
"""

from collections import defaultdict
from collections.abc import Iterable

from sidecars.assertion import AssertionEntry
from sidecars.erased import ERASABLE
from sidecars.erasure import Exclusion
from sidecars.graded import CredentialEntry, CredibilityEntry, VerdictEntry
from sidecars.leaf import (
    Enrollment,
    Extension,
    Invalidation,
    Kind,
    Leaf,
    PrefixProof,
    Revocation,
    SidecarEntry,
)
from sidecars.reasoned import ConflictInscription, EvidenceRevocation, PersonConsent
from timeline.erasure_errors import ErasureRefusedError
from timeline.view import transcript_of

_OF_ENROLLMENT = (Extension, SidecarEntry, PrefixProof, Invalidation, Revocation)


class Entangled:
    """Leaves as they depend on each other; every leaf that is still there is added in the log's order."""

    def __init__(self) -> None:
        """No leaf was added yet."""
        self._kinds: dict[int, Kind] = {}
        self._group_of: dict[int, str] = {}
        """The enrollment that a leaf names, or is."""
        self._groups: defaultdict[str, list[int]] = defaultdict(list)
        self._of_ref: defaultdict[str, set[int]] = defaultdict(set)
        """The enrollments of a source."""
        self._names: dict[int, tuple[str, ...]] = {}
        """The id by which others speak of a leaf."""
        self._newest: dict[tuple[str, str, str], str] = {}
        self._revoked: set[str] = set()
        self._ended: dict[str, str] = {}
        """For an enrollment, the older one that it replaced."""
        self._by_id: dict[str, int] = {}
        """The assertion or verdict with an id."""
        self._needed_ids: dict[int, tuple[str, ...]] = {}
        """What a leaf has replaced or taken back, by id."""
        self._about: defaultdict[str, list[int]] = defaultdict(list)
        """What was only said about something, by its id."""
        self._conflicts: dict[int, tuple[str, str]] = {}
        self._newest_counts: defaultdict[tuple[Kind, str], list[int]] = defaultdict(list)
        """Leaves of which the newest counts, in order."""
        self._key_of: dict[int, tuple[Kind, str]] = {}
        self._parts: defaultdict[str, list[int]] = defaultdict(list)
        """The parts of a run of the computation: without one of them it is none."""
        self._run_of: dict[int, str] = {}

    def add(self, leaf: Leaf) -> None:
        """Add the next leaf."""
        self._kinds[leaf.index] = leaf.kind
        match leaf.body:
            case Enrollment() as body:
                self._add_enrollment(leaf.index, body)
            case AssertionEntry(id=name, supersedes=replaced) | VerdictEntry(id=name, supersedes=replaced):
                self._by_id[name] = leaf.index
                self._names[leaf.index] = (name,)
                self._needed_ids[leaf.index] = replaced
            case EvidenceRevocation(revoked=name):
                self._needed_ids[leaf.index] = (name,)
                self._about[name].append(leaf.index)
            case ConflictInscription(assertions=pair):
                self._conflicts[leaf.index] = pair
                for name in pair:
                    self._about[name].append(leaf.index)
            case PersonConsent(person=name) | CredentialEntry(id=name):
                self._add_decision(leaf, name)
            case CredibilityEntry(run=name):
                self._run_of[leaf.index] = name
                self._parts[name].append(leaf.index)
            case Exclusion(about=about, host=host, name=name):
                self._add_decision(leaf, f"{about} {host} {name}")
            case body if isinstance(body, _OF_ENROLLMENT):
                self._group_of[leaf.index] = body.enrollment_id
                self._groups[body.enrollment_id].append(leaf.index)
                if isinstance(body, Revocation):
                    self._revoked.add(body.enrollment_id)
            case _:
                pass

    def _add_decision(self, leaf: Leaf, about: str) -> None:
        key = self._key_of[leaf.index] = (leaf.kind, about)
        self._newest_counts[key].append(leaf.index)

    def _add_enrollment(self, index: int, body: Enrollment) -> None:
        name, transcript = body.enrollment_id, transcript_of(body)
        self._group_of[index] = name
        self._groups[name].append(index)
        self._of_ref[body.source.ref].add(index)
        self._names[index] = (body.source.ref,)
        older = self._newest.get(transcript)
        if older is not None and older not in self._revoked:
            self._ended[name] = older
        self._newest[transcript] = name

    def close_over(self, leaves: Iterable[int]) -> frozenset[int]:
        """These leaves and all that have to go with them. With an inscribed conflict alone, nothing has to."""
        chosen = frozenset(leaves)
        while missing := self._missing(chosen):
            chosen |= missing
        return chosen

    def check(self, chosen: frozenset[int]) -> None:
        """Return only if these leaves may be erased together.

        Raises:
            ErasureRefusedError: one may not, is not there, or another has to go with it.
        """
        for index in sorted(chosen):
            kind = self._kinds.get(index)
            if kind is None:
                message = f"leaf {index}: not there, or erased already"
                raise ErasureRefusedError(message)
            if kind not in ERASABLE:
                message = f"leaf {index} ({kind}): a leaf of this kind stays"
                raise ErasureRefusedError(message)
            pair = [self._by_id.get(name) for name in self._conflicts.get(index, ())]
            if pair and not any(found is None or found in chosen for found in pair):
                message = (
                    f"leaf {index} ({kind}): one of the two that contradict each other has to go with it"
                )
                raise ErasureRefusedError(message)
        missing = self._missing(chosen)
        if missing:
            message = f"leaf {min(missing)} has to go as well: what is left would bring back what had ended"
            raise ErasureRefusedError(message)

    def _missing(self, chosen: frozenset[int]) -> set[int]:
        """What has to go with leaves, as far as it shows from them, and is not among them."""
        needed: set[int] = set()
        for group in {self._group_of[index] for index in chosen if index in self._group_of}:
            if not self._loses_sidecars_alone(group, chosen):
                needed.update(self._groups[group])
                needed.update(self._groups.get(self._ended.get(group, ""), ()))
        for index in chosen:
            for name in self._needed_ids.get(index, ()):
                needed.update(self._with_name(name))
            for name in self._names.get(index, ()):
                if self._with_name(name) <= chosen:
                    needed.update(self._about.get(name, ()))
            needed.update(self._parts.get(self._run_of.get(index, ""), ()))
            key = self._key_of.get(index)
            if key is not None:
                needed.update(older for older in self._newest_counts[key] if older < index)
        return needed - chosen

    def _with_name(self, name: str) -> set[int]:
        """The leaves that an id names: an assertion or a verdict, or the enrollments of a source."""
        found = {self._by_id[name]} if name in self._by_id else set()
        return found.union(self._of_ref.get(name, ()))

    def _loses_sidecars_alone(self, group: str, chosen: frozenset[int]) -> bool:
        """Whether an enrollment stays and loses all its sidecars: it is then read from the beginning again.

        One that was extended does not: only its sidecars say how far it was read at which length.
        """
        kinds = {index: self._kinds[index] for index in self._groups[group]}
        sidecars = {index for index, kind in kinds.items() if kind is Kind.SIDECAR}
        return Kind.EXTENSION not in kinds.values() and chosen.intersection(kinds) == sidecars
