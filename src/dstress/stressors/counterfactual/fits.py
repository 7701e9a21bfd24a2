"""What is learned from a training corpus is learned once, however many stressors of a run want it."""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from itertools import islice
from typing import TypeVar, cast

import msgspec

from dstress.errors import CorpusError
from dstress.resources import Material, Resources
from dstress.stressors.counterfactual.classifier.linear import Linear
from dstress.stressors.generators.base import Generator

_KEPT = 4
_GLANCED = 50  # dialogues of the corpus at hand that tell its way of writing

_fitted: OrderedDict[str, Generator | Linear] = OrderedDict()

Part = TypeVar("Part", Generator, Linear)


def training_corpus(train: str, own: str, learner: str, example: str) -> str:
    """The training corpus: the one that was named, or the stressed corpus's own split."""
    if not (train or own):
        raise CorpusError(
            f"{learner} learns what users say from training data, and this corpus has no training split",
            fix=f"take a corpus with one, or name one of the same services: {example}",
        )
    return train or own


def fit_once(part: Part, resources: Resources, train: Material) -> Part:
    """The part, prepared; one with the same arguments that has learned from the same dialogues is used again."""
    arguments = sorted((name, repr(value)) for name, value in vars(part).items() if not name.startswith("_"))
    name = f"{type(part).__module__}.{type(part).__qualname__}\x1f{arguments!r}"
    digest = blake2b(name.encode(), digest_size=16)
    if isinstance(part, Generator):
        for path in part.files():
            digest.update(path.read_bytes() if path.is_file() else b"")
    # Words for services that training lacks come from the corpus at hand, from all of it.
    glanced = None if resources.schema.by_name.keys() - train.schema.by_name.keys() else _GLANCED
    for structs in ([resources.schema], train, islice(iter(resources.corpus), glanced)):
        for struct in structs:
            digest.update(msgspec.json.encode(struct))
        digest.update(b"\0")
    key = digest.hexdigest()
    if key not in _fitted:
        part.prepare(resources, train)
        _fitted[key] = part
        while len(_fitted) > _KEPT:
            _fitted.popitem(last=False)
    _fitted.move_to_end(key)
    return cast(Part, _fitted[key])  # the key names its type
