"""A small case as JSON, to be changed by the tests."""

import json
from typing import Any

from timeline.reasoning.case import Case, parse_case

ORIGIN = {"author": "user:ada", "channel": "c", "content": "d", "context": "s"}


def record(name: str, **more: Any) -> dict[str, Any]:
    """A report of a good origin."""
    made = {"id": name, "role": "attributed-report", "origin": "attributed-report", "observed_at": 5}
    return {**made, "fields": ORIGIN, **more}


def says(value: Any) -> dict[str, Any]:
    """A statement about one thing."""
    return {"subject": "user:ada", "predicate": "city", "value": value}


def case(**more: Any) -> dict[str, Any]:
    """A case with one report, whose candidate passes."""
    head = {"size": 3, "root": "r3"}
    made: dict[str, Any] = {
        "schema": "timeline-conformance-case/v1",
        "id": "mine",
        "track": "mine",
        "kind": "control",
        "condition": "One report.",
        "check": "Exact S member",
        "policy": {"roots": 1},
        "evidence": [record("a", says=says("Berlin"))],
        "query": {"subject": "user:ada", "predicate": "city", "at": 10},
        "reader": {"principal": "user:ada"},
        "candidate": {"value": "Berlin"},
        "heads": {"prompt": head, "emission": head},
        "expected": {"status": "supported", "disposition": "passed"},
        "flip": {"at": "/candidate/value", "value": "Rome", "disposition": "blocked"},
    }
    return {**made, **more}


def encode(value: Any) -> bytes:
    """As a file has it."""
    return json.dumps(value).encode()


def parse(**more: Any) -> Case:
    """The case with these fields."""
    return parse_case(encode(case(**more)), "mine.json")
