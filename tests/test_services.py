import pytest

from tests import services


def test_a_missing_service_skips_or_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """On somebody's machine a test may be skipped; where services are required it must not."""
    monkeypatch.setattr(services, "ARE_REQUIRED", False)
    with pytest.raises(pytest.skip.Exception, match="the system has no such thing"):
        services.skip_without("such thing")
    monkeypatch.setattr(services, "ARE_REQUIRED", True)
    with pytest.raises(pytest.fail.Exception, match="TEST_SERVICES=required"):
        services.skip_without("such thing")
