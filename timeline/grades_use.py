"""What claims weigh, and what the owner says about that: grades, credentials, verdicts (G6, G12, G27).

Nothing of a grade is stored. A grade orders and explains: none moves anything out of a conflict, and a verdict changes
no score and no assertion (W16).
"""

from collections.abc import Sequence
from typing import Final, TypeVar

import msgspec

from sidecars.digest import Digest
from sidecars.graded import CredentialEntry, GradedBody, VerdictEntry, check_graded
from sidecars.identity import canonical_bytes
from sidecars.kind import Kind
from timeline.asserted_claims import claim_of
from timeline.assertion_account import account_assertions
from timeline.grading.claims import Claimed, group_by_question, read_claims
from timeline.grading.credibility import credentials_in_force
from timeline.grading.current import Current, find_current
from timeline.grading.errors import ClaimUnknownError, GradingError, GradingUnchangedError
from timeline.grading.grade import ClaimGrade, QuestionGrade, digest_grade, grade_question
from timeline.grading.verdicts import VerdictInForce, find_objection, verdicts_in_force
from timeline.grading_reading import (
    Credibilities,
    claims_about,
    claims_entries,
    credentials_of,
    credibilities_of,
    verdicts_of,
)
from timeline.registered import read_register
from timeline.service import Session
from timeline.state import State
from timeline.stated import check_stated
from timeline.world import ledger
from timeline.world.assertion import Assertion
from timeline.world.derivation import root_of
from timeline.world.errors import SecretShapedError
from timeline.world.scope import Reader, is_visible
from timeline.world.secrets import find_secret
from timeline.world_view import Standpoint

_ID_HEX: Final = 32
Body = TypeVar("Body", bound=GradedBody)


class GradedClaim(msgspec.Struct, frozen=True):
    """One claim with its grade, the grades of its whole question, and the run whose credibilities were used."""

    claimed: Claimed
    grade: ClaimGrade
    question: QuestionGrade
    credibilities: Credibilities


class GradedQuestion(msgspec.Struct, frozen=True):
    """Everything that is claimed about one key of a subject; ``current`` only where newer replaces older."""

    question: QuestionGrade
    claims: tuple[Claimed, ...]
    current: Current | None
    verdicts: tuple[VerdictInForce, ...]


class GradedSubject(msgspec.Struct, frozen=True):
    """The questions about a subject, by key, and the run whose credibilities were used."""

    subject: str
    questions: tuple[GradedQuestion, ...]
    credibilities: Credibilities


class Given(msgspec.Struct, frozen=True):
    """A verdict of the log: whether it is in force, and whether the grades have changed since it was given."""

    verdict: VerdictEntry
    is_in_force: bool
    is_outdated: bool


class Credential(msgspec.Struct, frozen=True):
    """A credential of the log, and whether it counts now."""

    entry: CredentialEntry
    is_in_force: bool


# -- grades ----------------------------------------------------------------------------------------------------


def grade_one(session: Session, where: Standpoint, name: str) -> GradedClaim:
    """The grade of a claim or an assertion by its id.

    Raises:
        ClaimUnknownError: there is none that the owner may see here.
        ClaimIdError, RunIncompleteError: the log's claims or its newest run do not fit together.
        StateError, SidecarError: the state is not to be believed.
    """
    with session.reading() as state:
        members = _asserted_beside(state, where.reader, name) or _claimed_beside(state, name)
        credibilities = credibilities_of(state)
    found = {one.claim.id: one for one in members}
    if name not in found:
        message = "no claim and no assertion of this id is known here"
        raise ClaimUnknownError(message)
    question = grade_question(members, credibilities.rows)
    (grade,) = (one for one in question.claims if one.claim == name)
    return GradedClaim(found[name], grade, question, credibilities)


def _claimed_beside(state: State, name: str) -> tuple[Claimed, ...]:
    """The claims of works on the question of one of them, empty where there is no such claim."""
    claims = read_claims(claims_entries(state))
    question = next((one.question for one in claims if one.claim.id == name), None)
    return tuple(one for one in claims if one.question == question)


