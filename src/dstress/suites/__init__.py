"""The suites room: published benchmarks, one TOML file each."""

from __future__ import annotations

from dstress.suites.base import Across, Column, Suite, load, names

__all__ = ["Across", "Column", "Suite", "load", "names"]
