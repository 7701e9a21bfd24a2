"""The contract of a stressor: a named, seeded transformation that knows what it does to the label.

    Stressor              declares effect, scope and needs; turns dialogues into stressed ones
    ├── TurnStressor      one user utterance at a time; what came before stays as it was (CoCo, CheckDST), or, with
    │   │                 `scope=dialogue`, is stressed too
    │   └── Rewriter      the simple case: `rewrite(utterance, protected, random)` gives the new words
    ├── DialogueStressor  the whole dialogue, consistently
    └── SchemaStressor    other names and descriptions for services, slots and intents

A stressor's randomness comes from (dialogue id, turn, stressor with arguments, seed) alone, so order, sharding and the
number of processes never change what comes out. Every output of a guarded stressor passes the label guard: each value
that the turn's label takes from these words must still be said, or the turn stays as it was, which is counted.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import ClassVar, Literal, NamedTuple

import msgspec

from dstress.dialogue import Dialogue, Frame, Schema, State, Turn
from dstress.errors import SpecError
from dstress.resources import Resources
from dstress.schema_names import Names, map_names, rename_dialogue
from dstress.spec import parse
from dstress.stressors.ontology import Ontology
from dstress.stressors.record import record_counts, record_dialogue, record_fallback, record_turn
from dstress.text import mentions as values
from dstress.text.mentions import Mention
from dstress.text.utterance import Ranges, Utterance, random_for

Effect = Literal["invariant", "directional"]
"""What happens to the gold state: nothing, or it is rewritten with the text."""

Scope = Literal["turn", "dialogue", "schema"]

_TELLING_LENGTH = 6
"""So many characters say a value by themselves. Shorter words, such as numbers, may owe their meaning to those around
them."""

_replace = msgspec.structs.replace

LONGEST = 5_000
"""No person says more characters in a turn, and to look for every value in a whole book takes minutes."""


class Stressor(ABC):
    """What every stressor declares. Constructor arguments become arguments of its spec."""

    effect: Effect = "invariant"
    scope: Scope = "turn"
    guarded: bool = True
    """False: the words may lose a value that the label keeps, as when speech is misheard. A harder test."""

    heavy: ClassVar[bool] = False
    """Whether it is worth several processes by itself."""

    rephrases: ClassVar[bool] = False
    """Whether it says the same in other words: an encoder then compares the meanings, where that is asked for."""

    needs: ClassVar[tuple[str, ...]] = ()
    """Programs, extras and corpora that must be there; `prepare` checks them."""

    languages: ClassVar[tuple[str, ...]] = ()
    """The languages (`en`) whose words it knows; empty: any. A corpus in another one is refused."""

    spec: str = ""
    """The text that makes it again; a part of the key of its randomness."""

    schema: Schema = Schema()

    def prepare(self, resources: Resources) -> None:
        """Check every need and fit what is to be fitted, before any work. Then it must survive pickling."""
        self.schema = resources.schema

    @abstractmethod
    def stress(self, dialogues: Sequence[Dialogue], seed: int) -> list[Dialogue]:
        """The dialogues, stressed, in the same order and with the same turns."""

    def schema_of(self, schema: Schema, seed: int) -> Schema:
        """The schema that goes with the stressed dialogues."""
        return schema

    def reads(self, train: str) -> tuple[str, ...]:
        """The other corpora that it learns from; `train` is the training split of the one at hand, if it has one.

        Their content is a part of what a run's words depend on.
        """
        return ()

    def files(self) -> tuple[Path, ...]:
        """The files of a person's own that its words depend on: where one changes, a run is another one."""
        return ()

    def counts(self, before: str, after: str) -> dict[str, int]:
        """Its own counts of one utterance, for the summary; they are added up over all."""
        return {}

    def figures(self, counts: Mapping[str, int]) -> dict[str, float]:
        """What its counts come to, such as a word error rate."""
        return {}

    def key(self) -> str:
        """Its part of the key of its randomness."""
        return self.spec or type(self).__name__


class Rewrite(NamedTuple):
    """New words; with a directional stressor the turn's whole new state. `tags` group results, as seen and unseen.

    `frames` are given where the words are not the old ones edited, so that the old annotations do not fit them.
    """

    text: str
    state: State | None = None
    ood: bool = False
    tags: tuple[str, ...] = ()
    frames: tuple[Frame, ...] | None = None
    counts: Mapping[str, int] = {}


class Unchanged(NamedTuple):
    """A fall-back: the turn stays as it was, counted under this reason."""

    reason: str
    counts: Mapping[str, int] = {}


Outcome = str | Rewrite | Unchanged | None
"""None: there is nothing to do in this turn."""