def _asserted_beside(state: State, reader: Reader, name: str) -> tuple[Claimed, ...]:
    """An assertion with those on the same question that stand, and with what works claim; empty where it is none.

    What the owner has revoked stands no more.
    """
    found = ledger.find(state, name)
    if found is None or not is_visible(found.entry, reader):
        return ()
    entry = found.entry
    standing = ledger.read_current(state, entry.subject, tenant=entry.tenant, project=reader.project)
    beside = {
        one.id: claim_of(one)
        for one in (*standing, found)
        if one.entry.predicate == entry.predicate
        and is_visible(one.entry, reader)
        and (one.id == name or not _is_revoked(state, one))
    }
    works = (one for one in claims_about(state, entry.subject) if one.claim.key == entry.predicate)
    return (*beside.values(), *(one for one in works if one.claim.id not in beside))


def _is_revoked(state: State, one: Assertion) -> bool:
    return any(read_register(state, Kind.EVIDENCE_REVOCATION, name) for name in (one.id, root_of(one.entry)))


def grade_subject(session: Session, subject: str, key: str | None = None) -> GradedSubject:
    """Everything that works claim about a subject, or about one key of it, by its grades.

    Raises:
        ClaimUnknownError: nothing is claimed about it.
        ClaimIdError, RunIncompleteError, StateError, SidecarError: see ``grade_one``.
    """
    with session.reading() as state:
        claims = tuple(one for one in claims_about(state, subject) if key in {None, one.claim.key})
        credibilities = credibilities_of(state)
        verdicts = verdicts_of(state, subject)
        now_ms = ledger.now_ms(state)
    if not claims:
        message = "no work claims anything about this"
        raise ClaimUnknownError(message)
    questions = []
    for _, members in sorted(group_by_question(claims).items()):
        question = grade_question(members, credibilities.rows)
        questions.append(
            GradedQuestion(
                question,
                tuple(members),
                find_current(members, now_ms),
                verdicts_in_force(verdicts, question),
            )
        )
    return GradedSubject(subject, tuple(questions), credibilities)


# -- credentials -----------------------------------------------------------------------------------------------


def add_credential(
    session: Session,
    *,
    entity: str,
    domain: str,
    quality: int,
    basis: str,
    name: str | None = None,
    valid_from: int | None = None,
    valid_until: int | None = None,
) -> CredentialEntry:
    """Record a credential that the owner has checked, from now on unless told otherwise (G12). Quality in millionths.

    Without a ``name`` the same basis of the same entity in the same domain is the same credential, and is replaced.

    Raises:
        GradingError: a field is not of its form.
        SecretShapedError: the basis looks like a secret.
        GradingUnchangedError: it says so already.
        StateError, SidecarError: the state cannot be used, or the owner key is not to be had.
    """
    _check_secret("basis", basis)
    with session.writing() as state:
        account_assertions(state)
        identity = Digest.of(canonical_bytes([entity, domain, basis])).hex()[:_ID_HEX]
        named = name or f"credential:timeline-{identity}"
        before = next((one for one in reversed(credentials_of(state)) if one.id == named), None)
        begins = before.valid_from if valid_from is None and before is not None else valid_from
        entry = CredentialEntry(
            id=named,
            entity=entity,
            domain=domain,
            quality=quality,
            basis=basis,
            valid_from=ledger.now_ms(state) if begins is None else begins,
            valid_until=valid_until,
        )
        if entry == before:
            message = "this credential says so already"
            raise GradingUnchangedError(message)
        return _commit(state, entry)


