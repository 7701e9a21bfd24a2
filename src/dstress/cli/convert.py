"""`dstress convert`."""

from __future__ import annotations

from pathlib import Path

import click

from dstress.cli.output import console
from dstress.cli.progress import waiting
from dstress.pipeline.convert import convert


@click.command("convert")
@click.argument("predictions", type=click.Path(exists=True))
@click.option("--to", default="dstress", show_default=True, metavar="FORMAT", help="the format to write")
@click.option("--gold", metavar="CORPUS:SPLIT", help="spell slots as this corpus does, and add its gold states")
@click.option("--format", "format_", default="", help="the file's format, if it cannot be found by itself")
@click.option("--out", required=True, type=click.Path(path_type=Path), metavar="FILE", help="the file to write")
def command(predictions: str, to: str, gold: str | None, format_: str, out: Path) -> None:
    """Write a prediction file in another format. Whole or not at all; what the format cannot hold is left out.

    \b
    Examples
      dstress convert running_log.json --out predictions.jsonl
      dstress convert preds.jsonl --to trade --gold multiwoz21:test --out all_prediction.json
      dstress convert dialogues/ --to csv --out answers.csv
    """
    with waiting("converting"):
        turns = convert(predictions, out, to, gold, format_)
    console().print(f"{turns:,} turns written to {out}")
