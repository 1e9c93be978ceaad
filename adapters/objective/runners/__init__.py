"""The table of reviewed runners: one module each, one entry here."""

from adapters.objective.recogniser import Recogniser
from adapters.objective.runners import cargo, go, jest, measured, pytest, unittest, vitest

RECOGNISERS: tuple[Recogniser, ...] = (
    pytest.RECOGNISER,
    unittest.RECOGNISER,
    cargo.RECOGNISER,
    go.RECOGNISER,
    jest.RECOGNISER,
    vitest.RECOGNISER,
    measured.RECOGNISER,
)
"""Every runner whose results can become evidence; the order has no meaning."""

BY_RUNNER = {recogniser.runner: recogniser for recogniser in RECOGNISERS}
"""The same by runner id."""
