"""People judge systems: the same turns as several systems understood and answered them, blinded.

RADDLE offers human evaluation to top-ranked systems (Peng et al. 2021, section 5.3). A tracker is judged by CoCo's
correctness (Li et al. 2021, section 5.3), with what it took from the turn in place of the label; a system that also
speaks by its answer's appropriateness at this turn and human likeliness. Gold is among them, unmarked: it shows what
judges think of the best possible answer, as the row "Human" of CoCo's table 3 does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from random import Random

import msgspec

from dstress.dialogue import Dialogue, State, first_forms, update
from dstress.predictions.base import Prediction
from dstress.studies.human_check.questions import goal_in_words, questions
from dstress.studies.human_check.sheets import history_in_words

GOLD = "gold"
Answers = Mapping[tuple[str, int], Prediction]
"""One system's answers by dialogue and turn."""


class Outcome(msgspec.Struct, frozen=True):
    """What judges see of a turn: the dialogue so far, what a system took from the turn, and what it answered."""

    dialogue: str
    turn: int
    history: str
    system: str
    user: str
    goal: str
    response: str = ""

    @property
    def questions(self) -> tuple[str, ...]:
        """What is asked of it: without an answer in words there is nothing to say about words."""
        return tuple(questions("systems")) if self.response else ("correct",)


def draw_outcomes(
    dialogues: Iterable[Dialogue], answers: Mapping[str, Answers], turns: int, seed: int, history: int = 0
) -> list[tuple[Outcome, tuple[str, ...]]]:
    """Turns at random, and what each system and gold make of them, in shuffled order, with the names of the systems.

    Systems that make the same of a turn share an item: it is judged once, and counts for each of them. Turns that a
    system has no answer to are left out for all, so that all are judged on the same.
    """
    by_id = {dialogue.id: dialogue for dialogue in dialogues}
    places = [(name, turn) for name, dialogue in by_id.items() for turn in range(len(dialogue.turns))]
    shared = [place for place in places if all(place in own and not own[place].failed for own in answers.values())]
    random = Random(seed)
    drawn = random.sample(sorted(shared), min(turns, len(shared)))
    speaking = any(own[place].response for own in answers.values() for place in drawn)
    items: dict[Outcome, list[str]] = {}
    for name, turn in drawn:
        for system, outcome in _outcomes(by_id[name], turn, answers, history, speaking=speaking):
            items.setdefault(outcome, []).append(system)
    shuffled = [(outcome, tuple(systems)) for outcome, systems in items.items()]
    random.shuffle(shuffled)
    return shuffled


def _outcomes(
    dialogue: Dialogue, turn: int, answers: Mapping[str, Answers], history: int, *, speaking: bool
) -> Iterator[tuple[str, Outcome]]:
    now = dialogue.turns[turn]
    earlier = [before.remembered for before in dialogue.turns[:turn]]

    def outcome(before: State, after: State, response: str) -> Outcome:
        shown = history_in_words(earlier, history)
        return Outcome(dialogue.id, turn, shown, now.system, now.user, goal_in_words(update(before, after)), response)

    # One form of each value, as a system gives it: other forms would tell gold from systems.
    gold_before = _single(first_forms(earlier[-1].state if earlier else {}))
    yield GOLD, outcome(gold_before, _single(first_forms(now.state)), dialogue.responses[turn] if speaking else "")
    for system, own in answers.items():
        before = own.get((dialogue.id, turn - 1))
        state = _single(own[dialogue.id, turn].state)
        yield system, outcome(_single(before.state if before else {}), state, own[dialogue.id, turn].response or "")


def _single(state: Mapping[str, str]) -> State:
    return {slot: (value,) for slot, value in sorted(state.items())}
