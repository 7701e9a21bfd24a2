"""Shrink: from a stressed dialogue that a tracker gets wrong to the smallest change that still breaks it.

changes    what a stressor did to a dialogue, in pieces that can be taken back one by one with their labels
ddmin      delta debugging over the pieces: which of them are needed
shrink     the examples of a run, shrunk side by side, with a summary
tables     what the console shows
"""

from __future__ import annotations

from dstress.studies.shrink.shrink import Shrinkage, ShrunkExample, list_failures, shrink
from dstress.studies.shrink.tables import shrinkage_tables

__all__ = ["Shrinkage", "ShrunkExample", "list_failures", "shrink", "shrinkage_tables"]
