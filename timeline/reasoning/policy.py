"""The release policy: how much support a predicate needs, and what may be told of the rest (P3, P31, P37). Pure."""

import hashlib
from collections.abc import Mapping
from typing import Final

import msgspec

from sidecars.digest import Digest
from sidecars.identity import canonical_bytes


class Policy(msgspec.Struct, frozen=True):
    """One version of the rules.

    ``roots`` is the number of independent roots that a predicate needs, ``required`` its exceptions by predicate.
    ``evaluators`` are those whose interpretations may support (``EvalOK`` of the paper's equation 12); ``None`` is all.
    ``collapse`` makes unknown, withheld and unavailable look alike. ``snapshot`` permits content of an older head, if
    it says so.
    """

    version: int
    roots: int = 1
    required: Mapping[str, int] = {}
    collapse: bool = True
    snapshot: bool = False
    evaluators: frozenset[str] | None = None

    def roots_for(self, predicate: str) -> int:
        """How many pairwise independent roots a claim with this predicate needs."""
        return self.required.get(predicate, self.roots)

    @property
    def digest(self) -> str:
        """The SHA-256 of its canonical form, as digests are spelled."""
        content = canonical_bytes(
            {
                "schema": "timeline-evidence-policy/v1",
                "version": self.version,
                "roots": self.roots,
                "required": dict(self.required),
                "collapse": self.collapse,
                "snapshot": self.snapshot,
                "evaluators": None if self.evaluators is None else (*sorted(self.evaluators),),
            }
        )
        return str(Digest(hashlib.sha256(content).digest()))


DEFAULT_POLICY: Final = Policy(version=0, evaluators=frozenset())
"""In force until the owner has signed another one: one root, nobody's interpretations support, and everything that is
not supported looks alike."""
