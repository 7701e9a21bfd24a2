"""`dstress corpora few-shot`."""

from __future__ import annotations

from collections.abc import Iterable

import click

from dstress.cli.output import SEEDS, console, json_option, make_table, print_notes, write_json
from dstress.cli.progress import waiting
from dstress.corpora import few_shot
from dstress.corpora.few_shot import DEV, MOST_DRAWS, TEST, TRAIN, Pool
from dstress.corpora.store import Manifest
from dstress.errors import CorpusError


@click.command("few-shot")
@click.argument("corpus")
@click.option("--domains", default="", metavar="A,B", help="single-domain dialogues of these, from all splits")
@click.option("--leave-one-out", is_flag=True, help="a task for each domain, which training does not have")
@click.option("--train", default="", metavar="N[%]|N,N", help="training dialogues; of each domain with --domains")
@click.option("--dev", default="", metavar="N[%]|N,N", help="the same for dev")
@click.option("--test", default="", metavar="N[%]|N,N", help="the same for test")
@click.option("--shots", default="0", metavar="N[%]", help="with --leave-one-out: dialogues of the domain left out")
@click.option("--draws", type=click.IntRange(1, MOST_DRAWS), default=1, show_default=True, help="so many such tasks")
@click.option("--seed", type=SEEDS, default=1, show_default=True, help="seed of the first draw; the next count up")
@click.option("--name", default="", metavar="NAME", help="what the new corpus is called; default: CORPUS-few-shot")
@json_option
def command(
    corpus: str,
    domains: str,
    leave_one_out: bool,
    train: str,
    dev: str,
    test: str,
    shots: str,
    draws: int,
    seed: int,
    name: str,
    json_file: str | None,
) -> None:
    """Draw a few-shot task from a corpus; it is a corpus like any other, with its rule and its ids stored.

    With --domains, from the dialogues that are about one domain only (RADDLE, CheckDST). With --leave-one-out, training
    without a domain, which then is tested (NAME/DOMAIN). With neither, some of the training dialogues, whatever they
    are about. --draws 5 makes NAME/d1 to NAME/d5; `dstress score` gives their mean and spread.

    \b
    Examples
      dstress corpora few-shot multiwoz21 --domains attraction,train,hotel,restaurant --train 50 --test 100,200,200,200
      dstress corpora few-shot multiwoz21 --domains taxi,hotel --train 50 --dev 50 --test 200 --draws 5
      dstress corpora few-shot multiwoz21 --leave-one-out --shots 5% --draws 5
      dstress corpora few-shot reminder --train 50
    """
    chosen = list(dict.fromkeys(domain.strip() for domain in domains.split(",") if domain.strip()))
    if leave_one_out and (train or dev):
        raise click.UsageError("--leave-one-out trains on all that is left; --shots are those of the domain left out")
    if shots != "0" and not leave_one_out:
        raise click.UsageError("--shots goes with --leave-one-out; --train has the number otherwise")
    if leave_one_out and draws > 1 and shots == "0":
        raise click.UsageError("without --shots there is nothing to draw")
    if not leave_one_out and not (train and (test or not chosen)):
        raise click.UsageError("give --train, and with --domains also --test")
    name = name or f"{corpus.replace('/', '-')}-{'leave-one-out' if leave_one_out else 'few-shot'}"
    sizes = {split: size for split, size in ((TRAIN, train), (DEV, dev), (TEST, test)) if size}
    each = {split: _each(split, size, len(chosen)) for split, size in sizes.items()} if chosen else {}
    with waiting("drawing"):
        pool = Pool(corpus, seed)
        if leave_one_out:
            made = [
                few_shot.store_left_out(pool, f"{name}/{domain}", domain, shots, test, draws)
                for domain in chosen or pool.transferable()
            ]
        else:
            made = []
            for draw in range(draws):
                pool.reseed(seed + draw)
                drawn = f"{name}/d{draw + 1}" if draws > 1 else name
                if chosen:
                    made.append(few_shot.store_single_domain(pool, drawn, chosen, each))
                else:
                    made.append(few_shot.store_k_shot(pool, drawn, sizes))
    if json_file:
        write_json({manifest.name: manifest.selection for manifest in made}, json_file)
        return
    _print(made)


def _each(split: str, text: str, domains: int) -> list[int]:
    """`50`, for all domains, or `100,200,200`, one for each."""
    numbers = [number.strip() for number in text.split(",")]
    if not all(number.isascii() and number.isdigit() for number in numbers):
        raise CorpusError(f"--{split} {text} is no list of sizes", fix="write 50, or 100,200,200: one for each domain")
    if len(numbers) not in (1, domains):
        raise CorpusError(
            f"--{split} {text} has {len(numbers)} sizes for {domains} domains", fix="give one, or one each"
        )
    return [int(number) for number in numbers] * (domains if len(numbers) == 1 else 1)


def _print(made: list[Manifest]) -> None:
    table = make_table("corpus", "split", "#dialogues", "#user turns")
    for manifest in made:
        for split, counts in manifest.splits.items():
            table.add_row(manifest.name, split, f"{counts.dialogues:,}", f"{counts.turns:,}")
    console().print(table)
    print_selections(made)


def print_selections(manifests: Iterable[Manifest]) -> None:
    """The rules by which corpora were drawn, and what these could not give."""
    drawn = [manifest.selection for manifest in manifests if manifest.selection]
    for rule in dict.fromkeys(selection.rule for selection in drawn):
        console().print(f"rule: {rule}", markup=False)
    print_notes(dict.fromkeys(note for selection in drawn for note in selection.notes))
