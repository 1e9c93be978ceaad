"""``timeline world policy|revoke|inscribe|consent``: what the owner says about evidence, signed by the owner key."""

from typing import TYPE_CHECKING, Any, Final

import click

from sidecars.reasoned import ROOTS_MAX
from timeline.answers import AUTHORITY, Json
from timeline.cli.commands import as_json_option, root_option
from timeline.cli.exit import EPILOG
from timeline.cli.presence import owner_session
from timeline.cli.render import show
from timeline.cli.tables import Cell, Table, printable, show_tables
from timeline.cli.world_owner import group_option
from timeline.errors import UsageError

if TYPE_CHECKING:
    from sidecars.reasoned import PersonConsent
    from timeline.reasoning.policy import Policy

POLICY_SCHEMA: Final = "timeline-world-policy/v1"
REVOKED_SCHEMA: Final = "timeline-world-revoked/v1"
INSCRIBED_SCHEMA: Final = "timeline-world-inscribed/v1"
CONSENTS_SCHEMA: Final = "timeline-world-consents/v1"

_reason_option = click.option("--reason", required=True, help="Why; it is signed with it.")


@click.group("policy")
def policy_group() -> None:
    """How much support a claim needs before it may be said, and what is told of the rest.

    \b
    Examples:
      timeline world policy show
      timeline world policy set --roots 2
    """


@policy_group.command("show", epilog=EPILOG)
@root_option
@as_json_option
def policy_show_command(root: str, *, as_json: bool) -> None:
    """Show the policy in force; version 0 is what holds before you have set one.

    \b
    Example:
      timeline world policy show --json
    """
    from timeline.evidence_use import show_policy
    from timeline.world_view import standpoint

    session = owner_session()
    standpoint(session, root)
    _show_policy(show_policy(session), as_json=as_json)


@policy_group.command("set", epilog=EPILOG)
@click.option(
    "--roots", type=click.IntRange(1, ROOTS_MAX), default=None, help="Independent roots that a claim needs."
)
@click.option(
    "--require",
    "required",
    multiple=True,
    metavar="PREDICATE=N",
    help="Another number for one predicate; 0 takes that back. Can be repeated.",
)
@click.option(
    "--collapse/--no-collapse",
    default=None,
    help="Whether what is gone looks like what was never recorded.",
)
@click.option(
    "--snapshot/--no-snapshot", default=None, help="Whether an older head may be spoken of, if it is said."
)
@click.option(
    "--accept",
    multiple=True,
    metavar="EVALUATOR",
    help="Let this one's interpretations support, such as model:codex. Can be repeated.",
)
@click.option(
    "--reject", multiple=True, metavar="EVALUATOR", help="Let them support no longer. Can be repeated."
)
@root_option
@as_json_option
def policy_set_command(root: str, **options: Any) -> None:  # noqa: ANN401  (what click hands over)
    """Put the next version of the policy in force; what is not named stays as it is.

    Two roots mean: two sessions, or a session and your own word. The same session twice is one.

    \b
    Examples:
      timeline world policy set --roots 2
      timeline world policy set --require deploy.branch=1 --no-collapse
    """
    from timeline.evidence_use import PolicyChange, set_policy
    from timeline.world_view import standpoint

    session = owner_session()
    standpoint(session, root)
    change = PolicyChange(
        roots=options["roots"],
        required=dict(map(_exception, options["required"])),
        collapse=options["collapse"],
        snapshot=options["snapshot"],
        accept=frozenset(options["accept"]),
        reject=frozenset(options["reject"]),
    )
    _show_policy(set_policy(session, change), as_json=options["as_json"])


@click.command("revoke", epilog=EPILOG)
@click.argument("evidence", metavar="ID")
@_reason_option
@root_option
@group_option
@as_json_option
def revoke_command(evidence: str, reason: str, root: str, group: str | None, *, as_json: bool) -> None:
    """Let an assertion, or all of a session (session-ref:...), count as evidence no longer.

    What rests on it alone loses its support as well; what has another complete ground keeps it. It stays recorded, and
    a revocation is never taken back: record it anew if it holds after all.

    \b
    Example:
      timeline world revoke assertion:timeline-0123... --reason "measured on the wrong machine"
    """
    from timeline.evidence_use import revoke_evidence
    from timeline.world_view import standpoint

    session = owner_session()
    where = standpoint(session, root, group=group)
    body = revoke_evidence(session, where.reader, evidence, reason=reason)
    answer: Json = {
        "schema": REVOKED_SCHEMA,
        "revoked": body.revoked,
        "reason": body.reason,
        "authority": AUTHORITY,
    }
    show(answer, as_json=as_json, lines=[f"{printable(body.revoked)} counts no longer"])


