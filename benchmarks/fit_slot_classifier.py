"""Fit the slot classifier `encoder` on a machine with a GPU, from a file of data that another machine has made.

    python -m benchmarks.fit_slot_classifier write --train mwz21-trade:train --dev mwz21-trade:dev FILE
    python -m benchmarks.fit_slot_classifier fit --data FILE --backbone FOLDER --out FOLDER

`write` makes the data file. `fit` needs no corpus, and leaves a folder for `encoder(folder=...)`. It prints precision
and recall on dev, and on dev with values that training lacks.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from dstress.learning.base import Session

HELD = 25
"""Every so many dialogues one is held out of training, to set the threshold on."""


def write(args: argparse.Namespace) -> None:
    from random import Random

    import dstress
    from dstress.stressors.generators.classifiers.examples import (
        Labelled,
        label_columns,
        label_turns,
        training_examples,
    )
    from dstress.stressors.generators.classifiers.unseen_values import UnseenValues

    train = training_examples(dstress.load(args.train))
    slots = sorted({slot for example in train for slot in (*example.slots, *example.offers)})
    unseen, random = UnseenValues(train), Random(args.seed)

    def packed(examples: list[Labelled], others: list[list[str]]) -> list[list[Any]]:
        """A turn: system, user, label, unsure, the update as it is, other words for the user's."""
        dialogues: list[list[Any]] = []
        for example, other in zip(examples, others, strict=True):
            exchange, update = example.exchange, [slots.index(slot) for slot in example.added if slot in slots]
            if not exchange.history:
                dialogues.append([])
            others_left = [one for one in other if one != exchange.user]
            known = [*label_columns(example, slots), update]
            dialogues[-1].append([exchange.system, exchange.user, *known, others_left])
        return dialogues

    dev, stressed = (
        list(label_turns(corpus)) for corpus in (dstress.load(args.dev), dstress.stress(args.dev, "values"))
    )
    data = {
        "slots": slots,
        "train": packed(train, [sorted({unseen.rewrite_utterance(one, random) for _ in range(3)}) for one in train]),
        "dev": packed(
            dev, [[two.exchange.user] * (one.slots == two.slots) for one, two in zip(dev, stressed, strict=True)]
        ),
    }
    with gzip.open(args.file, "wt", encoding="utf-8") as stream:
        json.dump(data, stream)


def fit(args: argparse.Namespace) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    from dstress.stressors.generators.classifiers import encoder_network
    from dstress.stressors.generators.classifiers.examples import break_even

    with gzip.open(args.data, "rt", encoding="utf-8") as stream:
        data = json.load(stream)
    slots, train = data["slots"], data["train"][: args.dialogues]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    print(f"torch {torch.__version__} on {device}; {len(train)} dialogues", flush=True)
    tokenizer = AutoTokenizer.from_pretrained(args.backbone, local_files_only=True)
    backbone = AutoModel.from_pretrained(args.backbone, local_files_only=True).float()
    torch.manual_seed(args.seed)
    network = encoder_network.Network(backbone, 2 * len(slots)).to(device)
    held = list(_lessons(train[::HELD]))
    lessons = [lesson for lesson, _ in _lessons([one for at, one in enumerate(train) if at % HELD])]
    chosen = {name: getattr(args, name) for name in ("epochs", "batch", "rate", "seed")}
    options = msgspec.structs.replace(encoder_network.OPTIONS, **chosen)
    session = Session(seconds=args.seconds, say=lambda text: print(text, flush=True))
    encoder_network.fit(network, tokenizer, lessons, [lesson for lesson, _ in held], options, session)

    tokens = encoder_network.ExchangeTokenizer(tokenizer)

    def judged(found: list[Any]) -> NDArray[np.float32]:
        exchanges = [(one.history, one.system, one.user) for one, _ in found]
        logits: NDArray[np.float32] = encoder_network.compute_logits(
            network, tokens, exchanges, 256 if device == "cuda" else 1
        )
        return logits

    logits, (spoken, offered, unsure, _) = judged(held), _wanted(held, len(slots))
    thresholds = [
        break_even(logits[:, : len(slots)], spoken, 1 - unsure),
        break_even(logits[:, len(slots) :], offered, np.ones_like(offered)),
    ]
    dev = list(_lessons(data["dev"][: args.dialogues]))
    figures: dict[str, Any] = {}
    Path(args.out).mkdir(parents=True, exist_ok=True)
    kept: dict[str, Any] = {}
    sets = {"held out": held, "dev": dev, "changed": [one for one in dev if one[0].others]}
    sets["changed, new values"] = [(one._replace(user=one.others[0]), update) for one, update in sets["changed"]]
    for name, found in sets.items():
        logits = judged(found)
        kept[name.replace(", ", "_").replace(" ", "_")] = logits.astype(np.float16)
        for cut in (thresholds, [0.0, 0.0]):
            for kind, (precision, recall) in _figures(logits, _wanted(found, len(slots)), cut).items():
                figures[f"{name}, {kind} at {cut[0]:.2f}"] = [precision, recall]
                print(f"{name:<20} {kind:<22} from {cut[0]:6.3f}: {precision:.2%} {recall:.2%}", flush=True)
    np.savez_compressed(Path(args.out) / "logits.npz", **kept)
    notes = {"slots": slots, "thresholds": thresholds, "figures": figures, "recipe": msgspec.to_builtins(options)}
    encoder_network.save(network, Path(args.out), notes)
    print(f"{args.out}: {(Path(args.out) / encoder_network.WEIGHTS).stat().st_size:,} bytes", flush=True)


