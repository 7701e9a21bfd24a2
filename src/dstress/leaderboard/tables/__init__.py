"""The tables of the database, one module for each area. Importing this door makes all of them known to `Base`."""

from __future__ import annotations

from dstress.leaderboard.tables import accounts, benchmarks, collection, judging
from dstress.leaderboard.tables.base import Base

__all__ = ["Base", "accounts", "benchmarks", "collection", "judging"]
