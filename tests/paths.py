"""Where things are, seen from the tests."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
SHARED = ROOT.parent / "shared"
"""Real corpora and golden outputs beside the repository; a user's clone has none."""
SEARCHED = os.pathsep.join(map(str, (ROOT / "src", ROOT)))
"""What a process that a test starts needs as PYTHONPATH."""
