"""Forgetting: what is to go, what goes with it, what is never taken in again, and the search for what is left."""
