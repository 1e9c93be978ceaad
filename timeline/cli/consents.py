"""``timeline consent``: what the owner says once about all later sessions of one host in one project."""

import click

from adapters.registry import ADAPTERS
from sidecars.consent import StandingConsent
from timeline import answers, consenting
from timeline.answers import Json
from timeline.cli.commands import as_json_option
from timeline.cli.exit import EPILOG
from timeline.cli.presence import owner_session
from timeline.cli.render import show
from timeline.errors import UsageError


@click.command("consent", epilog=EPILOG)
@click.option(
    "--project",
    default=None,
    metavar="FOLDER",
    help="The project, or a folder in it.  [default: the present one; with --list: every project]",
)
@click.option(
    "--provider", default=None, type=click.Choice(list(ADAPTERS)), help="The host whose sessions are meant."
)
@click.option("--follow", is_flag=True, help="Their transcripts are read on as they grow, each for 12 hours.")
@click.option("--remove", is_flag=True, help="Take the consent back; what is enrolled stays enrolled.")
@click.option("--list", "listed", is_flag=True, help="Show what is in force.")
@as_json_option
def consent_command(
    project: str | None, provider: str | None, *, follow: bool, remove: bool, listed: bool, as_json: bool
) -> None:
    """Consent to all later sessions of a host in a project, so that nobody has to enroll them one by one.

    Off by default. It is recorded in the log under your key. From the next prompt on, a session is enrolled once its
    transcript itself shows what you typed; each stands in the log and in `timeline sources`, and `timeline revoke`
    ends it for good.

    \b
    Examples:
      timeline consent --provider codex --follow
      timeline consent --list
      timeline consent --provider codex --remove
    """
    session = owner_session()
    if listed:
        _list(consenting.list_consents(session, project), as_json=as_json)
        return
    if provider is None:
        message = "--provider is missing: a standing consent is for one host"
        raise UsageError(message, hint="timeline consent --provider codex, or timeline consent --list")
    if remove and follow:
        message = "--remove takes the whole consent back; it does not go with --follow"
        raise UsageError(message, hint="to stop following alone, consent again without --follow")
    made = consenting.set_consent(session, project or ".", provider, follow=follow, allowed=not remove)
    if made.consent is None:
        answer = answers.no_consent_answer(made.host, made.project, still_enrolled=made.enrolled)
        show(answer, as_json=as_json, lines=removed_lines(answer))
        return
    answer = answers.consent_answer(made.consent)
    taken_back = f"timeline consent --provider {made.host} --project {made.project} --remove"
    show(answer, as_json=as_json, lines=[consent_line(answer), f"    taken back with: {taken_back}"])


def _list(consents: tuple[StandingConsent, ...], *, as_json: bool) -> None:
    found = [answers.consent_answer(consent) for consent in consents]
    lines = [consent_line(answer) for answer in found]
    nothing = ["no standing consent: each session is enrolled by hand, with `timeline enroll`"]
    show(found, as_json=as_json, lines=lines or nothing)


def consent_line(answer: Json) -> str:
    """A standing consent for a person."""
    how = "followed as they grow" if answer["mode"] == "follow" else "as they are at each prompt"
    where = f"{answer['host']} in {answer['project']}"
    return f"{where}: sessions are enrolled, {how} (leaf {answer['leaf']}, {answer['since']})"


def removed_lines(answer: Json) -> list[str]:
    """What taking a consent back has changed, and what not, for a person."""
    lines = [f"{answer['host']} in {answer['project']}: no standing consent any more"]
    count = answer["stillEnrolled"]
    if count:
        sessions = "1 session stays" if count == 1 else f"{count} sessions stay"
        lines.append(f"    {sessions} enrolled: see `timeline sources`, and end them with `timeline revoke`")
    return lines