_LONG = Unchanged("the utterance is too long")


class TurnStressor(Stressor):
    """Changes one user utterance at a time: `rewrite_utterance`, or `rewrite_utterances` for work done in batches."""

    names_values: ClassVar[bool] = False
    """Whether its own words may say values, as those that imply another one do; else the label guard refuses them."""

    ontology: Ontology | None = None

    def prepare(self, resources: Resources) -> None:
        """Learn the values of the corpus, which a stressor that keeps the label must not add."""
        super().prepare(resources)
        if self.guarded and self.effect == "invariant" and not self.names_values:
            self.ontology = Ontology(resources.schema, resources.corpus)

    def set_shared(self, scope: Literal["turn", "dialogue"] = "turn") -> None:
        """With `scope=dialogue`, leave the stressed utterances in the history of later turns."""
        if scope == "dialogue" and self.effect != "invariant":
            raise SpecError(
                "scope=dialogue would leave other labels in the history, and what is said later would not fit them",
                fix="scope=dialogue is for stressors that keep the label; entities and unseen_entities change whole "
                "dialogues by themselves",
            )
        self.scope = scope

    def key(self) -> str:
        """Its part of the key of its randomness, the same for every scope: a scope changes no word."""
        if self.scope == "turn":
            return super().key()
        spec = parse(super().key())
        return str(_replace(spec, arguments={name: spec.arguments[name] for name in spec.arguments if name != "scope"}))

    def rewrite_utterance(self, utterance: Utterance) -> Outcome:
        """The utterance in other words."""
        raise NotImplementedError(f"{type(self).__name__} must define rewrite_utterance")

    def rewrite_utterances(self, utterances: Sequence[Utterance]) -> Sequence[Outcome]:
        """Many utterances at once, in order."""
        return [self.rewrite_utterance(utterance) for utterance in utterances]

    def objection(self, utterance: Utterance, rewrite: Rewrite) -> str:
        """The label guard: why the new words would not carry the label; empty if they do."""
        arguments = values.find_arguments(utterance.turn)
        if not all(values.find_value(rewrite.text, mention.slot, (mention.value,)) for mention in arguments):
            return "an argument was no longer said"
        if rewrite.state is None:
            if not keeps_values(rewrite.text, utterance):
                return "a value was no longer said"
            is_added = self.ontology is not None and self.ontology.adds_value(utterance.text, rewrite.text)
            return "a value was added" if is_added else ""
        turn = _replace(utterance.turn, user=rewrite.text, state=rewrite.state, frames=())
        slots = {mention.slot for mention in utterance.mentions if mention.slot in rewrite.state}
        lost = slots - {mention.slot for mention in values.find_mentions(turn, utterance.before)}
        return "a new value is not said" if lost else ""

    def stress(self, dialogues: Sequence[Dialogue], seed: int) -> list[Dialogue]:
        """Rewrite every utterance; guard, record and count."""
        key = (seed, self.key())
        utterances = [
            Utterance(dialogue, index, self.schema, key)
            for dialogue in dialogues
            for index in range(len(dialogue.turns))
        ]
        outcomes = iter(self.rewrite_utterances([each for each in utterances if len(each.text) <= LONGEST]))
        turns = iter([self._turn(each, next(outcomes) if len(each.text) <= LONGEST else _LONG) for each in utterances])
        return [_replace(dialogue, turns=tuple(islice(turns, len(dialogue.turns)))) for dialogue in dialogues]

    def _turn(self, utterance: Utterance, outcome: Outcome) -> Turn:
        """The turn that an outcome makes of an utterance's own, if the guard lets it."""
        turn = utterance.turn
        if outcome is None:
            return turn
        if isinstance(outcome, Unchanged):
            return record_counts(record_fallback(turn, outcome.reason), outcome.counts)
        rewrite = Rewrite(outcome) if isinstance(outcome, str) else outcome
        text, state, frames = rewrite.text, turn.state if rewrite.state is None else rewrite.state, rewrite.frames
        ood = turn.ood or rewrite.ood  # what was out of domain stays so in other words
        if (text, state, ood) == (turn.user, turn.state, turn.ood):
            return turn
        problem = "" if text.strip() else "no words were left"
        if self.guarded and not problem:
            problem = self.objection(utterance, rewrite)
        if problem:
            return record_counts(record_fallback(turn, problem), rewrite.counts)
        after = record_turn(turn, text, state, ood, rewrite.tags, alone=self.scope == "turn")
        if rewrite.ood:
            # Words that are about nothing here: services and intents go on as they were, and nothing is said.
            earlier = utterance.history[-1].frames if utterance.index else ()
            frames = tuple(Frame(frame.service, frame.intent) for frame in earlier)
        if frames is not None:
            after = _replace(after, frames=frames, coreferences=())
        return record_counts(after, rewrite.counts)


