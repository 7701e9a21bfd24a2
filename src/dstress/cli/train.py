"""`dstress train`: fit the parts that need weights, from a corpus's training split."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from typing import Any

import click

from dstress.cli.output import SEEDS, console, json_option, write_json
from dstress.cli.progress import counting
from dstress.cli.stress import engine_for
from dstress.generators.network import FAMILY as UTTERANCES
from dstress.learning.base import Session
from dstress.learning.devices import require_torch
from dstress.learning.recipe import LOWER_IS_BETTER, read_recipe

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


class _Duration(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """`90s`, `20m`, `1.5h`: a time in seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", str(value))
        return float(found[1]) * _UNITS[found[2]] if found else self.fail(f"{value!r} is no time; 20m is", param, ctx)


@click.command("train")
@click.argument("recipe")
@click.argument("corpus", metavar="[CORPUS:SPLIT]", required=False)
@click.option("--dev", metavar="CORPUS:SPLIT", help="what the best checkpoint is chosen by")
@click.option("--out", required=True, type=click.Path(path_type=Path), metavar="DIR", help="the folder to be written")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="training.epochs=2, model.width=64 ...")
@click.option("--seed", type=SEEDS, help="the same as --set training.seed=N")
@click.option("--device", default="", help="cpu, cuda, cuda:1 ...; default: a GPU where there is one")
@click.option("--time-budget", type=_Duration(), metavar="TIME", help="end after 20m, 90s, 1h, with the best so far")
@click.option("--workers", type=click.IntRange(0, 1024), default=0, help="processes that augment the training data")
@click.option("--resume", is_flag=True, help="go on with the training in --out")
@json_option
def command(
    recipe: str,
    corpus: str | None,
    dev: str | None,
    out: Path,
    settings: tuple[str, ...],
    seed: int | None,
    device: str,
    time_budget: float | None,
    workers: int,
    resume: bool,
    json_file: str | None,
) -> None:
    """Train a tracker by a RECIPE: a TOML file, or one that comes along, such as copy-reminder.

    CORPUS and --dev stand in for the corpora that the recipe names. What is trained is then a tracker: copy(path=DIR).
    The recipe `utterances` trains the network of counterfactual(generator=seq2seq(folder=DIR)), from scratch, or with
    --set model.checkpoint=NAME from any Hugging Face sequence-to-sequence checkpoint.

    \b
    Examples
      dstress train copy-reminder --out trained
      dstress train copy-multiwoz --out trained --device cuda --time-budget 20m --seed 2
      dstress train copy-multiwoz augmented --out trained --set training.epochs=10
      dstress train utterances mwz21-trade:train --dev mwz21-trade:dev --out said
    """
    require_torch("training")
    from dstress.pipeline.train import train

    changes = [*settings, *([f"training.seed={seed}"] if seed is not None else [])]
    changes += [f"{name}={value}" for name, value in (("train", corpus), ("dev", dev)) if value]
    read = read_recipe(recipe, changes)
    with counting() as show:

        def on_progress(label: str, done: int, total: int | None) -> None:
            show(label if sys.stderr.isatty() else label.partition(":")[0], done, total)  # a pipe has lines enough

        seconds = math.inf if time_budget is None else time_budget
        session = Session(device, seconds, on_progress, lambda line: click.echo(line, err=True))
        engine = engine_for(read.augment.stressors, workers) if read.augment else None
        result = train(read, out, session, resume=resume, engine=engine)
    if json_file:
        write_json(result, json_file)
        return
    best, metric = result["best"], read.training.metric
    value = f"{best[metric]:.4f}" if metric in LOWER_IS_BETTER else f"{best[metric]:.2%}"
    then = f'go on with start = "{out}"' if read.prefinetune else f"track with {read.family}(path={out})"
    if read.family == UTTERANCES:
        then = f"stress with counterfactual(generator=seq2seq(folder={out}))"
    console().print(f"dev {metric} {value} after step {best['step']:,}; {then}", markup=False)
