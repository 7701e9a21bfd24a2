"""`dstress demo`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from dstress import corpora
from dstress.cli.corpora import print_corpus
from dstress.cli.output import console, print_table
from dstress.cli.progress import counting
from dstress.cli.score import matrix_table
from dstress.conventions import conventions
from dstress.corpora.base import Corpus
from dstress.predictions.base import Prediction
from dstress.scoring import tallied

METRICS = ("jga", "aga", "fga", "gca", "slot-f1")


@click.command("demo")
def command() -> None:
    """The whole flow on the embedded corpus: no network, no set-up, under a minute.

    \b
    Example
      dstress demo
    """
    with counting("dialogues") as progress:
        corpora.ensure_embedded(progress)
    print_corpus(corpora.EMBEDDED)
    corpus = corpora.load(f"{corpora.EMBEDDED}:test")
    console().print(f"\nGold scored against itself on {corpora.EMBEDDED}:test, as each script of the field would:")
    scored = tallied(perfect(corpus), corpus, list(conventions), METRICS)
    print_table(matrix_table(scored, [one.card() for one in scored]))
    console().print("Below 100: the script changes one side only; docs/conventions.md says how.")


def perfect(corpus: Corpus) -> Iterator[Prediction]:
    """What a tracker without a fault would say."""
    for dialogue in corpus:
        for index, turn in enumerate(dialogue.turns):
            state = {slot: forms[0] for slot, forms in turn.state.items()}
            yield Prediction(dialogue.id, index, state)
