"""`dstress demo`."""

from __future__ import annotations

import click

from dstress import corpora
from dstress.cli.corpora import print_corpus
from dstress.cli.output import console, counting, table
from dstress.conventions import conventions
from dstress.corpora.base import Corpus


@click.command("demo")
def command() -> None:
    """The whole flow on the embedded corpus: no network, no set-up, under a minute.

    \b
    Example
      dstress demo
    """
    out = console()
    with counting("dialogues") as progress:
        corpora.ensure_embedded(progress)
    print_corpus(corpora.EMBEDDED)
    corpus = corpora.load(f"{corpora.EMBEDDED}:test")
    out.print(f"\nGold scored against itself on {corpora.EMBEDDED}:test, as each script of the field would:")
    shown = table("convention", "unit", "#joint goal accuracy")
    for name in conventions:
        convention = conventions.create(name)
        shown.add_row(name, convention.unit, f"{gold_against_gold(corpus, name):.2%}")
    out.print(shown)


def gold_against_gold(corpus: Corpus, name: str) -> float:
    """Joint goal accuracy of the gold states as if a tracker had predicted them: 1, or the script has a quirk."""
    convention = conventions.create(name)
    slots = corpus.schema.slots
    scores = []
    for dialogue in corpus:
        for turn in dialogue.turns:
            predicted = {slot: values[0] for slot, values in turn.state.items()}
            scores.append(convention.score(turn.state, predicted, slots))
    return sum(scores) / len(scores)
