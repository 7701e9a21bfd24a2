"""Search: the stressors, and how strong, that break a tracker most for what they change.

space          what can be tried: stressors by strength, and their compositions
measurements   a tracker's answers under a composition, dialogue by dialogue, with what was edited
contest        candidates on the dialogues that choose: what they may break at most, and the choice
search         choose on one half of the dialogues, report on the other
tables         what the console shows
frontier       accuracy against edit size, drawn
"""

from __future__ import annotations

from dstress.pipeline.search.search import SearchOptions, SearchResult, search

__all__ = ["SearchOptions", "SearchResult", "search"]
