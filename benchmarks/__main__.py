"""`make bench`: run every benchmark, or those named on the command line."""

from __future__ import annotations

import importlib
import sys

BENCHMARKS = (
    "importing",
    "scoring",
    "responses",
    "calls",
    "streaming",
    "stressing",
    "finding",
    "translating",
    "speaking",
    "running",
    "scaling",
    "opening",
    "statistics",
    "beside_old",
)


def main() -> None:
    for name in sys.argv[1:] or BENCHMARKS:
        importlib.import_module(f"benchmarks.{name}").run()


main()
