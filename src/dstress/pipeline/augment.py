"""Augment a training corpus with stressed versions of its dialogues: CoCo's defence (Li et al. 2021, 5.4 and D).

The new corpus has the dialogues as they were and, `times` times over, what a stressor makes of them with another seed.
Where a stressor gives other names, as SGD-X 4.2 augments schemas, its services stand beside the original ones.
A test stays a test only if training never shows its values: those of the dictionary that tests use (O) are kept out.
One that comes in is an error, and then nothing is left behind.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Literal

import msgspec

from dstress._version import __version__
from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.corpora.json_files import decode
from dstress.dialogue import Dialogue, Schema, State, Turn, update
from dstress.engines.base import Engine
from dstress.errors import DstressError, place, unknown
from dstress.learning.recipe import AugmentOptions
from dstress.pipeline.manifest import hash_stressor
from dstress.pipeline.run import OnProgress
from dstress.pipeline.stress import SEED, StressedCorpus, stress
from dstress.schema_names import Names, rename_dialogue
from dstress.storage.atomic import replacing
from dstress.storage.file_names import file_name
from dstress.storage.home import home
from dstress.storage.lock import only_one
from dstress.storage.sources import open_source
from dstress.stressors import create
from dstress.stressors.base import Stressor
from dstress.stressors.quality import Quality
from dstress.stressors.values import dictionary
from dstress.stressors.values.dictionary import Dictionary
from dstress.text.letters import words_of
from dstress.text.numbers import number_of
from dstress.text.tables import is_table_file
from dstress.text.times import time_of

Layout = Literal["dialogues", "examples"]
TEST_DICTIONARY, NOTHING = "O", "none"
"""The dictionary of the tests, and the word for none."""

_replace = msgspec.structs.replace


class Augmentation(msgspec.Struct, frozen=True):
    """What an augmented corpus is, enough to make it again: `augment.json`."""

    stressor: str
    corpus: str
    times: int
    seeds: list[int]
    layout: Layout
    keep_out: str
    values_kept_out: int
    dialogues: dict[str, int]
    examples: int
    dstress: str
    quality: dict[str, Any]


_DESCRIPTION, _AUGMENTATION = "augment.json", msgspec.json.Decoder(Augmentation)


class Augmenting:
    """A corpus and its stressed versions. All that the stressor needs is checked and fitted when it is created."""

    def __init__(
        self,
        corpus: Corpus,
        stressor: Stressor | str | Sequence[Stressor | str],
        times: int = 1,
        *,
        seed: int = SEED,
        keep_out: str = TEST_DICTIONARY,
        engine: Engine | None = None,
    ) -> None:
        if times < 1:
            raise DstressError(f"{times} versions are none", fix="give 1 or more")
        self.corpus, self.keep_out = corpus, keep_out
        self.versions: list[StressedCorpus] = []
        for each in [stressor] if isinstance(stressor, Stressor | str) else stressor:
            first = stress(corpus, each, seed=seed + len(self.versions), engine=engine)
            more = [first.seed + number for number in range(1, times)]
            self.versions += [first, *(StressedCorpus(corpus, first.stressor, other, engine) for other in more)]
        self.schema, self.names = _join(corpus.schema, [version.schema for version in self.versions])
        self.guard = Guard.named(keep_out, corpus)

    def write(
        self,
        folder: Path,
        layout: Layout = "dialogues",
        on_progress: OnProgress = lambda what, done, total: None,
    ) -> Augmentation:
        """Write the augmented split as a corpus (dialogues, schema, and last `augment.json`, which describes it)."""
        split = file_name(self.corpus.split or "train")
        quality, counted = Quality(self.versions[0].stressor), Counter[str]()
        ids: set[str] = set()
        with _no_empty_folder(folder), replacing(folder / f"{split}.jsonl") as lines:
            for dialogue in self._dialogues(layout, quality, counted, on_progress):
                if dialogue.id in ids:
                    fix = "give the dialogues of the corpus other ids: new ones end in +1, +2 ... and @TURN; where the "
                    fix += "corpus is augmented already, do not augment it again"
                    raise DstressError("two dialogues have one id", where=place("", dialogue.id), fix=fix)
                ids.add(dialogue.id)
                lines.write(msgspec.json.encode(dialogue) + b"\n")
        with replacing(folder / f"{split}.schema.json") as out:
            out.write(msgspec.json.encode(self.schema))
        description = Augmentation(
            ", ".join(dict.fromkeys(version.stressor.spec for version in self.versions)),
            f"{self.corpus.name}:{self.corpus.split}",
            len(self.versions),
            [version.seed for version in self.versions],
            layout,
            self.keep_out,
            len(self.guard),
            {name: counted[name] for name in ("original", "added", "unchanged")},
            counted["examples"],
            __version__,
            msgspec.to_builtins(quality.summary()),
        )
        with replacing(folder / _DESCRIPTION) as out:
            out.write(msgspec.json.format(msgspec.json.encode(description), indent=2) + b"\n")
        return description

    def _dialogues(
        self, layout: Layout, quality: Quality, counted: Counter[str], on_progress: OnProgress
    ) -> Iterator[Dialogue]:
        seen = count(1)
        for dialogue in self.corpus:
            counted["original"] += 1
            on_progress("original", next(seen), None)
            yield dialogue
        for number, (version, names) in enumerate(zip(self.versions, self.names, strict=True), start=1):
            for dialogue in version:
                quality.add(dialogue)
                self.guard.check(dialogue)
                on_progress(f"version {number}", next(seen), None)
                changed = sum(turn.changed for turn in dialogue.turns)
                counted["examples"] += changed
                is_other = changed or version.schema != self.corpus.schema
                counted["unchanged"] += not is_other
                for new in _laid_out(dialogue, number, layout) if is_other else ():
                    counted["added"] += 1
                    yield rename_dialogue(new, names) if names.services else new


def _join(original: Schema, versions: Iterable[Schema]) -> tuple[Schema, list[Names]]:
    """A schema with the services of all versions, and what each version's are called there.

    A service that is not as the one that has its name is called by it and the number of the version: `hotel+2`.
    """
    services, renamed = dict(original.by_name), list[Names]()
    for number, schema in enumerate(versions, start=1):
        other = [service.name for service in schema.services if services.get(service.name, service) != service]
        names = {name: f"{name}+{number}" for name in other}
        for service in schema.services:
            name = names.get(service.name, service.name)
            services[name] = _replace(service, name=name)
        renamed.append(Names(names, {}, {}))
    return Schema(tuple(services.values())), renamed


def load_augmented(
    name: str,
    options: AugmentOptions,
    engine: Engine | None = None,
    on_progress: OnProgress = lambda what, done, total: None,
) -> Corpus:
    """A corpus with stressed versions of its dialogues, which the data home keeps for whoever asks again.

    A folder in which `dstress augment` has written just that, or an archive of it, is taken as it is.
    """
    corpus, stressors = load(name), [create(spec) for spec in options.stressors]
    specs = [stressor.spec for stressor in stressors]
    if made := _read_description(name):
        seeds = [options.seed + more for more in range(len(specs) * options.times)]
        present, required = (
            f"{spec}, seeds {seeds}, keeping out {kept}"
            for spec, seeds, kept in (
                (made.stressor, made.seeds, made.keep_out),
                (", ".join(dict.fromkeys(specs)), seeds, options.keep_out),
            )
        )
        if present != required:
            problem = f"it is augmented already, with {present}; the recipe wants {required}"
            fix = "make [augment] say the same, or leave it out and train on the corpus as it is"
            raise DstressError(problem, where=name, fix=fix)
        return corpus
    read = {other for stressor in stressors for part in stressor.parts for other in part.reads(corpus.train)}
    parts = [corpus.data, *map(hash_stressor, stressors), *(load(other).data for other in sorted(read))]
    parts.append(options.keep_out)
    parts += [Path(options.keep_out).read_text(encoding="utf-8")] if is_table_file(options.keep_out) else []
    key = hashlib.sha256(msgspec.json.encode([*parts, options.times, options.seed])).hexdigest()[:16]
    folder = home() / "augmented" / key
    with only_one(folder.with_suffix(".lock")):
        if not (folder / _DESCRIPTION).is_file():
            how: dict[str, Any] = {"seed": options.seed, "keep_out": options.keep_out, "engine": engine}
            Augmenting(corpus, stressors, options.times, **how).write(folder, on_progress=on_progress)
    return load(str(folder))


def _read_description(name: str) -> Augmentation | None:
    """How the corpus in a folder or an archive was augmented, if it was."""
    for text in filter(None, (name, name.rpartition(":")[0])):
        if Path(text).exists():
            with open_source(text) as source:
                for file in source.named(_DESCRIPTION):
                    return decode(_AUGMENTATION, file)
    return None


def _laid_out(dialogue: Dialogue, number: int, layout: Layout) -> Iterator[Dialogue]:
    """A changed dialogue of one version, under a new id.

    As `examples`, a turn that was changed by itself ends a dialogue of its own, after the turns that it follows on:
    every label then fits the words before it, whatever tool reads it. A dialogue that changed as a whole stays one.
    """
    name = f"{dialogue.id}+{number}"
    alone = [index for index, turn in enumerate(dialogue.turns) if turn.changed and turn.stress and turn.stress.alone]
    if layout == "dialogues" or not alone:
        yield _replace(dialogue, id=name)
        return
    history = [_replace(turn.remembered, stress=None) for turn in dialogue.turns]
    for index in alone:
        yield _replace(dialogue, id=f"{name}@{index}", turns=(*history[:index], dialogue.turns[index]))


class Guard:
    """Values that must not come into a training corpus: those that tests bring in and that it does not have itself.

    The labels of changed turns must not have them, nor the words say a name of several words among them: the user of
    `disfluency` names a wrong value first. Shorter names, such as `zoo`, are also words of other meanings.
    """

    def __init__(self, kept: Dictionary | None, corpus: Iterable[Dialogue]) -> None:
        self.where = kept.where if kept else ""
        self._kept: set[tuple[str, object]] = set()
        self._names: dict[str, str] = {}
        if kept is None:
            return
        own = {(slot, meaning(form)) for slot, forms in dictionary.values_of(corpus).items() for form in forms}
        for slot in kept.slots:
            for value in kept.pool(slot):
                key = (slot, meaning(value))
                if not kept.is_seen(slot, value) and key not in own:
                    self._kept.add(key)
                    if isinstance(key[1], str) and len(words_of(value)) > 1:
                        self._names.setdefault(" ".join(words_of(value)), slot)
        longest_first = sorted(map(re.escape, self._names), key=len, reverse=True)
        self._names_pattern = re.compile("|".join(longest_first) or r"(?!)")

    @classmethod
    def named(cls, name: str, corpus: Corpus) -> Guard:
        """The guard of a dictionary by its name (I, O, train-O) or file; `none` lets everything in."""
        if name == NOTHING:
            return cls(None, ())
        if is_table_file(name):
            return cls(dictionary.read(name).settled(corpus.schema), corpus)
        if name not in dictionary.SHIPPED:
            fix = "give one of them, a .toml or .json file, or none"
            raise unknown("dictionary", name, (*dictionary.SHIPPED, NOTHING), fix=fix)
        shipped = dictionary.shipped(name)
        try:
            return cls(shipped.adapted(corpus.schema), corpus)
        except DstressError:  # it has nothing for these slots: tests with it cannot be spoilt
            return cls(None, ())

    def __len__(self) -> int:
        return len(self._kept)

    def check(self, dialogue: Dialogue) -> None:
        """Raise an error if a changed turn brings in a value that must stay out."""
        if not self._kept:
            return
        before: State = {}
        for index, turn in enumerate(dialogue.turns):
            for slot, value in self._leaks(turn, before) if turn.changed else ():
                problem = f"the test value {value!r} of {slot} ({self.where}) would be in the training data"
                fix = "augment with values apart from it, such as train-O; --keep-out names another dictionary"
                raise DstressError(problem, where=place("", dialogue.id, index), fix=fix)
            before = turn.remembered.state

    def _leaks(self, turn: Turn, before: State) -> Iterator[tuple[str, str]]:
        for slot, forms in update(before, turn.state).items():
            original = turn.original.state.get(slot, ())
            yield from ((slot, form) for form in forms if (slot, meaning(form)) in self._kept and form not in original)
        for now, then in ((turn.user, turn.original.user), (turn.system, turn.original.system)):
            if now != then:
                earlier = " ".join(words_of(then))
                names = self._names_pattern.findall(" ".join(words_of(now)))
                yield from ((self._names[name], name) for name in names if name not in earlier)


def meaning(value: str) -> object:
    """A value as a test would find it again: a time by the clock, a number by its size, a name by its letters."""
    folded = value.strip().casefold()
    if (minutes := time_of(folded)) is not None and number_of(folded) is None:
        return "time", minutes
    if (number := number_of(folded)) is not None:
        return "number", number
    return "".join(words_of(folded)) or folded


@contextmanager
def _no_empty_folder(folder: Path) -> Iterator[None]:
    """Work that fails leaves no folder behind that it made."""
    was_there = folder.exists()
    try:
        yield
    except BaseException:
        if not was_there and folder.exists() and not any(folder.iterdir()):
            folder.rmdir()
        raise
