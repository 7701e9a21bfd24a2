"""`dstress counterfactual`: one turn at a time, to see what CoCo does and why."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import islice
from typing import Any

import click

from dstress.cli.output import SEEDS, console, json_option, make_table, write_json
from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.errors import DstressError, unknown
from dstress.generators import Candidate, Goal
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
@click.option("--seed", type=SEEDS, default=SEED, show_default=True, help="seed of the goal")
@click.option("--interactive", is_flag=True, help="pick turns, edit goals and look, until you quit")
@json_option
def command(
    corpus: str,
    dialogue: str | None,
    turn: int | None,
    goal: str | None,
    spec: str,
    seed: int,
    interactive: bool,
    json_file: str | None,
) -> None:
    """Look at one counterfactual turn: its goal, every candidate, and which filter rejected which and why.

    \b
    Examples
      dstress counterfactual reminder:test
      dstress counterfactual mwz21-trade:test --dialogue MUL0003 --turn 1 --goal "hotel-area=west,hotel-stars=4"
      dstress counterfactual mwz21-trade:test --with "counterfactual(combinations=neu)" --interactive
    """
    desk = Desk(load(corpus), spec, seed)
    desk.go_to(dialogue, turn)
    if goal:
        desk.goal = read_goal(_parse_goal(goal), desk.corpus.schema, own_goal(desk.utterance).unspoken)
    if json_file:
        write_json(desk.as_json(), json_file)
    elif interactive:
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
        wanted = (candidate for candidate in self.corpus if dialogue is None or candidate.id == dialogue)
        if (first := next(wanted, None)) is None:
            known = [other.id for other in islice(iter(self.corpus), 1000)]
            raise unknown("dialogue", dialogue or "", known, where=f"{self.corpus.name}:{self.corpus.split}")
        self.dialogue = first
        turns = len(self.dialogue.turns)
        if turn is not None and turn >= turns:
            raise DstressError(f"{self.dialogue.id} has {turns} user turns, counted from 0; there is no turn {turn}")
        self.index = turn if turn is not None else self._find_goal(0) or 0
        self.draw()

    def draw(self, again: int = 0) -> str:
        """Draw a goal; `again` gives another one. Says why there is none, and then takes the user's own."""
        self.utterance = self._make_utterance(self.index, again)
        drawn = self.stressor.goal(self.utterance)
        if drawn is None or isinstance(drawn, Unchanged):
            self.goal = own_goal(self.utterance)
            return "the turn adds nothing to the state" if drawn is None else drawn.reason
        self.goal = drawn.goal
        return ""

    def next_turn(self) -> bool:
        """The next turn that says something; False at the end of the dialogue."""
        index = self._find_goal(self.index + 1)
        if index is None:
            return False
        self.index = index
        self.draw()
        return True

    def verdicts(self) -> list[Verdict]:
        """The candidates for the goal, judged."""
        return self.stressor.judge(self.utterance, self.goal) if self.goal.spoken else []

    def as_json(self) -> dict[str, Any]:
        """All of it."""
        return {
            "dialogue": self.dialogue.id,
            "turn": self.index,
            "system": self.utterance.turn.system,
            "user": self.utterance.text,
            "own": _goal_json(own_goal(self.utterance)),
            "goal": _goal_json(self.goal),
            "candidates": [
                {
                    "text": verdict.candidate.text,
                    "score": verdict.candidate.score,
                    "rejected": verdict.filter,
                    "why": verdict.why,
                }
                for verdict in self.verdicts()
            ],
        }

    def _find_goal(self, start: int) -> int | None:
        turns = range(start, len(self.dialogue.turns))
        return next((index for index in turns if own_goal(self._make_utterance(index)).spoken), None)

    def _make_utterance(self, index: int, again: int = 0) -> Utterance:
        key = (self.seed, self.stressor.key(), again) if again else (self.seed, self.stressor.key())
        return Utterance(self.dialogue, index, self.corpus.schema, key)


