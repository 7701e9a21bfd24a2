"""`dstress augment`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import click

from dstress.cli.output import console, json_option, print_table, write_json
from dstress.cli.progress import counting
from dstress.cli.stress import engine_for
from dstress.corpora import load
from dstress.errors import DstressError
from dstress.pipeline.augment import TEST_DICTIONARY, Augmentation, Augmenting, Layout
from dstress.pipeline.stress import SEED, first
from dstress.reports.tables import Table


@click.command("augment")
@click.argument("corpus", metavar="CORPUS:SPLIT")
@click.option("--with", "stressor", required=True, metavar="SPEC", help="the stressor; a+b applies both")
@click.option("--times", type=click.IntRange(1), default=1, show_default=True, help="stressed versions to add")
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
@click.option("--seed", default=SEED, show_default=True, help="seed of the first version; the next count up")
@click.option("--workers", type=click.IntRange(0), default=0, help="processes; default: cores, where it pays")
@json_option
def command(corpus: str, stressor: str, **given: Any) -> None:
    """Write a training corpus: the dialogues as they are, and stressed versions of them.

    Every verb takes DIR in place of a corpus name. A value of the test dictionary that would come in is an error, and
    nothing is written.

    \b
    Examples
      dstress augment mwz21-trade:train --with "values(dictionary=train-O)" --times 4 --out augmented
      dstress augment mwz21-trade:train --with "counterfactual(values=train-O)" --layout examples --out examples
    """
    original = load(corpus)
    original = first(original, given["limit"]) if given["limit"] else original
    folder: Path = given["out"]
    if folder.exists() and any(folder.iterdir()):
        raise DstressError("the folder is not empty", where=str(folder), fix="give another --out, or empty it")
    made = Augmenting(
        original,
        stressor,
        given["times"],
        seed=given["seed"],
        keep_out=given["keep_out"],
        engine=engine_for(stressor, given["workers"]),
    )
    with counting("dialogues") as progress:
        done = 0

        def watch(label: str) -> None:
            nonlocal done
            done += 1
            progress(label, done)

        told = made.write(folder, given["layout"], watch)
    if given["json_file"]:
        write_json(told, given["json_file"])
        return
    _show(told, folder)


def _show(told: Augmentation, folder: Path) -> None:
    quality, counts = told.quality, told.dialogues
    columns = ("stressor", "#times", "#dialogues", "#added", "#unchanged, left out", "#changed turns", "#of turns %")
    share = 100 * quality["changed"] / max(quality["turns"], 1)
    numbers = (told.times, counts["original"], counts["added"], counts["unchanged"], told.examples)
    row = (told.stressor, *(f"{number:,}" for number in numbers), f"{share:.1f}")
    kept = f"{told.values_kept_out:,} values of {told.keep_out} were watched for; none came in"
    print_table(Table(columns, [row], kept if told.values_kept_out else "no values were watched for"))
    for reason, count in quality["fallbacks"].items():
        console().print(f"{count:,} turns stay as they were: {reason}", markup=False)
    console().print(f"written to {folder}", markup=False)
