"""Search: the stressors, and how strong, that break a tracker most for what they change.

measurements   a tracker's answers under a composition, dialogue by dialogue, with what was edited
contest        candidates on the dialogues that choose: what they may break at most, and the choice
search         what can be tried; choose on one half of the dialogues, report on the other
tables         what the console shows, and the frontier drawn: accuracy against edit size
"""

from __future__ import annotations

from dstress.studies.search.search import SearchOptions, SearchResult, search
from dstress.studies.search.tables import search_tables

__all__ = ["SearchOptions", "SearchResult", "search", "search_tables"]