def list_credentials(session: Session, entity: str | None = None) -> tuple[Credential, ...]:
    """The credentials of everybody or of one, oldest first; of one id only the newest can count.

    Raises:
        StateError, SidecarError: the state is not to be believed.
    """
    with session.reading() as state:
        entries = credentials_of(state)
        counting = set(credentials_in_force(entries, ledger.now_ms(state)))
    newest = {entry.id: place for place, entry in enumerate(entries)}
    return tuple(
        Credential(entry, newest[entry.id] == place and entry in counting)
        for place, entry in enumerate(entries)
        if entity in {None, entry.entity}
    )


# -- verdicts --------------------------------------------------------------------------------------------------


def give_verdict(
    session: Session, subject: str, key: str, *, chosen: Sequence[str], reason: str
) -> tuple[VerdictEntry, GradedQuestion]:
    """Settle a question for now, with some of its claims or with none; it replaces every verdict in force on it (G27).

    Raises:
        ClaimUnknownError: nothing is claimed about it.
        GradingError: what is chosen is no claim of it that competes, or a field is not of its form.
        SecretShapedError: the reason looks like a secret.
        GradingUnchangedError: the verdict in force says so, on the same grades.
        StateError, SidecarError: the state cannot be used, or the owner key is not to be had.
    """
    _check_secret("reason", reason)
    with session.writing() as state:
        account_assertions(state)
        members = tuple(one for one in claims_about(state, subject) if one.claim.key == key)
        if not members:
            message = "no work claims anything about this"
            raise ClaimUnknownError(message)
        question = grade_question(members, credibilities_of(state).rows)
        earlier = verdicts_of(state, subject)
        standing = verdicts_in_force(earlier, question)
        picked = tuple(sorted(set(chosen)))
        digest = digest_grade(question)
        if len(standing) == 1 and _says(standing[0].verdict) == (picked, digest, reason):
            message = "the verdict in force says so already"
            raise GradingUnchangedError(message)
        replaced = tuple(sorted(one.verdict.id for one in standing))
        identity = canonical_bytes([subject, key, list(picked), digest, reason, list(replaced)])
        verdict = VerdictEntry(
            id=f"verdict:timeline-{Digest.of(identity).hex()[:_ID_HEX]}",
            subject=subject,
            key=key,
            grades_digest=digest,
            reason=reason,
            chosen=picked,
            supersedes=replaced,
        )
        if (objection := find_objection(verdict, members, earlier)) is not None:
            raise GradingError(objection)
        _commit(state, verdict)
        current = find_current(members, ledger.now_ms(state))
    return verdict, GradedQuestion(question, members, current, (VerdictInForce(verdict, is_outdated=False),))


def list_verdicts(session: Session, subject: str | None = None) -> tuple[Given, ...]:
    """Every verdict, or those on one subject, oldest first; none is dropped when another replaces it (G28).

    Raises:
        ClaimIdError, RunIncompleteError, StateError, SidecarError: see ``grade_one``.
    """
    with session.reading() as state:
        verdicts = verdicts_of(state, subject)
        rows = credibilities_of(state).rows if verdicts else {}
        claims = {
            question: members
            for name in sorted({one.subject for one in verdicts})
            for question, members in group_by_question(claims_about(state, name)).items()
        }
    replaced = {name for one in verdicts for name in one.supersedes}
    digests = {
        question: digest_grade(grade_question(members, rows))
        for question, members in claims.items()
        if any((one.subject, one.key) == question for one in verdicts)
    }
    return tuple(
        Given(one, one.id not in replaced, one.grades_digest != digests.get((one.subject, one.key)))
        for one in verdicts
    )


# -- the parts -------------------------------------------------------------------------------------------------


def _says(verdict: VerdictEntry) -> tuple[tuple[str, ...], str, str]:
    return verdict.chosen, verdict.grades_digest, verdict.reason


def _check_secret(field: str, text: str) -> None:
    family = find_secret(text)
    if family is not None:
        message = f"field {field}: must hold no secret, and this looks like one ({family})"
        raise SecretShapedError(message)


def _commit(state: State, body: Body) -> Body:
    checked = check_stated(body, check_graded, GradingError)
    state.commit([checked])
    return checked
