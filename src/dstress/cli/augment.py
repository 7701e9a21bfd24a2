"""`dstress augment`."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from dstress.cli.output import SEEDS, console, json_option, print_table, write_json
from dstress.cli.progress import counting_calls
from dstress.cli.stress import engine_for
from dstress.corpora import load
from dstress.errors import DstressError
from dstress.pipeline.augment import TEST_DICTIONARY, Augmentation, Augmenting, Layout
from dstress.pipeline.stress import SEED
from dstress.reports.numbers import PLAIN
from dstress.reports.tables import Table


@click.command("augment")
@click.argument("corpus", metavar="CORPUS:SPLIT")
@click.option(
    "--with", "stressors", required=True, multiple=True, metavar="SPEC", help="the stressor; a+b applies both; repeat"
)
@click.option("--times", type=click.IntRange(1), default=1, show_default=True, help="versions of each to add")
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path), metavar="DIR")
@click.option(
    "--layout",
    type=click.Choice(get_args(Layout)),
    default="dialogues",
    show_default=True,
    help="whole dialogues that keep each turn's original, or a dialogue for each changed turn",
)
@click.option(
    "--keep-out",
    default=TEST_DICTIONARY,
    show_default=True,
    metavar="I|O|train-O|FILE|none",
    help="the dictionary of the tests: none of its values may come in",
)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="only the first N dialogues")
@click.option(
    "--seed", type=SEEDS, default=SEED, show_default=True, help="seed of the first version; the next count up"
)
@click.option("--workers", type=click.IntRange(0, 1024), default=0, help="processes; default: cores, where it pays")
@json_option
def command(
    corpus: str,
    stressors: tuple[str, ...],
    times: int,
    out: Path,
    layout: Layout,
    keep_out: str,
    limit: int | None,
    seed: int,
    workers: int,
    json_file: str | None,
) -> None:
    """Write a training corpus: the dialogues as they are, and stressed versions of them.

    Every verb takes DIR in place of a corpus name. A value of the test dictionary that would come in is an error, and
    nothing is written.

    \b
    Examples
      dstress augment mwz21-trade:train --with "values(dictionary=train-O)" --times 4 --out augmented
      dstress augment mwz21-trade:train --with "counterfactual(values=train-O)" --layout examples --out examples
      dstress augment sgd:train --with "schema_variant(version=v1)" --with "schema_variant(version=v2)" --out schemas
    """
    original = load(corpus)
    original = original.take(limit or 0)
    if out.exists() and any(out.iterdir()):
        raise DstressError("the folder is not empty", where=str(out), fix="give another --out, or empty it")
    engine = engine_for(stressors, workers)
    augmenting = Augmenting(original, stressors, times, seed=seed, keep_out=keep_out, engine=engine)
    with counting_calls("dialogues") as on_progress:
        augmentation = augmenting.write(out, layout, on_progress)
    if json_file:
        write_json(augmentation, json_file)
        return
    print_table(_table(augmentation))
    for reason, count in augmentation.quality["fallbacks"].items():
        console().print(f"{count:,} turns stay as they were: {reason}", markup=False)
    console().print(f"written to {out}", markup=False)


def _table(made: Augmentation) -> Table:
    columns = ("stressor", "#times", "#dialogues", "#added", "#unchanged, left out", "#changed turns", "#of turns %")
    counts = (made.times, *(made.dialogues[kind] for kind in ("original", "added", "unchanged")), made.examples)
    share = made.quality["changed"] / max(made.quality["turns"], 1)
    row = (made.stressor, *(f"{number:,}" for number in counts), PLAIN.percent(share, 1))
    watched = f"{made.values_kept_out:,} values of {made.keep_out} were watched for; none came in"
    return Table(columns, [row], watched if made.values_kept_out else "no values were watched for")
