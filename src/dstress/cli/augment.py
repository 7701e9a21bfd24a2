"""`dstress augment`."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from dstress.cli.names import CORPUS, STRESSOR
from dstress.cli.options import FOLDER, argument, limit_option, option, seed_option, verb
from dstress.cli.output import OutputFiles, json_option
from dstress.cli.progress import counting
from dstress.cli.stress import engine_for
from dstress.corpora import load
from dstress.errors import DstressError
from dstress.pipeline.augment import TEST_DICTIONARY, Augmentation, Augmenting, Layout
from dstress.pipeline.stress import SEED
from dstress.reports.numbers import PLAIN
from dstress.reports.tables import Table


@verb("augment")
def command(
    corpus: str = argument(type=CORPUS, metavar="CORPUS:SPLIT"),
    stressors: tuple[str, ...] = option(
        "--with",
        type=STRESSOR,
        required=True,
        multiple=True,
        metavar="SPEC",
        help="the stressor; a+b applies both; may be repeated",
    ),
    times: int = option(type=click.IntRange(1, 1000), default=1, help="versions to add per stressor"),
    out: Path = option(required=True, type=FOLDER, metavar="DIR"),
    layout: Layout = option(
        type=click.Choice(get_args(Layout)),
        default="dialogues",
        help="whole dialogues with every original turn, or one dialogue per changed turn",
    ),
    keep_out: str = option(
        default=TEST_DICTIONARY,
        metavar="I|O|train-O|FILE|none",
        help="dictionary of the tests: none of its values may occur",
    ),
    limit: int = limit_option,
    seed: int = seed_option(SEED, "seed of the first version; the next count up"),
    workers: int = option(
        type=click.IntRange(0, 1024), default=0, help="worker processes; default: one per core for slow stressors"
    ),
    files: OutputFiles = json_option,
) -> None:
    """Write a training corpus of the original dialogues and stressed versions of them.

    Every command accepts DIR in place of a corpus name. If a version contains a value of the test dictionary, the
    command stops with an error and writes nothing.

    \b
    Examples
      dstress augment mwz21-trade:train --with "values(dictionary=train-O)" --times 4 --out augmented
      dstress augment mwz21-trade:train --with "counterfactual(values=train-O)" --layout examples --out examples
      dstress augment sgd:train --with "schema_variant(version=v1)" --with "schema_variant(version=v2)" --out schemas
    """
    original = load(corpus, limit=limit)
    if out.exists() and any(out.iterdir()):
        raise DstressError("the folder is not empty", where=str(out), fix="give another --out, or empty it")
    engine = engine_for(stressors, workers)
    augmenting = Augmenting(original, stressors, times, seed=seed, keep_out=keep_out, engine=engine)
    with counting("dialogues") as on_progress:
        augmentation = augmenting.write(out, layout, on_progress)
    fallbacks = augmentation.quality["fallbacks"].items()
    remarks = [*(f"{count:,} turns stay as they were: {reason}" for reason, count in fallbacks), f"written to {out}"]
    files.show(augmentation, [_table(augmentation)], remarks)


def _table(made: Augmentation) -> Table:
    columns = ("stressor", "#times", "#dialogues", "#added", "#unchanged, left out", "#changed turns", "#of turns %")
    counts = (made.times, *(made.dialogues[kind] for kind in ("original", "added", "unchanged")), made.examples)
    share = made.quality["changed"] / max(made.quality["turns"], 1)
    row = (made.stressor, *(f"{number:,}" for number in counts), PLAIN.percent(share, 1))
    watched = f"{made.values_kept_out:,} values of {made.keep_out} were watched for; none came in"
    return Table(columns, [row], watched if made.values_kept_out else "no values were watched for")
