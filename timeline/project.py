"""Which project a folder belongs to: the nearest one upwards that holds ``.git``, with links resolved."""

import os

from timeline.errors import ScopeError, UsageError


def canonical_root(root: str) -> str:
    """The project that a folder belongs to, as bindings spell it: the nearest one upwards that holds ``.git``.

    Raises:
        UsageError: there is no such folder.
    """
    if not os.path.isdir(root):
        message = f"{root[:200]}: no such folder"
        raise UsageError(message, hint="give the project's folder with --root")
    return project_of(root)


def project_of(folder: str) -> str:
    """The nearest folder upwards that holds ``.git``, else the folder itself; need not exist."""
    path = candidate = os.path.realpath(folder)
    while not os.path.exists(os.path.join(candidate, ".git")):  # asked with every call
        above = os.path.dirname(candidate)
        if above == candidate:
            return path
        candidate = above
    return candidate


def project_at(cwd: str) -> str:
    """The project of the folder that a host works in; the event says it, so it may be anything.

    Raises:
        ScopeError: not a path that a folder can have.
    """
    if not os.path.isabs(cwd) or "\0" in cwd:
        message = "scope field project: the host's working folder must be an absolute path"
        raise ScopeError(message)
    return project_of(cwd)