def _lessons(dialogues: list[list[Any]]) -> Iterator[tuple[Any, list[int]]]:
    """Lessons, each with the slots of the update."""
    from dstress.stressors.generators.classifiers.encoder_network import TrainingExample

    for turns in dialogues:
        history: tuple[str, ...] = ()
        for system, user, label, unsure, update, others in turns:
            yield TrainingExample(history, system, user, others, label, unsure), update
            history += tuple(filter(None, (system, user)))


def _wanted(found: list[tuple[Any, list[int]]], slots: int) -> tuple[NDArray[np.float32], ...]:
    """What the user speaks about, offers taken up, what is unsure, and the update."""
    tables = np.zeros((4, len(found), slots), np.float32)
    for at, (lesson, update) in enumerate(found):
        tables[0, at, [column for column in lesson.label if column < slots]] = 1
        tables[1, at, [column - slots for column in lesson.label if column >= slots]] = 1
        tables[2, at, lesson.unsure] = 1
        tables[3, at, update] = 1
    return tuple(tables)


def _figures(
    logits: NDArray[np.float32], tables: tuple[NDArray[np.float32], ...], cut: list[float]
) -> dict[str, tuple[float, float]]:
    """Precision and recall beside each label."""
    (spoken, offered, unsure, update), slots = tables, logits.shape[1] // 2
    said, taken = logits[:, :slots] >= cut[0], logits[:, slots:] >= cut[1]
    return {
        "spoken": _agreement(said & (unsure == 0), spoken),
        "spoken, strict": _agreement(said, spoken),
        "spoken or offered": _agreement((said | taken) & (unsure == 0), np.maximum(spoken, offered)),
        "update, spoken": _agreement(said, update),
        "update, both": _agreement(said | taken, update),
    }


def _agreement(said: NDArray[np.bool_], wanted: NDArray[np.float32]) -> tuple[float, float]:
    right = float(wanted[said].sum())
    return right / max(1, int(said.sum())), right / max(1.0, float(wanted.sum()))


def run() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    writer = verbs.add_parser("write")
    writer.add_argument("file", type=Path)
    writer.add_argument("--train", default="mwz21-trade:train")
    writer.add_argument("--dev", default="mwz21-trade:dev")
    writer.add_argument("--seed", type=int, default=7)
    writer.set_defaults(run=write)
    fitter = verbs.add_parser("fit")
    for name in ("data", "backbone", "out"):
        fitter.add_argument(f"--{name}", type=Path, required=True)
    fitter.add_argument("--epochs", type=int, default=6)
    fitter.add_argument("--batch", type=int, default=32)
    fitter.add_argument("--rate", type=float, default=2e-4)
    fitter.add_argument("--seconds", type=float, default=float("inf"))
    fitter.add_argument("--seed", type=int, default=1)
    fitter.add_argument("--dialogues", type=int, default=None, help="so many only, to try it out")
    fitter.set_defaults(run=fit)
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    run()
