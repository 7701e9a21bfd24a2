"""A report needs a run folder, not the machinery that made it."""

from __future__ import annotations

import subprocess
import sys

import pytest

SHOWN = """
import sys
import dstress.reports.{module}
print(*(name for name in sys.modules if name.startswith(("dstress.stressors", "dstress.corpora", "dstress.trackers"))))
"""


@pytest.mark.parametrize("module", ["findings", "html", "tables"])
def test_reports_load_no_stressor_and_no_corpus(module: str) -> None:
    script = SHOWN.format(module=module)
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert loaded.split() == []
