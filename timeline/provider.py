"""Which adapter reads a source: the one of its host, with the protocols that the owner mapped to reviewed ones.

A wire of King or Kimi Code declares a protocol. One that was never reviewed refuses the file, unless the owner has
said, in a signed decision, as which reviewed protocol it is to be read (T71). Nothing in a file can say so.
"""

from adapters.base import Adapter
from adapters.errors import UnknownProtocolError
from adapters.registry import ADAPTERS, adapter_of
from timeline.errors import FormatNameError
from timeline.understanding import FormatRules


def adapter_for(rules: FormatRules, host: str) -> Adapter:
    """The adapter of ``host`` under the decisions in force."""
    mapped = rules.protocols(host)
    return adapter_of(host, mapped) if mapped else ADAPTERS[host]


def check_protocols(host: str, protocols: dict[str, str]) -> Adapter:
    """The adapter that reads ``protocols`` (declared to reviewed), or a refusal in words for the owner.

    Raises:
        FormatNameError: the host declares no protocol, or the second one was never reviewed.
    """
    try:
        return adapter_of(host, protocols)
    except UnknownProtocolError as error:
        message = f"{host}: {error.rule}"
        hint = "write DECLARED:REVIEWED, as in protocol/1.6-blun:1.4; docs/spec/adapter-king.md lists the reviewed ones"
        raise FormatNameError(message, hint=hint) from error
