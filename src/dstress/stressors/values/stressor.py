"""CoCo's value substitution: what the user says is said with another value, in the words and in the state (4.1).

Only values that the user's utterance says and the system's does not are changed: one that came from the system must
stay for the dialogue to make sense, one that nobody says (yes for parking, "the same day") cannot be changed in the
words. The history stays as it was.
"""

from __future__ import annotations

from dstress.errors import SpecError
from dstress.resources import Resources
from dstress.stressors.base import Effect, Outcome, Rewrite, TurnStressor, Unchanged
from dstress.stressors.values.dictionary import TRAINING, Dictionary, choose
from dstress.stressors.values.substitution import (
    ReplaceableValue,
    accepted_forms,
    are_plausible,
    find_candidates,
    find_replaceable,
    replace_values,
)
from dstress.text.mentions import find_value
from dstress.text.tables import is_table_file
from dstress.text.times import date_of
from dstress.text.utterance import Utterance

_TRIES = 12
"""Draws of all new values together, before a turn counts as one without a plausible combination."""


class Values(TurnStressor):
    """Each value that only the user says becomes another one, in the words and in the state (CoCo's VS).

    `dictionary`: I, O, train-O, a TOML or JSON file, `built` (unseen values of the corpus itself) or a corpus to build
    from. `train` names the training corpus, by which values count as seen.
    """

    languages = ("en",)
    effect: Effect = "directional"
    dictionary: Dictionary

    def __init__(self, dictionary: str = "O", train: str = "", minimum: int = 5) -> None:
        if minimum < 1:
            raise SpecError(f"values: minimum={minimum} is too small", fix="a pool has one value or more")
        self.source, self.train, self.minimum = dictionary, train, minimum

    def reads(self, train: str) -> tuple[str, ...]:
        """The training corpus, and the one that values are taken from."""
        return tuple(name for name in (self.train, self.source) if ":" in name)

    def prepare(self, resources: Resources) -> None:
        """Read or build the dictionary, marked by what the training corpus has."""
        super().prepare(resources)
        self.dictionary = choose(self.source, resources, self.train, self.minimum)

    def rewrite_utterance(self, utterance: Utterance) -> Outcome:
        """The utterance with other values; the state with them."""
        replaceable = find_replaceable(utterance)
        if not replaceable:
            return None
        pools = {target: self.dictionary.pool(target.slot) for target in replaceable}
        if not any(pools.values()):
            return Unchanged(f"the dictionary has no {replaceable[0].slot}")
        # A person's own list is kept to, and what is made by rule might be a value of tests.
        made = self.source != TRAINING and not is_table_file(self.source)
        by_kind = self.dictionary.by_kind if made else ()
        fitting = {
            target: fit
            for target, pool in pools.items()
            if pool and (fit := find_candidates(utterance, target, pool, by_kind=target.slot in by_kind, made=made))
        }
        if not fitting:
            return Unchanged("the dictionary has no other value that fits")
        state = utterance.turn.state
        for _ in range(_TRIES):
            # Dates of one turn move together, and keep the days between them.
            shift = utterance.random.random()
            chosen = {
                target: fit[int(shift * len(fit))] if date_of(target.value) else utterance.random.choice(fit)
                for target, fit in fitting.items()
            }
            changed = {
                slot: accepted_forms(utterance, target, new) for target, new in chosen.items() for slot in target.slots
            }
            if are_plausible(state, state | changed, changed):
                return Rewrite(replace_values(utterance, chosen), state | changed, tags=(self.tag(chosen),))
        return Unchanged("no new values go together")

    def objection(self, utterance: Utterance, rewrite: Rewrite) -> str:
        """Every new value must be found in the new words; all other words are the same as before."""
        state = utterance.turn.state if rewrite.state is None else rewrite.state
        mentioned, text = {mention.slot for mention in utterance.mentions}, rewrite.text.lower()
        for slot in mentioned:
            if state[slot] != utterance.turn.state[slot]:
                # Most new values stand in the words as they are, by themselves; only others need a search.
                words = state[slot][0].lower()
                end = (start := text.find(words)) + len(words)
                stands = start >= 0 and not text[start - 1 : start].isalnum() and not text[end : end + 1].isalnum()
                if not stands and not find_value(rewrite.text, slot, state[slot]):
                    return "a new value is not said"
        return ""

    def tag(self, chosen: dict[ReplaceableValue, str]) -> str:
        """`seen` if the training data have every new value for its slot, else `unseen`."""
        return "seen" if all(self.dictionary.is_seen(target.slot, new) for target, new in chosen.items()) else "unseen"