@click.command("inscribe", epilog=EPILOG)
@click.argument("one", metavar="ID")
@click.argument("other", metavar="ID")
@_reason_option
@root_option
@group_option
@as_json_option
def inscribe_command(
    one: str, other: str, reason: str, root: str, group: str | None, *, as_json: bool
) -> None:
    """Declare that two assertions contradict each other, also where their predicates differ.

    While both stand, neither may be said: only that the records disagree. Replacing one, or revoking it, ends that.

    \b
    Example:
      timeline world inscribe assertion:a assertion:b --reason "a release needs a green main"
    """
    from timeline.evidence_use import inscribe_conflict
    from timeline.world_view import standpoint

    session = owner_session()
    where = standpoint(session, root, group=group)
    body = inscribe_conflict(session, where.reader, one, other, reason=reason)
    answer: Json = {
        "schema": INSCRIBED_SCHEMA,
        "assertions": list(body.assertions),
        "reason": body.reason,
        "authority": AUTHORITY,
    }
    show(answer, as_json=as_json, lines=["they contradict each other from here on"])


@click.command("consent", epilog=EPILOG)
@click.argument("person")
@click.option(
    "--allow", "granted", flag_value=True, type=bool, required=True, help="The person lets this be told."
)
@click.option("--deny", "granted", flag_value=False, type=bool, help="The person takes that back.")
@click.option("--user", default=None, metavar="ID", help="Only this user.  [default: everybody]")
@click.option("--for-group", default=None, metavar="ID", help="Only this group.")
@click.option("--purpose", default=None, metavar="WORD", help="Only for this.  [default: anything]")
@root_option
@as_json_option
def consent_command(person: str, root: str, **options: Any) -> None:  # noqa: ANN401  (what click hands over)
    """Record whether PERSON, such as person:kim, lets what speaks of them be told.

    What is about a person is told to nobody but you until they consent. Taking back is the wider word: it covers all
    that it names, whatever was allowed before, and changes what is told from then on.

    \b
    Examples:
      timeline world consent person:kim --allow --user ada --purpose planning
      timeline world consent person:kim --deny
    """
    from sidecars.reasoned import PersonConsent
    from timeline.evidence_use import list_person_consents, set_person_consent
    from timeline.world_view import standpoint

    user, group = options["user"], options["for_group"]
    if user is not None and group is not None:
        message = "--user and --for-group: it is for one of them"
        raise UsageError(message)
    session = owner_session()
    standpoint(session, root)
    reader = f"user:{user}" if user is not None else None if group is None else f"group:{group}"
    set_person_consent(session, PersonConsent(person, reader, options["purpose"], options["granted"]))
    _show_consents(list_person_consents(session, person), as_json=options["as_json"])


@click.command("consents", epilog=EPILOG)
@click.argument("person", required=False)
@root_option
@as_json_option
def consents_command(person: str | None, root: str, *, as_json: bool) -> None:
    """List what persons who are spoken of have said about who may be told, or what PERSON has.

    \b
    Example:
      timeline world consents person:kim
    """
    from timeline.evidence_use import list_person_consents
    from timeline.world_view import standpoint

    session = owner_session()
    standpoint(session, root)
    _show_consents(list_person_consents(session, person), as_json=as_json)


# -- the parts -------------------------------------------------------------------------------------------------


def _exception(text: str) -> tuple[str, int]:
    predicate, mark, number = text.partition("=")
    if not mark or not number.isascii() or not number.isdigit() or int(number) > ROOTS_MAX:
        message = f"--require {text[:80]!r}: must be PREDICATE=N, with 0 to {ROOTS_MAX}"
        raise UsageError(message)
    return predicate, int(number)


def _show_policy(policy: "Policy", *, as_json: bool) -> None:
    answer: Json = {
        "schema": POLICY_SCHEMA,
        "version": policy.version,
        "roots": policy.roots,
        "required": dict(policy.required),
        "collapse": policy.collapse,
        "snapshot": policy.snapshot,
        "evaluators": sorted(policy.evaluators or ()),
        "digest": policy.digest,
        "authority": AUTHORITY,
    }
    if as_json:
        show(answer, as_json=True, lines=[])
        return
    told = "like what was never recorded" if policy.collapse else "as gone"
    rows = [
        ("version", str(policy.version)),
        ("independent roots", str(policy.roots)),
        *((f"  for {name}", str(count)) for name, count in sorted(policy.required.items())),
        ("what is gone is told", told),
        (
            "interpretations",
            f"of {', '.join(sorted(policy.evaluators))}" if policy.evaluators else "support nothing",
        ),
        ("an older head", "may be spoken of, if it is said" if policy.snapshot else "is not spoken of"),
    ]
    show_tables([Table("evidence policy", (), [(Cell(name, "quiet"), Cell(text)) for name, text in rows])])


def _show_consents(consents: "tuple[PersonConsent, ...]", *, as_json: bool) -> None:
    if as_json:
        items = [
            {"person": one.person, "reader": one.reader, "purpose": one.purpose, "granted": one.granted}
            for one in consents
        ]
        show({"schema": CONSENTS_SCHEMA, "consents": items, "authority": AUTHORITY}, as_json=True, lines=[])
        return
    rows = [
        (
            Cell("allowed", "good") if one.granted else Cell("taken back", "bad"),
            Cell(printable(one.person)),
            Cell(one.reader or "everybody"),
            Cell(one.purpose or "anything"),
        )
        for one in consents
    ]
    columns = ("", "person", "may be told to", "for")
    show_tables([Table("consents, oldest first", columns, rows, empty="nobody has said anything")])


COMMANDS: Final = (policy_group, revoke_command, inscribe_command, consent_command, consents_command)
"""What the owner says about evidence."""
