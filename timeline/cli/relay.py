"""`timeline mcp`: its help, and what it says to misuse. The entry point becomes the relay before click is loaded."""

import click

from timeline.cli.exit import EPILOG
from timeline.hosts import HOSTS


@click.command("mcp", epilog=EPILOG)
@click.argument("host", type=click.Choice(sorted(HOSTS)))
def relay_command(host: str) -> None:
    """Be the MCP server of a host: standard input and output, carried to the daemon.

    `timeline install` writes the same into the host's configuration.

    \b
    Example:
      timeline mcp codex
    """
    message = f"the entry point becomes the relay for {host} before the command line is loaded"
    raise RuntimeError(message)
