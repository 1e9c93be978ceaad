"""``timeline owner``: the owner key under a passphrase."""

import click

from timeline.answers import AUTHORITY
from timeline.cli.commands import as_json_option
from timeline.cli.exit import EPILOG
from timeline.cli.presence import owner_session
from timeline.cli.render import show
from timeline.owner import (
    OwnerLock,
    check_agent,
    check_lock,
    find_lock,
    give_to_agent,
    lock_owner,
    unlock_owner,
)
from timeline.owner_errors import PassphraseUnfitError
from timeline.terminal import ask_passphrase
from timeline.unlocking import QUESTION

_AGENT = {
    True: "the ssh-agent holds it, and asks before each signature",
    False: "the ssh-agent does not hold it",
    None: "no ssh-agent answers",
}


@click.group("owner")
def owner_group() -> None:
    """The lock of the owner key: while it is locked, nobody consents without the owner's passphrase.

    The passphrase is asked for at the terminal, never taken from standard input, arguments or environment.
    """


@owner_group.command("lock", epilog=EPILOG)
@click.option(
    "--agent", is_flag=True, help="Also lend the key to ssh-agent, which asks before each signature."
)
@as_json_option
def lock_command(*, agent: bool, as_json: bool) -> None:
    """Seal the owner key under a passphrase, and destroy its plain file. With --agent a locked key is lent.

    There is no way back without the passphrase: a backup that was made before still holds the plain key.

    \b
    Examples:
      timeline owner lock
      timeline owner lock --agent
    """
    session = owner_session()
    if agent:
        check_agent(session)  # before anything is changed
    if agent and find_lock(session).locked:
        passphrase = ask_passphrase(QUESTION)
    else:
        check_lock(session, locked=False)
        passphrase = _ask_new()
        lock_owner(session, passphrase)
    _show(give_to_agent(session, passphrase) if agent else find_lock(session), as_json=as_json)


@owner_group.command("unlock", epilog=EPILOG)
@as_json_option
def unlock_command(*, as_json: bool) -> None:
    """Write the owner key back in its plain form, and let ssh-agent forget it.

    \b
    Example:
      timeline owner unlock
    """
    session = owner_session()
    check_lock(session, locked=True)
    _show(unlock_owner(session, ask_passphrase(QUESTION)), as_json=as_json)


@owner_group.command("status", epilog=EPILOG)
@as_json_option
def status_command(*, as_json: bool) -> None:
    """Say whether the owner key is locked.

    \b
    Example:
      timeline owner status
    """
    _show(find_lock(owner_session()), as_json=as_json)


def _ask_new() -> str:
    passphrase = ask_passphrase("new passphrase of the owner key: ")
    if ask_passphrase("the same again: ") != passphrase:
        message = "the two passphrases differ"
        raise PassphraseUnfitError(message)
    return passphrase


def _show(found: OwnerLock, *, as_json: bool) -> None:
    answer = {
        "schema": "timeline-owner-lock/v1",
        "owner": str(found.verifier),
        "locked": found.locked,
        "agent": found.agent,
        "authority": AUTHORITY,
    }
    lines = [
        f"owner key {'locked' if found.locked else 'not locked'}  {found.verifier}",
        *([f"    {_AGENT[found.agent]}"] if found.locked else []),
    ]
    show(answer, as_json=as_json, lines=lines)
