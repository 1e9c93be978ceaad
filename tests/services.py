"""Programs of the system that some tests need: skipped where one is missing, and a failure where it must not be.

`.ci/run` installs them and sets TEST_SERVICES=required, so that a test which was skipped cannot pass for one that ran.
"""

import os
from typing import Never

import pytest

ARE_REQUIRED = os.environ.get("TEST_SERVICES") == "required"


def skip_without(what: str) -> Never:
    """Skip the test because the system lacks this; fail it where nothing may lack."""
    reason = f"the system has no {what}"
    if ARE_REQUIRED:
        pytest.fail(f"{reason}, and TEST_SERVICES=required", pytrace=False)
    pytest.skip(reason)
