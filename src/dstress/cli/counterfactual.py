"""`dstress counterfactual`: one turn at a time, to see what CoCo does and why."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import click

from dstress.cli.output import console, json_option, table, write_json
from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue
from dstress.errors import DstressError, unknown
from dstress.generators import Goal
from dstress.generators.goals import own_goal, read_goal
from dstress.pipeline.stress import SEED, stress
from dstress.stressors.base import Unchanged
from dstress.stressors.counterfactual.filters import Verdict
from dstress.stressors.counterfactual.stressor import Counterfactual
from dstress.text.utterance import Utterance

_HELP = """\
  slot=value     the user shall say this too        -slot     the user shall not say this
  own            the user's own goal                new       another counterfactual goal
  t N            turn N of this dialogue            d ID      another dialogue, its first turn
  n              the next turn that says something  say TEXT  judge words of your own
  ?              this help                          q         quit"""


@click.command("counterfactual")
@click.argument("corpus", metavar="CORPUS:SPLIT", default="reminder:test")
@click.option("--dialogue", metavar="ID", help="the dialogue; default: the first")
@click.option("--turn", type=click.IntRange(0), metavar="N", help="the user turn; default: the first with a goal")
@click.option("--goal", metavar="SLOT=VALUE,...", help="what the user shall say; default: a counterfactual goal")
@click.option("--with", "spec", default="counterfactual", show_default=True, metavar="SPEC", help="the stressor")
@click.option("--seed", default=SEED, show_default=True, help="seed of the goal")
@click.option("--interactive", is_flag=True, help="pick turns, edit goals and look, until you quit")
@json_option
def command(corpus: str, spec: str, **given: Any) -> None:
    """Look at one counterfactual turn: its goal, every candidate, and which filter rejected which and why.

    \b
    Examples
      dstress counterfactual reminder:test
      dstress counterfactual mwz21-trade:test --dialogue MUL0003 --turn 1 --goal "hotel-area=west,hotel-stars=4"
      dstress counterfactual mwz21-trade:test --with "counterfactual(combinations=neu)" --interactive
    """
    desk = Desk(load(corpus), spec, given["seed"])
    desk.go_to(given["dialogue"], given["turn"])
    if given["goal"]:
        desk.goal = read_goal(_pairs(given["goal"]), desk.corpus.schema, own_goal(desk.said).unspoken)
    if given["json_file"]:
        write_json(desk.as_json(), given["json_file"])
    elif given["interactive"]:
        _converse(desk)
    else:
        _show(desk)


class Desk:
    """A prepared stressor and the turn that lies before it. `goal` may be edited."""

    def __init__(self, corpus: Corpus, spec: str, seed: int) -> None:
        self.corpus, self.seed = corpus, seed
        (stressor,) = stress(corpus, spec, seed=seed).stressor.parts
        if not isinstance(stressor, Counterfactual):
            raise DstressError(f"{spec} makes no counterfactual goals", fix='--with "counterfactual(...)"')
        self.stressor = stressor
        self.goal = Goal({})

    def go_to(self, dialogue: str | None, turn: int | None) -> None:
        """Put a turn on the desk, with a counterfactual goal."""
        self.dialogue = self._found(dialogue)
        turns = len(self.dialogue.turns)
        if turn is not None and turn >= turns:
            raise DstressError(f"{self.dialogue.id} has {turns} user turns, counted from 0; there is no turn {turn}")
        telling = (index for index in range(turns) if own_goal(self._utterance(index)).spoken)
        self.index = next(telling, 0) if turn is None else turn
        self.draw()

    def draw(self, again: int = 0) -> str:
        """Draw a goal; `again` gives another one. Says why there is none, and then takes the user's own."""
        self.said = self._utterance(self.index, again)
        drawn = self.stressor.goal(self.said)
        if drawn is None or isinstance(drawn, Unchanged):
            self.goal = own_goal(self.said)
            return "the turn adds nothing to the state" if drawn is None else drawn.reason
        self.goal = drawn.goal
        return ""

    def next_turn(self) -> bool:
        """The next turn that says something; False at the end of the dialogue."""
        later = range(self.index + 1, len(self.dialogue.turns))
        found = next((index for index in later if own_goal(self._utterance(index)).spoken), None)
        if found is not None:
            self.index = found
            self.draw()
        return found is not None

    def verdicts(self) -> list[Verdict]:
        """The candidates for the goal, judged."""
        return self.stressor.judge(self.said, self.goal) if self.goal.spoken else []

    def as_json(self) -> dict[str, Any]:
        """All of it."""
        return {
            "dialogue": self.dialogue.id,
            "turn": self.index,
            "system": self.said.turn.system,
            "user": self.said.text,
            "own": own_goal(self.said)._asdict(),
            "goal": self.goal._asdict(),
            "candidates": [
                {"text": one.candidate.text, "score": one.candidate.score, "rejected": one.filter, "why": one.why}
                for one in self.verdicts()
            ],
        }

    def _utterance(self, index: int, again: int = 0) -> Utterance:
        key = (self.seed, self.stressor.key(), again) if again else (self.seed, self.stressor.key())
        return Utterance(self.dialogue, index, self.corpus.schema, key)

    def _found(self, wanted: str | None) -> Dialogue:
        for dialogue in self.corpus:
            if wanted is None or dialogue.id == wanted:
                return dialogue
        some = [dialogue.id for dialogue in islice(iter(self.corpus), 1000)]
        raise unknown("dialogue", wanted or "", some, where=f"{self.corpus.name}:{self.corpus.split}")


