"""Train the `seq2seq` generator: `python -m dstress.generators.network.training --data FILE --out FOLDER`.

The recipe is CoCo's (E.1): Adam, linear warm-up, the checkpoint of the lowest perplexity on development data. It needs
torch and msgspec and nothing else, so that it runs wherever there is a GPU; `examples.write_examples` makes the file
that it reads.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from random import Random
from typing import Any

import torch

from dstress.errors import DstressError
from dstress.generators.network.backbone import CONFIG, FORMAT, Backbone
from dstress.generators.network.joints import Joiner
from dstress.generators.network.linear_form import Example, read_example
from dstress.generators.network.scratch import Scratch

_POOL = 50
"""Batches that are sorted by length together: little padding, and yet ever other neighbours."""
_STEEPEST = 1.0


@dataclass(frozen=True)
class TrainingOptions:
    """How to train. `model` is a pretrained checkpoint (then 5e-5 is a good `rate`); without one it is from scratch.

    `joined` is the share of examples that another is joined to, for combinations of slots that nobody says.
    """

    model: str = ""
    epochs: int = 20
    batch: int = 128
    rate: float = 8e-4
    warmup: int = 200
    smoothing: float = 0.1
    joined: float = 0.15
    width: int = 256
    layers: int = 4
    heads: int = 4
    dropout: float = 0.2
    seed: int = 1
    device: str = ""

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        if min(self.epochs, self.batch, self.layers, self.heads, self.rate) <= 0 or self.width % (2 * self.heads):
            raise DstressError("epochs, batch, layers, heads and rate are above 0; heads part the width evenly")


def fit(
    train: Sequence[Example],
    dev: Sequence[Example],
    out: Path,
    options: TrainingOptions,
    about: dict[str, Any],
    on_progress: Callable[[str], None],
) -> dict[str, Any]:
    """Train on examples and write the folder `out`, whole or not at all. `about` says what the data are."""
    if not train or not dev:
        raise DstressError("there is nothing to train on, or to choose the best epoch by")
    if out.exists():
        raise DstressError("the folder is there already", where=str(out), fix="give another, or remove it")
    torch.manual_seed(options.seed)
    backbone: Backbone
    if options.model:
        from dstress.generators.network.pretrained import Pretrained

        backbone = Pretrained.fresh(options.model)
    else:
        backbone = Scratch.fresh(train, options.width, options.layers, options.heads, options.dropout)
    device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    backbone.to(device)
    size = sum(weight.numel() for weight in backbone.module.parameters())
    on_progress(f"{len(train):,} examples, {len(dev):,} to choose by, {size:,} weights, on {device}")
    epochs, best = _train(backbone, train, dev, options, on_progress)
    backbone.module.load_state_dict(best)
    slots = sorted({wish.slot for example in train for wish in example.wishes})
    config = {"format": FORMAT, "backbone": backbone.name, "options": asdict(options), "weights": size}
    config |= about | {"slots": slots, "epochs": epochs, "best": min(epochs, key=lambda epoch: epoch["dev_perplexity"])}
    _write(backbone, out, config)
    return config


def _train(
    backbone: Backbone,
    train: Sequence[Example],
    dev: Sequence[Example],
    options: TrainingOptions,
    on_progress: Callable[[str], None],
) -> tuple[list[dict[str, float]], dict[str, Any]]:
    """How every epoch went, and the weights after the best."""
    random, started = Random(options.seed), time.monotonic()
    steps = options.epochs * math.ceil(len(train) / options.batch)
    optimizer = torch.optim.Adam(backbone.module.parameters(), lr=options.rate, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: pace(step, options.warmup, steps))
    epochs: list[dict[str, float]] = []
    best: dict[str, Any] = {}
    for epoch in range(1, options.epochs + 1):
        loss = _train_epoch(backbone, train, options, random, (optimizer, schedule))
        perplexity = perplexity_of(backbone, dev, options.batch)
        seconds = round(time.monotonic() - started, 1)
        if not epochs or perplexity < min(earlier["dev_perplexity"] for earlier in epochs):
            best = {name: weight.detach().cpu().clone() for name, weight in backbone.module.state_dict().items()}
        epochs.append({"epoch": epoch, "train_loss": loss, "dev_perplexity": perplexity, "seconds": seconds})
        on_progress(f"epoch {epoch}: train loss {loss:.4f}, dev perplexity {perplexity:.4f}, {seconds:.0f} s")
    return epochs, best


def _train_epoch(
    backbone: Backbone, train: Sequence[Example], options: TrainingOptions, random: Random, parts: tuple[Any, Any]
) -> float:
    """One pass over the data; the mean loss of a token."""
    optimizer, schedule = parts
    backbone.module.train()
    total, tokens = 0.0, 0
    joiner = Joiner(train) if options.joined else None
    for batch in batches(train, options.batch, random):
        if joiner:
            batch = [joiner.join(each, random) if random.random() < options.joined else each for each in batch]
        with _autocast(backbone):
            loss, count = backbone.loss(batch, random, options.smoothing)
        optimizer.zero_grad(set_to_none=True)
        (loss / count).backward()
        torch.nn.utils.clip_grad_norm_(backbone.module.parameters(), _STEEPEST)
        optimizer.step()
        schedule.step()
        total, tokens = total + loss.detach(), tokens + count
    return round(float(total) / tokens, 4)


def perplexity_of(backbone: Backbone, examples: Sequence[Example], size: int = 128) -> float:
    """The perplexity of the users' words, over all tokens of the backbone."""
    backbone.module.eval()
    total, tokens = 0.0, 0
    with torch.inference_mode(), _autocast(backbone):
        for batch in batches(examples, size):
            loss, count = backbone.loss(batch, None)
            total, tokens = total + float(loss), tokens + count
    return round(math.exp(total / tokens), 4)


