"""Answers that were given before, from prediction files of any format.

Answers to a stressed corpus are to one text: another seed, version or corpus gives another. So they are bound to it by
fingerprints, in the ids of the answers or in the folder that the tracker read.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from dstress.corpora.unfold import fingerprint, unfold, unfolded_id
from dstress.dialogue import Dialogue, Schema
from dstress.errors import UNREADABLE_JSON, PredictionError, place
from dstress.predictions.base import Prediction
from dstress.resources import Resources
from dstress.storage.file_names import file_name
from dstress.trackers.base import Answer, Context, Failed, Tracker

NO_ANSWER = "no answer to this turn in the file"
"""Why a turn failed: nobody knows what the tracker would have said."""

_MARKED = re.compile(r"\.[0-9a-f]{8}$")
"""An id with the fingerprint of its text (`dstress.corpora.unfold.mark`)."""

_UNSTRESSED = ("", "original")
_Answers = dict[tuple[str, int], Prediction]


class _Stressed(msgspec.Struct):
    """What `stress.json` says of the text."""

    fingerprints: dict[str, str] = {}


class Saved(Tracker):
    """Answers from prediction files: `saved(DIR)` has one for each variant, `saved(FILE)` is for a corpus as it is.

    Answers to stressed text must be to the text of the run. Their ids end with its fingerprint, as `dstress stress
    --layout` writes them; or else `stressed` is the folder that the tracker read, by default the one beside DIR.
    `allow_partial` takes files without an answer to every turn: such turns count as wrong, and no test is made of them.
    """

    def __init__(self, path: Path, stressed: Path | None = None, allow_partial: bool = False) -> None:
        self.path, self.allow_partial = path, allow_partial
        self.stressed = stressed or path.parent / "stressed"
        self._answers: _Answers = {}

    def check(self, variants: Sequence[str]) -> None:
        """Whether there is a file for each: words that were never read have no answer."""
        if not (self.path.is_file() or self.path.is_dir()):
            raise PredictionError("there is no such file", where=str(self.path), fix="check the path in saved(PATH)")
        if not (by_variant := self._by_variant(variants)) and len(variants) > 1:
            raise PredictionError(
                f"a single prediction file says nothing about stressed words ({', '.join(variants[1:])})",
                where=str(self.path),
                fix="write the stressed corpora with `dstress stress --layout`, let the tracker answer each, and give "
                f"saved(DIR) with a file for each variant: {', '.join(map(file_name, variants))}",
            )
        if missing := [variant for variant in variants if by_variant and variant not in by_variant]:
            files = ", ".join(f"{file_name(variant)}.json" for variant in missing)
            raise PredictionError(
                f"there are no answers to {', '.join(missing)}",
                where=str(self.path),
                fix=f"add {files}, or choose variants with --only",
            )

    def check_corpus(self, resources: Resources) -> None:
        """Whether the answers are to this text, and to all of it."""
        self.prepare(resources)
        is_original = resources.variant in _UNSTRESSED
        needed = [
            (dialogue.id, number, self._find(dialogue.id, number, turn.remembered is not turn))
            for dialogue in resources.corpus
            for number, turn in enumerate(dialogue.turns)
            if is_original or turn.changed
        ]
        missing = [place("", name, number) for name, number, answer in needed if answer is None]
        if missing and not self.allow_partial:
            raise PredictionError(
                f"{len(missing):,} of {len(needed):,} turns have no answer in the file, the first is {missing[0]}",
                where=str(self._file(resources.variant)),
                fix="add the answers; or allow gaps with saved(PATH, allow_partial=true): they count as wrong, and "
                "the variant is not tested",
            )

    def prepare(self, resources: Resources) -> None:
        """Read the file of the variant at hand."""
        super().prepare(resources)
        self._answers = {}
        if resources.predictions:
            for answer in resources.predictions(self._file(resources.variant), schema=resources.schema):
                self._answers[answer.dialogue.casefold(), answer.turn] = answer
        if resources.variant not in _UNSTRESSED:
            self._answers = self._bound(self._answers, resources)

    def track(self, contexts: Sequence[Context]) -> Sequence[Answer]:
        """The file's answer to each turn."""
        return [self._answer(context) for context in contexts]

    def _answer(self, context: Context) -> Answer:
        answer = self._find(context.dialogue, context.turn, context.gold.remembered is not context.gold)
        return msgspec.structs.replace(answer, dialogue=context.dialogue) if answer else Failed(NO_ANSWER)

    def _find(self, dialogue: str, turn: int, unfolded: bool) -> Prediction | None:
        """The answer to a turn; `stress --layout` gave one that is `unfolded` a dialogue of its own."""
        names = [unfolded_id(dialogue, turn), dialogue] if unfolded else [dialogue]
        return next(filter(None, (self._answers.get((name.casefold(), turn)) for name in names)), None)

    def _bound(self, answers: _Answers, resources: Resources) -> _Answers:
        """The answers by the ids of the corpus, once it is sure that they are to the text of this run."""
        schema, path = resources.schema, self._file(resources.variant)
        if answers and all(_MARKED.search(name) for name, _ in answers):
            here = {
                version.id.casefold(): fingerprint(version, schema)
                for dialogue in resources.corpus
                for version in unfold(dialogue, whole=True)
            }
            unmarked: _Answers = {}
            for (marked, turn), answer in answers.items():
                name, _, digest = marked.rpartition(".")
                # Of a dialogue that is not in this run, nothing is known, and nothing taken.
                if name.partition(".turn")[0] in here and here.get(name) != digest:
                    raise _other_text(path, answer.dialogue)
                unmarked[name, turn] = answer
            return unmarked
        texts = self._read_texts(resources.variant)
        if texts is None:
            raise PredictionError(
                "nothing says which text these answers are to",
                where=str(path),
                fix="name the stressed corpora that the tracker read, saved(PATH, stressed=FOLDER), or keep the ids of "
                "`dstress stress --layout`, which end with a fingerprint of the text",
            )
        for dialogue in resources.corpus:
            if texts.get(dialogue.id) != fingerprint(dialogue, schema):
                raise _other_text(path, dialogue.id)
        return answers

    def _read_texts(self, variant: str) -> Mapping[str, str] | None:
        """Fingerprints of what the tracker read: of `stress --out`'s folder, or of a run's; None where neither is."""
        stem = self.stressed / file_name(variant)
        try:
            if (described := stem / "stress.json").is_file():
                return msgspec.json.decode(described.read_bytes(), type=_Stressed).fingerprints or None
            if (lines := self.stressed / f"{stem.name}.jsonl").is_file():
                schema = msgspec.json.decode((self.stressed / f"{stem.name}.schema.json").read_bytes(), type=Schema)
                with lines.open("rb") as stream:
                    dialogues = map(msgspec.json.Decoder(Dialogue).decode, stream)
                    return {dialogue.id: fingerprint(dialogue, schema) for dialogue in dialogues}
        except (OSError, *UNREADABLE_JSON) as error:
            fix = "stress again, as the tracker's input was"
            raise PredictionError(f"the stressed text cannot be read: {error}", where=str(stem), fix=fix) from None
        return None

    def _file(self, variant: str) -> Path:
        """The file of a variant's answers."""
        return self._by_variant([variant] if variant else []).get(variant, self.path)

    def fingerprint(self) -> str:
        """The content of the files."""
        if not (self.path.is_file() or self.path.is_dir()):  # a device may never end
            return super().fingerprint()
        files = sorted(file for file in self.path.rglob("*") if file.is_file()) or [self.path]
        digest = hashlib.sha256()
        for file in files:
            digest.update(file.relative_to(self.path).as_posix().encode() + b"\0" + file.read_bytes())
        return digest.hexdigest()[:16]

    def _by_variant(self, variants: Sequence[str]) -> dict[str, Path]:
        """The file or folder of each variant, by its name; empty for a path that is one prediction file."""
        paths: dict[str, Path] = {}
        for entry in sorted(self.path.iterdir()) if self.path.is_dir() else ():
            for variant in variants:
                name = file_name(variant)
                if entry.name == name or entry.name.startswith(f"{name}."):
                    if variant in paths:
                        problem = f"two files for {variant}: {paths[variant].name} and {entry.name}"
                        raise PredictionError(problem, where=str(self.path), fix="leave one of them there")
                    paths[variant] = entry
        return paths


def _other_text(path: Path, dialogue: str) -> PredictionError:
    return PredictionError(
        "these answers are to other text than the run stresses",
        where=place(str(path), dialogue),
        fix="run with the seed and the corpus that the tracker's text was stressed with, or stress and answer anew",
    )