def _parse_goal(text: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    if wrong := next((slot for slot, sign, _ in pairs if not sign), None):
        raise DstressError(f"{wrong.strip()!r} is no slot with a value", fix='write "hotel-area=west,hotel-stars=4"')
    return {slot.strip(): value.strip() for slot, _, value in pairs}


def _show(desk: Desk, note: str = "") -> None:
    from rich.markup import escape

    out = console()
    out.print(f"{desk.dialogue.id}, turn {desk.index}", style="bold", markup=False)
    out.print(f"  system: {desk.utterance.turn.system or '(nothing yet)'}", markup=False)
    out.print(f"  user:   {desk.utterance.text}", markup=False)
    out.print(f"  own goal: {_format_goal(own_goal(desk.utterance))}", style="dim", markup=False)
    out.print(f"  new goal: {_format_goal(desk.goal)}", style="cyan", markup=False)
    if note:
        out.print(f"  {note}", style="yellow", markup=False)
    table = make_table("", "candidate", "#score", "rejected because")
    for verdict in desk.verdicts():
        candidate, rejected = verdict.candidate, bool(verdict.filter)
        cells = ("✗" if rejected else "✓", escape(candidate.text), f"{candidate.score:.2f}", escape(verdict.why))
        table.add_row(*cells, style="dim" if rejected else "")
    out.print(table if table.row_count else "  no candidate")


def _goal_json(goal: Goal) -> dict[str, Mapping[str, str]]:
    """A goal under the keys that `--json` has always had."""
    return {"said": goal.spoken, "taken": goal.unspoken}


def _format_goal(goal: Goal) -> str:
    spoken = ", ".join(f"{slot}={value}" for slot, value in goal.spoken.items()) or "nothing"
    unspoken = ", ".join(f"{slot}={value}" for slot, value in goal.unspoken.items())
    return f"{spoken} (and without words: {unspoken})" if unspoken else spoken


def _converse(desk: Desk) -> None:
    """Read orders until there are none left; a wrong one is told and changes nothing."""
    console().print(_HELP, style="dim", markup=False)
    _show(desk)
    drawn = 0
    while (order := _read_order()) not in ("q", "quit", "exit"):
        if order in ("?", "help", "h", ""):
            console().print(_HELP, style="dim", markup=False)
            continue
        drawn += order == "new"
        try:
            note = _obey(desk, order, drawn)
        except DstressError as error:
            console().print(str(error), style="red", markup=False)
        else:
            _show(desk, note)


def _read_order() -> str:
    sys.stdout.flush()
    try:
        return input("> " if sys.stdin.isatty() else "").strip()
    except EOFError:
        return "q"


def _obey(desk: Desk, order: str, drawn: int) -> str:
    """Do what an order says; what comes back is a note to show with the turn."""
    verb, _, rest = order.partition(" ")
    if verb == "d":
        desk.go_to(rest.strip(), None)
    elif verb == "t" and rest.strip().isdecimal():
        desk.go_to(desk.dialogue.id, int(rest))
    elif order == "n":
        return "" if desk.next_turn() else "this was the last turn that says something"
    elif order == "own":
        desk.goal = own_goal(desk.utterance)
    elif order == "new":
        return desk.draw(drawn)
    elif verb == "say":
        (verdict,) = desk.stressor.filters.judge(desk.utterance, desk.goal, [Candidate(rest)])
        return f"{rest!r}: {verdict.why or 'says the goal'}"
    else:
        desk.goal = _edit_goal(desk, order)
    return ""


def _edit_goal(desk: Desk, order: str) -> Goal:
    """`slot=value` adds or changes, `-slot` drops."""
    spoken, unspoken = desk.goal.spoken, desk.goal.unspoken
    if order.startswith("-"):
        slot = order[1:].strip()
        if slot not in spoken:
            raise unknown("slot of the goal", slot, spoken)
        return Goal({other: value for other, value in spoken.items() if other != slot}, unspoken)
    return read_goal({**spoken, **_parse_goal(order)}, desk.corpus.schema, unspoken)
