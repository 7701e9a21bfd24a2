"""Stressors one after the other: `entities+typos(rate=0.05)`.

The written order does not matter; parts run in this one:

1. whole dialogues, then utterances that stay in the history (`scope=dialogue`), then single turns, so that a turn that
   is changed by itself follows on a history in which the others did their work;
2. new names for slots, so that the others know the slots, and last new services, which need no new names.

Among the stressors of turns, those go first that decide what is wanted, then those that say it in other words, as they
must read whole words and sentences, then those that break them up, such as hesitations and typing errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Schema
from dstress.errors import CorpusError, SpecError, naming
from dstress.resources import Reiterable, Resources
from dstress.stressors.base import DialogueStressor, Effect, SchemaStressor, Scope, Stressor

_ORDER: tuple[Scope, ...] = ("dialogue", "turn", "schema")
_WIDEST_FIRST: tuple[Scope, ...] = ("schema", "dialogue", "turn")


def _rank(part: Stressor) -> tuple[int, bool, bool, bool]:
    """Its place among the parts; those that are only widened to a scope, or only add to a schema, follow the others."""
    widened = not isinstance(part, DialogueStressor | SchemaStressor)
    return _ORDER.index(part.scope), widened, part.effect != "directional", not part.rephrases


class Composition(Stressor):
    """One or more stressors as one."""

    def __init__(self, parts: Sequence[Stressor]) -> None:
        self.parts = sorted(parts, key=_rank)
        specs = [part.spec or type(part).__name__ for part in self.parts]
        if twice := next((spec for spec in specs if specs.count(spec) > 1), ""):
            raise SpecError(f"{twice} is there twice", fix="once is enough; raise its rate for more")
        self.spec = "+".join(specs)

    @property
    def scope(self) -> Scope:  # type: ignore[override]
        """The widest of its parts'."""
        return min((part.scope for part in self.parts), key=_WIDEST_FIRST.index)

    @property
    def effect(self) -> Effect:  # type: ignore[override]
        """Directional if any part is."""
        return "directional" if any(part.effect == "directional" for part in self.parts) else "invariant"

    @property
    def guarded(self) -> bool:  # type: ignore[override]
        """Whether every part is."""
        return all(part.guarded for part in self.parts)

    def require_language(self, corpus: Corpus) -> None:
        """Refuse a corpus whose words a part does not know: it would mangle them, and the label guard would not see."""
        for part in self.parts:
            if part.languages and corpus.language not in part.languages:
                own = " and ".join(part.languages)
                raise CorpusError(
                    f"{part.spec or type(part).__name__} is for {own}, and the utterances are in {corpus.language}",
                    where=f"{corpus.name}:{corpus.split}" if corpus.split else corpus.name,
                    fix="leave it out; docs/stressors tells which are for any language",
                )

    def prepare(self, resources: Resources, seed: int = 1) -> None:
        """Prepare each part with the corpus as the parts before it leave it."""
        for number, part in enumerate(self.parts):
            with naming(part.spec):
                part.prepare(resources)
            # Turns that change by themselves leave the history as it is: later parts fit on the same.
            if part.scope == "dialogue" and number + 1 < len(self.parts):
                stressed = Reiterable(partial(_stress_each, part, resources.corpus, seed))
                resources = resources._replace(corpus=stressed)

    def stress(self, dialogues: Sequence[Dialogue], seed: int) -> list[Dialogue]:
        """Part after part."""
        stressed = list(dialogues)
        for part in self.parts:
            stressed = part.stress(stressed, seed)
        return stressed

    def schema_of(self, schema: Schema, seed: int) -> Schema:
        """The schema after the last part."""
        for part in self.parts:
            schema = part.schema_of(schema, seed)
        return schema


def _stress_each(part: Stressor, corpus: Iterable[Dialogue], seed: int) -> Iterator[Dialogue]:
    for dialogue in corpus:
        yield from part.stress([dialogue], seed)
