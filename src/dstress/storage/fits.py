"""What was learned from a corpus, on disk: the next call reads it in place of learning it again.

A fit is typed data, never code: MessagePack with its checksum in front. One that is damaged, or cannot be read as its
type, is made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

import msgspec
import numpy as np

from dstress.storage.atomic import replacing
from dstress.storage.source_hash import hash_source

_SUM = 16
"""Bytes of a checksum."""

Fit = TypeVar("Fit")


def load_or_fit(folder: Path, learner: type, material: Iterable[Any], kind: type[Fit], fit: Callable[[], Fit]) -> Fit:
    """What a class learns from some material: as an earlier call left it in `folder`, or else from `fit`.

    The file is named after the class's own source and the material, so that what they give is always theirs. An empty
    path is no folder: nothing is kept.
    """
    if folder == Path():
        return fit()
    name = blake2b(hash_source(learner).encode(), digest_size=_SUM)
    for struct in material:
        name.update(msgspec.json.encode(struct))
    path = folder / "fits" / f"{learner.__name__.lower()}-{name.hexdigest()}.msgpack"
    with suppress(OSError, msgspec.DecodeError, ValueError, TypeError):
        content = path.read_bytes()
        if content[:_SUM] == _checksum(content[_SUM:]):
            return msgspec.msgpack.decode(content[_SUM:], type=kind, dec_hook=_read_array)
    made = fit()
    content = msgspec.msgpack.encode(made, enc_hook=_write_array)
    with suppress(OSError), replacing(path) as out:  # a home that cannot be written to costs time, no more
        out.write(_checksum(content) + content)
    return made


def _checksum(content: bytes) -> bytes:
    return blake2b(content, digest_size=_SUM).digest()


def _write_array(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes()
    raise TypeError(f"a fit cannot hold {type(value).__name__}")


def _read_array(kind: Any, value: Any) -> Any:
    """An array of the annotated kind: NDArray[np.float32]."""
    if get_origin(kind) is np.ndarray:
        shape, content = value
        [element] = get_args(get_args(kind)[1])
        return np.frombuffer(content, element).reshape(shape)
    raise TypeError(f"a fit cannot hold {kind}")
