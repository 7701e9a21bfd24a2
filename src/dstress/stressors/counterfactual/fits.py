"""What is learned from a training corpus is learned once, however many stressors of a run want it."""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from itertools import islice
from typing import TypeVar

import msgspec

from dstress.generators.base import Generator
from dstress.generators.classifiers.base import SlotClassifier
from dstress.resources import Material, Resources

_KEPT = 4
_GLANCED = 50
"""Dialogues of the corpus at hand that tell its way of writing."""

_fitted: OrderedDict[str, Generator | SlotClassifier] = OrderedDict()

Part = TypeVar("Part", Generator, SlotClassifier)


def fit_once(part: Part, resources: Resources, train: Material) -> Part:
    """The part, prepared; one with the same arguments that has learned from the same dialogues is used again."""
    arguments = sorted((name, repr(value)) for name, value in vars(part).items() if not name.startswith("_"))
    name = f"{type(part).__module__}.{type(part).__qualname__}\x1f{arguments!r}"
    digest = blake2b(name.encode(), digest_size=16)
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
    known = _fitted[key]
    if not isinstance(known, type(part)):  # the key has its type, so this never happens
        raise TypeError(f"{known!r} is no {type(part).__name__}")
    return known
