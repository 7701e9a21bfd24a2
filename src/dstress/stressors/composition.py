"""Stressors one after the other: `entities+typos(rate=0.05)`.

Whole dialogues go first, then utterances that stay in the history (`scope=dialogue`), then single turns, whatever the
written order: a turn that is changed by itself then follows on a history in which the others did their work. New names
for slots come after them, so that the others know the slots, and new services last, which need no new names. Of the
stressors of turns, those go first that decide what is wanted, then those that say it in other words, which they can
only read as long as nobody has broken it up, then all others, such as hesitations and typing errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Schema
from dstress.errors import CorpusError, SpecError, naming
from dstress.resources import Resources
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
        for spec in specs:
            if specs.count(spec) > 1:
                raise SpecError(f"{spec} is there twice", fix="once is enough; raise its rate for more")
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
                known = " and ".join(part.languages)
                raise CorpusError(
                    f"{part.spec or type(part).__name__} is for {known}, and the utterances are in {corpus.language}",
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
                resources = resources._replace(corpus=_StressedCorpus(resources.corpus, part, seed))

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


class _StressedCorpus:
    """A corpus as one stressor leaves it, read as it is iterated."""

    def __init__(self, corpus: Iterable[Dialogue], part: Stressor, seed: int) -> None:
        self.corpus, self.part, self.seed = corpus, part, seed

    def __iter__(self) -> Iterator[Dialogue]:
        for dialogue in self.corpus:
            yield from self.part.stress([dialogue], self.seed)
