"""Where the real data is: PORISM_SHARED names the folder; by default it is `shared` beside the repository."""

from __future__ import annotations

import os
from pathlib import Path

SHARED = Path(os.environ.get("PORISM_SHARED", Path(__file__).resolve().parents[2] / "shared"))
DATA = SHARED / "data"
