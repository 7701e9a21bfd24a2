"""`dstress train`: fit the parts that need weights, from a corpus's training split."""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dstress.cli.output import console, json_option, write_json
from dstress.corpora import load
from dstress.errors import DstressError, MissingExtraError, unknown

if TYPE_CHECKING:
    from dstress.generators.network.training import TrainingOptions


@click.command("train")
@click.argument("recipe", type=click.Choice(["utterances"]))
@click.argument("corpus", metavar="CORPUS:SPLIT")
@click.option("--dev", required=True, metavar="CORPUS:SPLIT", help="what the best epoch is chosen by")
@click.option("--out", required=True, type=click.Path(path_type=Path), metavar="DIR", help="the folder to be written")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="epochs, width, model ...; see the docs")
@json_option
def command(recipe: str, corpus: str, dev: str, out: Path, settings: tuple[str, ...], json_file: str | None) -> None:
    """Train a RECIPE on a corpus: `utterances` is the network of counterfactual(generator=seq2seq(folder=DIR)).

    From scratch on the corpus's own words, or with --set model=NAME from any Hugging Face sequence-to-sequence
    checkpoint. Minutes on a GPU; hours without one.

    \b
    Examples
      dstress train utterances mwz21-trade:train --dev mwz21-trade:dev --out said
      dstress train utterances reminder:train --dev reminder:dev --out said --set epochs=4 --set width=64
    """
    if find_spec("torch") is None:
        raise MissingExtraError("training needs torch", fix="pip install 'dstress[models]'")
    from dstress.generators.network.examples import write_examples
    from dstress.generators.network.training import fit, read_data

    options = _training_options(settings)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "examples.jsonl.gz")
        write_examples(load(corpus), load(dev), path, {"train": corpus, "dev": dev})
        examples, chosen_by, about = read_data(path)
        config = fit(examples, chosen_by, out, options, about, lambda line: click.echo(line, err=True))
    if json_file:
        write_json(config, json_file)
        return
    best = config["best"]
    console().print(f"dev perplexity {best['dev_perplexity']:.3f} after epoch {best['epoch']}; written to {out}")


def _training_options(settings: tuple[str, ...]) -> TrainingOptions:
    """The recipe's options, from `name=value`."""
    import msgspec

    from dstress.generators.network.training import TrainingOptions

    values = {name: value for name, _, value in (text.partition("=") for text in settings)}
    known = list(TrainingOptions.__dataclass_fields__)
    if wrong := next((name for name in values if name not in known), None):
        raise unknown("setting", wrong, known)
    try:
        return msgspec.convert(values, TrainingOptions, strict=False)
    except msgspec.ValidationError as error:
        raise DstressError(f"--set: {error}") from None
