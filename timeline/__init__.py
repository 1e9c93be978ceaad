"""Timeline: what happened in the coding agents' sessions, and how do we know.

A wheel carries ``adapters`` and ``sidecars`` inside this package, so that site-packages gains one name
(ADR 0002); this module puts them on the path. A checkout has them beside it, and the folder is absent.
"""

import sys
from pathlib import Path

__version__ = "0.1.0"

_BUNDLED = Path(__file__).with_name("_bundled")
if _BUNDLED.is_dir():
    sys.path.insert(0, str(_BUNDLED))
