"""`dstress counterfactual`: one turn at a time, to see what CoCo does and why."""

from __future__ import annotations

from itertools import islice

import click

from dstress.cli.names import CORPUS
from dstress.cli.options import argument, option, seed_option, verb
from dstress.cli.output import OutputFiles, console, json_option, make_table
from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue
from dstress.errors import DstressError, unknown
from dstress.pipeline.stress import SEED, stress
from dstress.stressors.base import Unchanged
from dstress.stressors.counterfactual.stressor import Counterfactual
from dstress.stressors.generators import Goal
from dstress.stressors.generators.goals import own_goal, read_goal
from dstress.text.utterance import Utterance


@verb("counterfactual")
def command(
    corpus: str = argument(type=CORPUS, metavar="CORPUS:SPLIT", default="reminder:test"),
    dialogue: str | None = option(metavar="ID", help="the dialogue; default: the first"),
    turn: int | None = option(
        type=click.IntRange(0), metavar="N", help="the user turn; default: the first with a goal"
    ),
    goal: str | None = option(
        metavar="SLOT=VALUE,...", help="what the user should say; default: a counterfactual goal"
    ),
    spec: str = option("--with", default="counterfactual", metavar="SPEC", help="the stressor"),
    seed: int = seed_option(SEED, "seed of the goal"),
    files: OutputFiles = json_option,
) -> None:
    """Show one counterfactual turn: its goal, every candidate, and which filter rejected it and why.

    \b
    Examples
      dstress counterfactual reminder:test
      dstress counterfactual mwz21-trade:test --dialogue MUL0003 --turn 1 --goal "hotel-area=west,hotel-stars=4"
      dstress counterfactual mwz21-trade:test --with "counterfactual(combinations=neu)" --seed 2
    """
    opened = load(corpus)
    (stressor,) = stress(opened, spec, seed=seed).stressor.parts
    if not isinstance(stressor, Counterfactual):
        raise DstressError(f"{spec} makes no counterfactual goals", fix='--with "counterfactual(...)"')
    chosen = _find_dialogue(opened, dialogue)
    turns = len(chosen.turns)
    if turn is not None and turn >= turns:
        raise DstressError(f"{chosen.id} has {turns} user turns, counted from 0; there is no turn {turn}")
    utterances = [Utterance(chosen, number, opened.schema, (seed, stressor.key())) for number in range(turns)]
    if turn is None:  # the first that says something
        turn = next((number for number, utterance in enumerate(utterances) if own_goal(utterance).spoken), 0)
    utterance = utterances[turn]
    own = own_goal(utterance)
    drawn = stressor.goal(utterance)
    if goal:
        new = read_goal(_parse_goal(goal), opened.schema, own.unspoken)
    else:
        new = own if drawn is None or isinstance(drawn, Unchanged) else drawn.goal
    verdicts = stressor.judge(utterance, new) if new.spoken else []
    candidates = [
        {"text": verdict.candidate.text, "score": verdict.candidate.score}
        | {"rejected": verdict.filter, "why": verdict.why}
        for verdict in verdicts
    ]
    content = {"dialogue": chosen.id, "turn": turn, "system": utterance.turn.system, "user": utterance.text}
    goals = {name: {"said": its.spoken, "taken": its.unspoken} for name, its in (("own", own), ("goal", new))}
    if files.write(content | goals | {"candidates": candidates}):
        return
    out = console()
    out.print(f"{chosen.id}, turn {turn}", style="bold", markup=False)
    out.print(f"  system: {utterance.turn.system or '(nothing yet)'}", markup=False)
    out.print(f"  user:   {utterance.text}", markup=False)
    out.print(f"  own goal: {_format_goal(own)}", style="dim", markup=False)
    out.print(f"  new goal: {_format_goal(new)}", style="cyan", markup=False)
    if not goal and new is own:
        reason = drawn.reason if isinstance(drawn, Unchanged) else "the turn adds nothing to the state"
        out.print(f"  {reason}", style="yellow", markup=False)
    if not verdicts:
        out.print("  no candidate")
        return
    rows = [
        ("✗" if verdict.filter else "✓", verdict.candidate.text, f"{verdict.candidate.score:.2f}", verdict.why)
        for verdict in verdicts
    ]
    table = make_table(("", "candidate", "#score", "rejected because"), rows)
    for row, verdict in zip(table.rows, verdicts, strict=True):
        row.style = "dim" if verdict.filter else ""
    out.print(table)


def _find_dialogue(corpus: Corpus, id: str | None) -> Dialogue:
    """The dialogue of an id, or the first."""
    if (dialogue := next((d for d in corpus if id in (None, d.id)), None)) is None:
        ids = [dialogue.id for dialogue in islice(corpus, 1000)]
        raise unknown("dialogue", id or "", ids, where=f"{corpus.name}:{corpus.split}")
    return dialogue


def _parse_goal(text: str) -> dict[str, str]:
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    if wrong := next((slot for slot, sign, _ in pairs if not sign), None):
        raise DstressError(f"{wrong.strip()!r} is no slot with a value", fix='write "hotel-area=west,hotel-stars=4"')
    return {slot.strip(): value.strip() for slot, _, value in pairs}


def _format_goal(goal: Goal) -> str:
    spoken = ", ".join(f"{slot}={value}" for slot, value in goal.spoken.items()) or "nothing"
    unspoken = ", ".join(f"{slot}={value}" for slot, value in goal.unspoken.items())
    return f"{spoken} (and without words: {unspoken})" if unspoken else spoken
