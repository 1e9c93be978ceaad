"""The table of reviewed runners: one module each, one entry here."""

from adapters.objective.recogniser import Recogniser
from adapters.objective.runners import (
    bun,
    cargo,
    cargo_build,
    ctest,
    dotnet,
    eslint,
    go,
    go_build,
    gradle,
    jest,
    measured,
    mocha,
    mypy,
    nextest,
    node,
    phpunit,
    pytest,
    rspec,
    ruff,
    surefire,
    tap,
    tsc,
    unittest,
    vitest,
)

RECOGNISERS: tuple[Recogniser, ...] = tuple(
    module.RECOGNISER
    for module in (
        pytest,
        unittest,
        cargo,
        nextest,
        go,
        jest,
        vitest,
        mocha,
        node,
        bun,
        tap,
        surefire,
        gradle,
        ctest,
        rspec,
        phpunit,
        dotnet,
        measured,
        tsc,
        mypy,
        ruff,
        eslint,
        cargo_build,
        go_build,
    )
)
"""Every runner whose results can become evidence; the order has no meaning."""

BY_RUNNER = {recogniser.runner: recogniser for recogniser in RECOGNISERS}
"""The same by runner id."""
