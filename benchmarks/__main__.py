"""`make bench`: run every benchmark, or those named on the command line."""

from __future__ import annotations

import importlib
import sys

BENCHMARKS = (
    "importing",
    "scoring",
    "responses",
    "streaming",
    "stressing",
    "finding",
    "translating",
    "speaking",
    "running",
)


def main() -> None:
    for name in sys.argv[1:] or BENCHMARKS:
        importlib.import_module(f"benchmarks.{name}").run()


main()
