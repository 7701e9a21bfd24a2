"""Stress a corpus: the second step of the flow, load -> stress -> track -> score -> report.

Dialogues stream through in small groups, in this process or shared out by an engine. Groups come back in the order they
left, so the result is the same whoever did the work, and never more than a few are in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from dstress._version import __version__
from dstress.corpora import importers, load
from dstress.corpora.base import Corpus, made_by
from dstress.corpora.unfold import fingerprint, mark, unfold
from dstress.dialogue import Dialogue
from dstress.engines.base import Engine, Job
from dstress.errors import SpecError
from dstress.registry import origin_of
from dstress.resources import Resources
from dstress.schema_names import seen_by_variant
from dstress.storage.atomic import replacing
from dstress.storage.home import home
from dstress.stressors import create, stressors
from dstress.stressors.base import SchemaStressor, Stressor
from dstress.stressors.composition import Composition
from dstress.stressors.quality import Quality, Summary
from dstress.text.schema_distance import SchemaChange, measure_change

SEED = 1
OWN_LAYOUT = "dstress"
_GROUP = 16
"""Dialogues that travel together: enough to be worth a batch or a message, few enough to share out evenly."""

_GROUPS = msgspec.json.Decoder(list[Dialogue])


class StressedCorpus(Corpus):
    """A corpus split under a stressor: dialogues are stressed as they are iterated."""

    def __init__(self, original: Corpus, stressor: Composition, seed: int, engine: Engine | None = None) -> None:
        """`stressor` is prepared; with another seed it needs no preparing again."""
        name = f"{original.name}+{stressor.spec}"
        schema = stressor.schema_of(original.schema, seed)
        super().__init__(name, original.split, schema, lambda: _stressed(original, stressor, seed, engine))
        self.original, self.stressor, self.seed = original, stressor, seed
        self.seen = seen_by_variant(original.seen, original.schema, self.schema)
        self.size, self.train, self.stressed = original.size, original.train, True
        self.language, self.open_database = original.language, lambda: original.database
        self.part = original.part
        self.made = made_by(_origin(stressor, seed))

    def schema_change(self) -> SchemaChange | None:
        """What became of the schema; None where it stayed as it was."""
        if self.schema == self.original.schema:
            return None
        renamed = self.original.schema
        for part in self.stressor.parts:
            if isinstance(part, SchemaStressor):
                renamed = part.schema_of(renamed, self.seed)
        # Parts that only add services come last, and give no other names.
        added = [service.name for service in self.schema.services if service.name not in renamed.by_name]
        return msgspec.structs.replace(measure_change(self.original.schema, renamed), services_added=added)


def stress(
    corpus: Corpus | str, stressor: Stressor | str, *, seed: int = SEED, engine: Engine | None = None
) -> StressedCorpus:
    """A corpus, or its name, under `typos(rate=0.05)+disfluency` or a stressor of your own.

    All that the stressor needs is checked and fitted now; dialogues are stressed when they are asked for, here or by
    an engine, such as `Local(workers=4)`: the words are the same.
    """
    original = load(corpus) if isinstance(corpus, str) else corpus
    if isinstance(stressor, str):
        composed = create(stressor)
    else:
        composed = stressor if isinstance(stressor, Composition) else Composition([stressor])
    composed.require_language(original)
    composed.prepare(_resources(original), seed)
    return StressedCorpus(original, composed, seed, engine)


def calibrate_spec(
    corpus: Corpus, stressor: str, target: Mapping[str, float], *, seed: int = SEED, progress: Any = None
) -> str:
    """The spec with what must be set to reach a target, such as a word error rate of 0.30, found on this corpus."""
    composed = create(stressor)
    composed.require_language(corpus)
    resources = _resources(corpus)
    specs = []
    has_calibrated = False
    for part in composed.parts:
        find = getattr(part, "calibrate", None)
        if find is not None:
            part.prepare(resources)
            spec = stressors.shortest(part.spec)
            arguments = spec.arguments | dict(find(resources.corpus, target, seed, progress))
            part.spec = str(stressors.shortest(msgspec.structs.replace(spec, arguments=arguments)))
            has_calibrated = True
        specs.append(part.spec)
    if not has_calibrated:
        raise SpecError(
            f"nothing in {stressor} can be calibrated", fix="speech can: --with speech --calibrate wer=0.30"
        )
    return "+".join(specs)


def write_stressed(
    stressed: StressedCorpus,
    folder: Path,
    quality: Quality,
    watch: Callable[[Dialogue], None],
    layout: str = OWN_LAYOUT,
) -> Summary:
    """Write the stressed split as a corpus of its own (dialogues, schema, and last `stress.json`, which describes it).

    Any verb takes the folder in place of a corpus name; `watch` sees each dialogue as it passes. Layouts other than
    ours cannot say which words a turn follows on, so there such turns end dialogues of their own (`unfold`), and every
    id ends with the fingerprint of its text. `stress.json` has the fingerprints by dialogue, and of the whole.
    """

    fingerprints: dict[str, str] = {}

    def read() -> Iterator[Dialogue]:
        for dialogue in stressed:
            quality.add(dialogue)
            watch(dialogue)
            fingerprints[dialogue.id] = fingerprint(dialogue, stressed.schema)
            if layout == OWN_LAYOUT:
                yield dialogue
            else:
                whole = any(part.scope != "turn" for part in stressed.stressor.parts)
                yield from (mark(each, stressed.schema) for each in unfold(dialogue, whole))

    written = Corpus(stressed.original.name, stressed.split, stressed.schema, read)
    written.open_database = stressed.open_database
    write_corpus(written, folder, layout)
    summary = quality.summary()
    with replacing(folder / "stress.json") as out:
        description = describe(stressed, summary) | {"fingerprint": stressed.data, "fingerprints": fingerprints}
        out.write(msgspec.json.format(msgspec.json.encode(description), indent=2) + b"\n")
    return summary


def write_corpus(corpus: Corpus, folder: Path, layout: str = OWN_LAYOUT) -> None:
    """Write a split in one of the field's layouts, and the tables behind its services."""
    named = Corpus(corpus.name, corpus.split or "test", corpus.schema, corpus.__iter__)
    importers.create(layout).write(named, folder)
    if corpus.database:
        corpus.database.write(folder)


