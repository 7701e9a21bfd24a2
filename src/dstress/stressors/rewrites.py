"""People's own rewrites: a file says which turn is said in which other words.

RADDLE's language variations (Peng et al. 2021, section 4.2) were written by people. Such rewrites are a stressed corpus
like any other: aligned with the original, guarded, and scored beside the stressors that are made by rule.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from dstress.errors import DstressError, SpecError, place, unknown
from dstress.resources import Resources
from dstress.stressors.base import Outcome, TurnStressor
from dstress.text.utterance import Utterance

COLUMNS = ("dialogue", "turn", "user")
_DELIMITERS = (",", "\t", ";")


class Rewrites(TurnStressor):
    """What people wrote instead: a CSV or JSONL file with `dialogue`, `turn` and `user`, the user's new words.

    Turns without a row stay as they are. `trusted=true` takes every row as it is; else one that no longer says a value
    of its turn's label is left out and counted.
    """

    rephrases = True
    names_values = True

    def __init__(self, path: str = "", trusted: bool = False) -> None:
        self.path, self.guarded = path, not trusted

    def files(self) -> tuple[Path, ...]:
        """The rewrites."""
        return (Path(self.path),) if self.path else ()

    def prepare(self, resources: Resources) -> None:
        """Read the file; every row must be about a turn of the corpus."""
        super().prepare(resources)
        if not self.path:
            raise SpecError("rewrites: which file has them?", fix="rewrites(path=mine.csv)")
        turns = {dialogue.id: len(dialogue.turns) for dialogue in resources.corpus}
        self._rewrites: dict[tuple[str, int], str] = {}
        for where, row in _read_rows(Path(self.path)):
            dialogue, turn, words = (str(row[column]).strip() for column in COLUMNS)
            here = place(where, dialogue)
            if dialogue not in turns:
                raise unknown("dialogue", dialogue, turns, where=where, fix="ids are as the corpus writes them")
            if not turn.isascii() or not turn.isdigit() or int(turn) >= turns[dialogue]:
                fix = f"it has turns 0 to {turns[dialogue] - 1}; a turn is a user's utterance"
                raise DstressError(f"there is no turn {turn!r}", where=here, fix=fix)
            key = dialogue, int(turn)
            if not words:
                raise DstressError("there are no words", where=place(where, *key), fix="leave out the row")
            if key in self._rewrites:
                raise DstressError("the turn is there twice", where=place(where, *key), fix="a file for each version")
            self._rewrites[key] = words

    def rewrite_utterance(self, utterance: Utterance) -> Outcome:
        """The words of the file, if it has some."""
        return self._rewrites.get((utterance.dialogue, utterance.index))


def _read_rows(path: Path) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The rows of a file, each with its place."""
    if path.exists() and not path.is_file():  # a device may never end
        raise DstressError("the rewrites cannot be read: it is no file", where=str(path), fix="check the path")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        problem = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise DstressError(f"the rewrites cannot be read: {problem}", where=str(path), fix="check the path") from None
    rows: Iterable[tuple[int, object]]
    if text.lstrip().startswith("{"):
        rows = ((number, _read_json(line)) for number, line in enumerate(text.splitlines(), start=1) if line.strip())
    else:
        delimiter = max(_DELIMITERS, key=text.partition("\n")[0].count)
        table = csv.DictReader(text.splitlines(keepends=True), delimiter=delimiter)
        rows = ((table.line_num, row) for row in table)
    for number, row in rows:
        where = f"{path}, line {number}"
        columns = row if isinstance(row, dict) else {}
        if lacking := next((name for name in COLUMNS if not isinstance(columns.get(name), str | int)), None):
            fix = f"a row has {', '.join(COLUMNS)}, as a CSV file with a header or as JSON lines"
            raise DstressError(f"there is no {lacking!r}", where=where, fix=fix)
        yield where, columns


def _read_json(line: str) -> object:
    try:
        return json.loads(line)
    except ValueError:
        return None
