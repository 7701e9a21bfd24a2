"""A tracker that never says anything: what a score is worth that beats it by little."""

from __future__ import annotations

from collections.abc import Sequence

from dstress.trackers.base import Answer, Context, Tracker


class Empty(Tracker):
    """Answers with nothing: the floor."""

    def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
        """An empty state for every turn."""
        return [{} for _ in contexts]
