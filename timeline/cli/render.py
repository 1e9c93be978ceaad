"""What people see: plain text on standard output, errors and hints on standard error, progress where work is long."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click
import msgspec

from timeline.answers import Json

if TYPE_CHECKING:
    from timeline.index import Progress

_MIB = 1024 * 1024
_PENDING = "prefix-proof-pending"
_STATEMENTS = {
    "user-message-candidate": "user message",
    "explicit-next-step-correction": "correction of the next step",
}
"""What the kinds of the reference are in the words of a person."""


def show(answer: Json | list[Json], *, as_json: bool, lines: list[str]) -> None:
    """Print an answer: one JSON document, or its lines for a person."""
    if as_json:
        click.echo(_json(answer))
    else:
        for line in lines:
            click.echo(line)


def show_error(program: str, error: Any, *, as_json: bool) -> None:  # noqa: ANN401  (three error roots, one shape)
    """Print an error with its reason and advice, on standard error."""
    message, reason = str(error), getattr(error, "reason", "error")
    hint = getattr(error, "hint", None) or ""
    if as_json:
        click.echo(_json({"error": message, "reason": reason, "hint": hint}), err=True)
        return
    click.echo(f"{program}: error: {message} [{reason}]", err=True)
    if hint:
        click.echo(f"{program}: hint: {hint}", err=True)


def _json(value: Json | list[Json]) -> str:
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2).decode()


@contextmanager
def progress(label: str) -> "Iterator[Progress]":
    """A progress bar for work over a second, on a terminal only; elsewhere nothing is drawn."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    # Imported here: only a terminal needs it, and it costs as much as the rest of a command.
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)

        def advance(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        with suppress(BrokenPipeError):
            yield advance


def card_lines(card: Json) -> list[str]:
    """An evidence card for a person."""
    if "speakerRole" in card:
        facts = [card["at"] or "no reliable time", _STATEMENTS[card["kind"]]]
        second = f"    {card['id']}  {card['understanding']}"
        return ["  ".join(facts), second + _pending_proof(card)]
    counts = [
        f"{card[name]} {name}"
        for name in ("passed", "failed", "errors", "warnings", "skipped")
        if card.get(name) is not None
    ]
    exit_code = "no exit code" if card.get("exitCode") is None else f"exit {card['exitCode']}"
    facts = [
        card["at"] or "no reliable time",
        card["runner"],
        card["outcome"].upper(),
        ", ".join(counts),
        exit_code,
    ]
    first = "  ".join(fact for fact in facts if fact)
    second = f"    {card['id']}  {card['binding']}  {card['understanding']}"
    if card["testLabel"]:
        second += f"  {card['testLabel']}"
    second += _pending_proof(card)
    if card["flags"]:
        second += f"  flags: {', '.join(card['flags'])}"
    return [first, second]


def _pending_proof(card: Json) -> str:
    return f"  {_PENDING}" if card.get("prefixProof") == _PENDING else ""


def search_lines(answer: Json) -> list[str]:
    """A search's answer for a person."""
    lines = [line for card in answer["events"] for line in card_lines(card)]
    lines += [f"matched: {correction}" for correction in answer["matched"]]
    if answer["more"]:
        lines.append("more events of this source match; 8 cards are the most that are given")
    if answer["readDifferently"]:
        lines.append(f"{answer['readDifferently']} cards dropped: this program reads their lines differently")
    status = answer["status"] if answer["reason"] is None else f"{answer['status']} ({answer['reason']})"
    anchored = "" if answer["anchors"] == "none" else f", {answer['anchors']}"
    lines.append(f"status: {status}{anchored}, {answer['authority']}")
    if answer.get("simulatedHost"):
        lines.append("simulated host: this state was made by `timeline demo`")
    if answer["hint"]:
        lines.append(f"hint: {answer['hint']}")
    return lines


def index_lines(answer: Json) -> list[str]:
    """What indexing one source did, for a person."""
    if answer["status"] == "refused":
        lines = [f"{answer['source']}: refused: {answer['message']} [{answer['reason']}]"]
        return [*lines, f"  hint: {answer['hint']}"] if answer["hint"] else lines
    return [
        (
            f"{answer['source']}: {answer['status']}, {answer['indexedBytes'] / _MIB:.2f} of "
            f"{answer['size'] / _MIB:.2f} MiB, {answer['events']} events ({answer['added']} new), "
            f"{answer['understanding']}{_accepted(answer)}"
        ),
        (
            f"  {answer['records']} records, {answer['calls']} calls, {answer['prompts']} prompts "
            f"({answer['userMessages']} kept), "
            f"{answer['defects']} defects, {answer['unknown']} unknown, {answer['pendingBytes']} bytes pending"
            + (f", {answer['forgotten']} forgotten events left out" if "forgotten" in answer else "")
        ),
        *_following_line(answer),
    ]


def _accepted(answer: Json) -> str:
    """Which unreviewed types the owner's word stands for."""
    return f" (accepted: {', '.join(answer['accepted'])})" if answer["accepted"] else ""


def _following_line(found: Json) -> list[str]:
    """What is known of the bytes that stood before a followed file grew; nothing for a snapshot."""
    if "generation" not in found:
        return []
    said = f"  follows; generation {found['generation']}, recalled until {found['recallUntil']}"
    if found.get("prefixProof") == _PENDING:
        said += f", {_PENDING}: {found['provenBytes']} of {found['bytesToProve']} bytes compared since it"
    return [said]


def source_lines(source: Json) -> list[str]:
    """One enrolled source for a person."""
    state = source["state"] if source["reason"] is None else f"{source['state']} ({source['reason']})"
    return [
        (
            f"{source['source']}  {source['host']}  {state}  {source['events']} events, "
            f"{source['indexedBytes']} of {source['size']} bytes, until {source['expiresAt']}"
        ),
        f"    {source['enrollment']}  {source['path']}",
        *_following_line(source),
    ]


def fork_lines(sources: list[Json]) -> list[str]:
    """That the log of these sources is a fork, once, for a person."""
    forks = [source["forkOf"] for source in sources if "forkOf" in source]
    return [f"declared fork of {fork['origin']} at size {fork['size']}" for fork in forks[:1]]


def report_lines(report: Json) -> list[str]:
    """A verification report for a person."""
    carried, size = report["carriedSize"], report["size"]
    level = f"{report['level']}, L3 up to size {carried}" if 0 < carried < size else report["level"]
    lines = [f"verdict: {report['verdict']}  level: {level}  log: {size} leaves"]
    if report["root"]:
        lines.append(f"origin {report['origin']}  root {report['root']}")
    for check in report["checks"]:
        mark = "ok  " if check["ok"] else "FAIL"
        lines.append(
            f"{mark} {check['name']}: {check['detail']}"
            + (f" [{check['reason']}]" if check["reason"] else "")
        )
        if check["hint"] and not check["ok"]:
            lines.append(f"     hint: {check['hint']}")
    if report["simulatedHost"]:
        lines.append("simulated host: this state was made by `timeline demo`")
    lines.append("not checked:")
    lines += [f"  - {item}" for item in report["notChecked"]]
    return lines
