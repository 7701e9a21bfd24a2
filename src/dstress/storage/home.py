"""The data home: where imported corpora, caches and calibrations live."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def home() -> Path:
    """`DSTRESS_HOME`, else the platform's user data folder."""
    chosen = os.environ.get("DSTRESS_HOME")
    return Path(chosen) if chosen else platformdirs.user_data_path("dstress", appauthor=False)
