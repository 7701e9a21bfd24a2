"""Text that was made once and is the same for everybody: a released set as a stressor like any other.

A language model on another GPU, or of another version, says other words. Whoever compares trackers on learned text
needs one text, so it is made once, read, and released with its results (`dstress release`).
"""

from __future__ import annotations

from pathlib import Path

from dstress.errors import CorpusError, SpecError
from dstress.resources import Resources
from dstress.stressors.base import Outcome, Rewrite, TurnStressor, Unchanged
from dstress.stressors.counterfactual.stressor import SUBSTITUTED, frames_for
from dstress.stressors.generators.base import Goal
from dstress.stressors.released.sets import path_of, read_set
from dstress.text.utterance import Utterance


class Released(TurnStressor):
    """The turns of a released set: one of `dstress list released`, or a file that `dstress release` wrote.

    It is for one content: a corpus whose dialogues are others is refused.
    """

    rephrases = True
    names_values = True

    def __init__(self, name: str = "") -> None:
        self.name = name
        if name:
            released = read_set(path_of(name))
            self.effect, self.guarded = released.effect, released.guarded

    def files(self) -> tuple[Path, ...]:
        """The set."""
        return (path_of(self.name),) if self.name else ()

    def prepare(self, resources: Resources) -> None:
        """Refuse a corpus that lacks a dialogue of the set, or has another one in its place."""
        super().prepare(resources)
        if not self.name:
            raise SpecError("released: which set?", fix="released(NAME); `dstress list released` shows them")
        self._set = read_set(path_of(self.name))
        if problem := self._set.misfit(resources.corpus):
            raise CorpusError(
                f"the released set {self._set.name} is not for this corpus: {problem}",
                fix=f"apply it to {self._set.corpus} as it was released (content {self._set.content}), before any "
                "stressor of whole dialogues; for another corpus make the text with " + self._set.stressor,
            )

    def rewrite_utterance(self, utterance: Utterance) -> Outcome:
        """The words of the set, if it has some, with their label."""
        new = self._set.turns.get(utterance.dialogue, {}).get(utterance.index)
        if new is None:
            return None
        turn = utterance.turn
        if turn.user != turn.original.user or turn.state != turn.original.state:
            return Unchanged("another stressor changed the turn before")
        if self.effect == "invariant":
            return Rewrite(new.user, tags=new.tags)
        state = {slot: forms for slot, forms in (turn.state | new.changes).items() if forms}
        added = {slot: forms[0] for slot, forms in state.items() if utterance.before.get(slot) != forms}
        frames = None if SUBSTITUTED in new.tags else frames_for(utterance, Goal(added), new.user)
        return Rewrite(new.user, state, tags=new.tags, frames=frames)

    def objection(self, utterance: Utterance, rewrite: Rewrite) -> str:
        """Nothing: the label guard saw the text when it was made, and a later one must not change the set."""
        return ""
