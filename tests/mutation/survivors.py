"""Changes that no test notices, each with the reason why that is so."""

SURVIVORS: dict[tuple[str, str, str], str] = {}
