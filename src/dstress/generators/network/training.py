"""How the network of the `seq2seq` generator learns, by CoCo's recipe (E.1): chosen by its perplexity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

from dstress.errors import SpecError
from dstress.generators.network import FAMILY
from dstress.generators.network.backbone import Backbone, Lesson, Options
from dstress.generators.network.joints import Joiner
from dstress.generators.network.linear_form import Example
from dstress.generators.network.pretrained import Pretrained
from dstress.generators.network.scratch import Scratch
from dstress.learning.base import Task
from dstress.learning.checkpoints import write_notes
from dstress.learning.loop import mean_loss
from dstress.learning.recipe import TrainingOptions

PERPLEXITY = "perplexity"


def kind_of(options: Options) -> type[Backbone]:
    """From a checkpoint where the options name one."""
    return Pretrained if options.checkpoint else Scratch


def create_task(
    backbone: Backbone, train: Sequence[Example], dev: Sequence[Example], corpus: str, options: TrainingOptions
) -> Task:
    """What the loop needs: slots are in another order, and other examples joined, at every epoch."""
    if options.metric != PERPLEXITY:
        raise SpecError(f"{FAMILY} are judged by their {PERPLEXITY}", fix=f"set metric = {PERPLEXITY!r} in [training]")
    joiner, share = Joiner(train), backbone.options.joined

    def examples(random: Random) -> list[Lesson]:
        return [
            backbone.encode(joiner.join(example, random) if random.random() < share else example, random)
            for example in train
        ]

    return Task(
        backbone,
        examples,
        lambda: {PERPLEXITY: perplexity_of(backbone, dev, options)},
        lambda folder: write_notes(folder, FAMILY, corpus, backbone.save(folder)),
    )


def perplexity_of(backbone: Backbone, examples: Sequence[Example], options: TrainingOptions) -> float:
    """The perplexity of the users' words, over all tokens of the backbone."""
    return math.exp(mean_loss(backbone, [backbone.encode(example) for example in examples], options))
