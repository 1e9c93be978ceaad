"""The small worlds of the end-to-end tests."""

from tests.e2e.conftest import small, world

__all__ = ["small", "world"]