def keeps_values(text: str, utterance: Utterance) -> bool:
    """Whether a text still says every value of the label that the utterance says."""
    state = utterance.turn.state
    return all(still_says(text, utterance, mention) for mention in utterance.mentions) and (
        values.find_each(utterance.text, state) <= values.find_each(text, state)
    )


def still_says(text: str, utterance: Utterance, mention: Mention) -> bool:
    """Whether a text says a mention's value. Mostly it has the same words between blanks, which is cheap to see."""
    words = utterance.text[mention.start : mention.end]
    if len(words) >= _TELLING_LENGTH and f" {words} " in f" {text} ":
        return True
    return bool(values.find_value(text, mention.slot, utterance.turn.state[mention.slot]))


class Rewriter(TurnStressor):
    """The simple case, all that most stressors need: one method that gives the new words."""

    @abstractmethod
    def rewrite(self, utterance: str, protected: Ranges, random: Random) -> str:
        """The utterance in other words; leave the protected stretches, which say values, as they are."""

    def rewrite_utterance(self, utterance: Utterance) -> Outcome:
        """Rewrite, with the values protected."""
        return self.rewrite(utterance.text, utterance.protected, utterance.random)


class DialogueStressor(Stressor):
    """Changes a whole dialogue consistently: system turns, states and goal along with the user's words."""

    scope: Scope = "dialogue"

    @abstractmethod
    def rewrite(self, dialogue: Dialogue, random: Random) -> Dialogue:
        """The dialogue with the same number of turns; originals and edits are recorded by the caller."""

    def objection(self, before: Dialogue, after: Dialogue) -> str:
        """The label guard: why the new words would not carry the labels; empty if they do."""
        old_state, new_state = State(), State()
        for old, new in zip(before.turns, after.turns, strict=True):
            if old.user != new.user and old.state != old_state:
                text = new.user.lower()
                # Most values stand in the words as they are; only others, and those so short that they may be a part of
                # other words, need a search.
                unsure = {
                    slot
                    for slot, *_ in values.find_mentions(old, old_state)
                    if not any(len(form) >= _TELLING_LENGTH and form.lower() in text for form in new.state[slot])
                }
                if unsure and not unsure <= {mention.slot for mention in values.find_mentions(new, new_state)}:
                    return "a value was no longer said"
            old_state, new_state = old.state, new.state
        return ""

    def stress(self, dialogues: Sequence[Dialogue], seed: int) -> list[Dialogue]:
        """Rewrite each dialogue and record what changed."""
        key, stressed = self.key(), []
        for dialogue in dialogues:
            if any(len(text) > LONGEST for turn in dialogue.turns for text in (turn.user, turn.system)):
                problem, after = _LONG.reason, dialogue
            else:
                after = self.rewrite(dialogue, random_for(seed, key, dialogue.id))
                problem = self.objection(dialogue, after) if self.guarded else ""
            if problem:
                kept = tuple(record_fallback(turn, problem) for turn in dialogue.turns)
                stressed.append(_replace(dialogue, turns=kept))
            else:
                stressed.append(record_dialogue(dialogue, after))
        return stressed


class SchemaStressor(Stressor):
    """Other names and descriptions; dialogues follow by position, as SGD-X's generator does. Words stay."""

    scope: Scope = "schema"
    _last_names: tuple[int, Schema, Names] | None = None
    """The seed, the schema and the names of the last variant, which is made once for many dialogues."""

    @abstractmethod
    def variant(self, schema: Schema, random: Callable[[str], Random]) -> Schema:
        """The same services, slots and intents in the same order, under other names and descriptions.

        `random(key)` gives the random numbers of one key, such as a slot id.
        """

    def schema_of(self, schema: Schema, seed: int) -> Schema:
        """The variant for a seed."""
        return self.variant(schema, lambda key: random_for(seed, self.key(), key))

    def names(self, seed: int) -> Names:
        """Original names -> the variant's: the edits from which the original can be restored."""
        last = self._last_names
        if last is None or last[0] != seed or last[1] is not self.schema:
            last = seed, self.schema, map_names([(self.schema, self.schema_of(self.schema, seed))])
            self._last_names = last
        return last[2]

    def stress(self, dialogues: Sequence[Dialogue], seed: int) -> list[Dialogue]:
        """Rename each dialogue."""
        names = self.names(seed)
        return [rename_dialogue(dialogue, names) for dialogue in dialogues]