def _autocast(backbone: Backbone) -> Any:
    """Half the bits where that is faster."""
    on_gpu = next(backbone.module.parameters()).is_cuda
    return torch.autocast("cuda", torch.bfloat16, enabled=on_gpu)


def pace(step: int, warmup: int, steps: int) -> float:
    """The part of the learning rate at a step: up in a line, then down in a line to nothing."""
    return min(1.0, (step + 1) / max(1, warmup), max(0.0, (steps - step) / max(1, steps - warmup)))


def batches(examples: Sequence[Example], size: int, random: Random | None = None) -> Iterator[list[Example]]:
    """All examples once, those of a length together; in random order if there is randomness."""
    order = list(examples)
    if random is not None:
        random.shuffle(order)
    for at in range(0, len(order), size * _POOL):
        pool = sorted(order[at : at + size * _POOL], key=_length)
        parts = [pool[start : start + size] for start in range(0, len(pool), size)]
        if random is not None:
            random.shuffle(parts)
        yield from parts


def _length(example: Example) -> int:
    return sum(len(part.text) for parts in (example.user, example.system) for part in parts)


def _write(backbone: Backbone, out: Path, config: dict[str, Any]) -> None:
    """The whole folder under another name first: a folder that is there can be used."""
    out.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}."))
    try:
        config |= backbone.save(folder)
        (folder / CONFIG).write_text(json.dumps(config, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        folder.chmod(0o755)
        folder.replace(out)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def read_data(path: Path) -> tuple[list[Example], list[Example], dict[str, Any]]:
    """The examples to train on, those to choose by, and what they are, from a file of `examples.write_examples`."""
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            about = json.loads(next(lines))
            examples = [read_example(line) for line in lines]
        train = about.pop("train_examples")
    except (OSError, EOFError, StopIteration, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DstressError(f"no file of examples: {error}", where=str(path)) from error
    return examples[:train], examples[train:], about


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="examples, as examples.write_examples wrote them")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write; it must not be there yet")
    parser.add_argument("--limit", type=int, default=0, help="only so many examples, to try it out")
    for field in fields(TrainingOptions):
        parser.add_argument(f"--{field.name}", type=type(field.default), default=field.default)
    options = vars(parser.parse_args(arguments))
    train, dev, about = read_data(options.pop("data"))
    out, limit = options.pop("out"), options.pop("limit") or len(train)
    fit(train[:limit], dev[:limit], out, TrainingOptions(**options), about, lambda line: print(line, flush=True))


if __name__ == "__main__":
    main()
