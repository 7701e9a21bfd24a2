"""Answers that were given before, from prediction files of any format."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from dstress.corpora.unfold import unfolded_id
from dstress.errors import PredictionError
from dstress.predictions.base import Prediction
from dstress.resources import Resources
from dstress.storage.file_names import file_name
from dstress.trackers.base import Answer, Context, Failed, Tracker


class Saved(Tracker):
    """Answers from prediction files: `saved(DIR)` has one for each variant, `saved(FILE)` is for a corpus as it is."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._answers: dict[tuple[str, int], Prediction] = {}

    def check(self, variants: Sequence[str]) -> None:
        """Whether there is a file for each: words that were never read have no answer."""
        if not self.path.exists():
            raise PredictionError("there is no such file", where=str(self.path), fix="check the path in saved(PATH)")
        if not (by_variant := self._by_variant(variants)) and len(variants) > 1:
            raise PredictionError(
                f"a single prediction file says nothing about stressed words ({', '.join(variants[1:])})",
                where=str(self.path),
                fix="write the stressed corpora with `dstress stress --layout`, let the tracker answer each, and give "
                f"saved(DIR) with a file for each variant: {', '.join(map(file_name, variants))}",
            )
        if missing := [variant for variant in variants if by_variant and variant not in by_variant]:
            raise PredictionError(
                f"there are no answers to {', '.join(missing)}",
                where=str(self.path),
                fix=f"add {', '.join(f'{file_name(one)}.json' for one in missing)}, or choose variants with --only",
            )

    def prepare(self, resources: Resources) -> None:
        """Read the file of the variant at hand."""
        super().prepare(resources)
        variants = [resources.variant] if resources.variant else []
        path = self._by_variant(variants).get(resources.variant, self.path)
        read = resources.predictions(path, schema=resources.schema) if resources.predictions else ()
        self._answers = {(answer.dialogue.casefold(), answer.turn): answer for answer in read}

    def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
        """The file's answer to each turn."""
        return [self._answer(context) for context in contexts]

    def _answer(self, context: Context) -> Answer:
        names = [context.dialogue]
        if context.gold.remembered is not context.gold:  # then `stress --layout` gave it a dialogue of its own
            names.insert(0, unfolded_id(context.dialogue, context.turn))
        answers = (self._answers.get((name.casefold(), context.turn)) for name in names)
        return next((found for found in answers if found), Failed("no answer to this turn in the file"))

    def fingerprint(self) -> str:
        """The content of the files."""
        if not self.path.exists():
            return super().fingerprint()
        files = sorted(file for file in self.path.rglob("*") if file.is_file()) or [self.path]
        digest = hashlib.sha256()
        for file in files:
            digest.update(file.relative_to(self.path).as_posix().encode() + b"\0" + file.read_bytes())
        return digest.hexdigest()[:16]

    def _by_variant(self, variants: Sequence[str]) -> dict[str, Path]:
        """The file or folder of each variant, by its name; empty for a path that is one prediction file."""
        found: dict[str, Path] = {}
        for entry in sorted(self.path.iterdir()) if self.path.is_dir() else ():
            for variant in variants:
                name = file_name(variant)
                if entry.name == name or entry.name.startswith(f"{name}."):
                    if variant in found:
                        problem = f"two files for {variant}: {found[variant].name} and {entry.name}"
                        raise PredictionError(problem, where=str(self.path), fix="leave one of them there")
                    found[variant] = entry
        return found