def describe(stressed: StressedCorpus, summary: Summary) -> dict[str, Any]:
    """What a stressed corpus is, enough to make it again: the key `names` restores the original of a schema variant.

    `schema` says what became of the schema, where anything did.
    """
    parts = stressed.stressor.parts
    names = {part.spec: part.names(stressed.seed) for part in parts if isinstance(part, SchemaStressor)}
    description = {
        **_origin(stressed.stressor, stressed.seed),
        "corpus": f"{stressed.original.name}:{stressed.original.split}",
        "language": stressed.language,
        "effect": stressed.stressor.effect,
        "scope": stressed.stressor.scope,
        "guarded": stressed.stressor.guarded,
        "quality": summary,
    }
    if change := stressed.schema_change():
        description["schema"] = change
    return description | ({"names": names} if names else {})


def _origin(stressor: Composition, seed: int) -> dict[str, Any]:
    """Who made a stressed corpus: stressor, seed and versions."""
    plugins = filter(None, dict.fromkeys(origin_of(type(part)) for part in stressor.parts))
    made = {"stressor": stressor.spec, "seed": seed, "dstress": __version__}
    return made | ({"plugins": text} if (text := "+".join(plugins)) else {})


def _resources(corpus: Corpus) -> Resources:
    return Resources(corpus.schema, corpus.whole or corpus, load, home(), train=corpus.train)


class Stressing(Job):
    """A prepared stressor at work on groups of dialogues."""

    def __init__(self, stressor: Composition, seed: int) -> None:
        self.stressor, self.seed = stressor, seed

    def run(self, piece: bytes) -> bytes:
        """Stress one group."""
        return msgspec.json.encode(self.stressor.stress(_GROUPS.decode(piece), self.seed))


def _stressed(
    corpus: Iterable[Dialogue], stressor: Composition, seed: int, engine: Engine | None
) -> Iterator[Dialogue]:
    dialogues = iter(corpus)
    groups = iter(lambda: list(islice(dialogues, _GROUP)), [])
    if engine is None:  # in this process, where nothing needs to be packed up
        for group in groups:
            yield from stressor.stress(group, seed)
        return
    for done in engine.in_order(Stressing(stressor, seed), map(msgspec.json.encode, groups)):
        yield from _GROUPS.decode(done)
