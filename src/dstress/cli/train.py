"""`dstress train`: fit the parts that need weights, from a corpus's training split."""

from __future__ import annotations

import math
import re
import sys
from pathlib import Path
from typing import Any

import click

from dstress.cli.names import CORPUS
from dstress.cli.options import PATH, SEEDS, argument, option, verb
from dstress.cli.output import OutputFiles, console, json_option
from dstress.cli.progress import counting
from dstress.cli.stress import engine_for
from dstress.learning.base import Session
from dstress.learning.devices import require_torch
from dstress.learning.recipe import LOWER_IS_BETTER, read_recipe
from dstress.stressors.generators.learned import FAMILY as UTTERANCES

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


class _Duration(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """`90s`, `20m`, `1.5h`: a time in seconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", str(value))
        return float(match[1]) * _UNITS[match[2]] if match else self.fail(f"{value!r} is no time; 20m is", param, ctx)


@verb("train")
def command(
    recipe: str = argument(),
    corpus: str | None = argument(type=CORPUS, metavar="[CORPUS:SPLIT]", required=False),
    dev: str | None = option(
        type=CORPUS, metavar="CORPUS:SPLIT", help="development data that select the best checkpoint"
    ),
    out: Path = option(required=True, type=PATH, metavar="DIR", help="the folder to write"),
    settings: tuple[str, ...] = option(
        "--set", multiple=True, metavar="NAME=VALUE", help="change a setting: training.epochs=2, model.width=64 ..."
    ),
    seed: int | None = option(type=SEEDS, help="the same as --set training.seed=N"),
    device: str = option(default="", help="cpu, cuda, cuda:1 ...; default: a GPU if available"),
    time_budget: float | None = option(
        type=_Duration(), metavar="TIME", help="stop after 20m, 90s, 1h and keep the best checkpoint"
    ),
    workers: int = option(
        type=click.IntRange(0, 1024), default=0, help="worker processes that augment the training data"
    ),
    resume: bool = option(is_flag=True, help="resume the training in --out"),
    files: OutputFiles = json_option,
) -> None:
    """Train a tracker from a RECIPE: a built-in one, such as copy-reminder, or a TOML file.

    CORPUS and --dev replace the recipe's corpora. The trained tracker is used as copy(path=DIR).
    The recipes `utterances-multiwoz` and `utterances-sgd` train the language model of
    counterfactual(generator=learned(path=DIR)); --set model.checkpoint=NAME starts from another checkpoint.

    \b
    Examples
      dstress train copy-reminder --out trained
      dstress train copy-multiwoz --out trained --device cuda --time-budget 20m --seed 2
      dstress train copy-multiwoz augmented --out trained --set training.epochs=10
      dstress train utterances-multiwoz --out users --set model.checkpoint=model.gguf
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
    if files.write(result):
        return
    best, metric = result["best"], read.training.metric
    value = f"{best[metric]:.4f}" if metric in LOWER_IS_BETTER else f"{best[metric]:.2%}"
    then = f'go on with start = "{out}"' if read.prefinetune else f"track with {read.family}(path={out})"
    if read.family == UTTERANCES:
        then = f"stress with counterfactual(generator=learned(path={out}))"
    console().print(f"dev {metric} {value} after step {best['step']:,}; {then}", markup=False)