def _pairs(text: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    if wrong := next((slot for slot, sign, _ in pairs if not sign), None):
        raise DstressError(f"{wrong.strip()!r} is no slot with a value", fix='write "hotel-area=west,hotel-stars=4"')
    return {slot.strip(): value.strip() for slot, _, value in pairs}


def _show(desk: Desk, note: str = "") -> None:
    out = console()
    out.print(f"{desk.dialogue.id}, turn {desk.index}", style="bold", markup=False)
    out.print(f"  system: {desk.said.turn.system or '(nothing yet)'}", markup=False)
    out.print(f"  user:   {desk.said.text}", markup=False)
    out.print(f"  own goal: {_told(own_goal(desk.said))}", style="dim", markup=False)
    out.print(f"  new goal: {_told(desk.goal)}", style="cyan", markup=False)
    if note:
        out.print(f"  {note}", style="yellow", markup=False)
    shown = table("", "candidate", "#score", "rejected because")
    for verdict in desk.verdicts():
        shown.add_row(*_row(verdict), style="dim" if verdict.filter else "")
    out.print(shown if shown.row_count else "  no candidate")


def _row(verdict: Verdict) -> Iterator[str]:
    from rich.markup import escape

    yield "✗" if verdict.filter else "✓"
    yield escape(verdict.candidate.text)
    yield f"{verdict.candidate.score:.2f}"
    yield escape(verdict.why)


def _told(goal: Goal) -> str:
    said = ", ".join(f"{slot}={value}" for slot, value in goal.spoken.items()) or "nothing"
    taken = ", ".join(f"{slot}={value}" for slot, value in goal.unspoken.items())
    return f"{said} (and without words: {taken})" if taken else said


def _converse(desk: Desk) -> None:
    """Read orders until there are none left; a wrong one is told and changes nothing."""
    console().print(_HELP, style="dim", markup=False)
    _show(desk)
    drawn = 0
    while (order := _order()) not in ("q", "quit", "exit"):
        note = ""
        try:
            drawn += order == "new"
            note = _obeyed(desk, order, drawn)
        except DstressError as error:
            console().print(str(error), style="red", markup=False)
            continue
        if note != _HELP:
            _show(desk, note)


def _order() -> str:
    sys.stdout.flush()
    try:
        return input("> " if sys.stdin.isatty() else "").strip()
    except EOFError:
        return "q"


def _obeyed(desk: Desk, order: str, drawn: int) -> str:
    """Do what an order says; what comes back is to be told."""
    verb, _, rest = order.partition(" ")
    if order in ("?", "help", "h", ""):
        console().print(_HELP, style="dim", markup=False)
        return _HELP
    if verb == "d":
        desk.go_to(rest.strip(), None)
    elif verb == "t" and rest.strip().isdecimal():
        desk.go_to(desk.dialogue.id, int(rest))
    elif order == "n":
        return "" if desk.next_turn() else "this was the last turn that says something"
    elif order == "own":
        desk.goal = own_goal(desk.said)
    elif order == "new":
        return desk.draw(drawn)
    elif verb == "say":
        return _judged(desk, rest)
    else:
        desk.goal = _edited(desk, order)
    return ""


def _judged(desk: Desk, words: str) -> str:
    from dstress.generators import Candidate

    (verdict,) = desk.stressor.filters.judge(desk.said, desk.goal, [Candidate(words)])
    return f"{words!r}: {verdict.why or 'says the goal'}"


def _edited(desk: Desk, order: str) -> Goal:
    """`slot=value` adds or changes, `-slot` drops."""
    said: Mapping[str, str] = desk.goal.spoken
    if order.startswith("-"):
        slot = order[1:].strip()
        if slot not in said:
            raise unknown("slot of the goal", slot, said)
        said = {known: value for known, value in said.items() if known != slot}
        return Goal(said, desk.goal.unspoken)
    return read_goal({**said, **_pairs(order)}, desk.corpus.schema, desk.goal.unspoken)
