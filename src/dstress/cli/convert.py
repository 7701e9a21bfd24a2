"""`dstress convert`."""

from __future__ import annotations

from pathlib import Path

import click

from dstress.cli.names import CORPUS, FORMAT
from dstress.cli.options import PATH, argument, format_option, option, verb
from dstress.cli.output import console
from dstress.cli.progress import waiting
from dstress.pipeline.convert import convert


@verb("convert")
def command(
    predictions: str = argument(type=click.Path(exists=True)),
    to: str = option(type=FORMAT, default="dstress", metavar="FORMAT", help="the format to write"),
    gold: str | None = option(
        type=CORPUS, metavar="CORPUS:SPLIT", help="spell slots as this corpus does, and add its gold states"
    ),
    format_: str = format_option,
    out: Path = option(required=True, type=PATH, metavar="FILE", help="the file to write"),
) -> None:
    """Convert a prediction file to another format. Fields that the format lacks are left out.

    \b
    Examples
      dstress convert running_log.json --out predictions.jsonl
      dstress convert preds.jsonl --to trade --gold multiwoz21:test --out all_prediction.json
      dstress convert dialogues/ --to csv --out answers.csv
    """
    with waiting("converting"):
        turns = convert(predictions, out, to, gold, format_)
    console().print(f"{turns:,} turns written to {out}")
