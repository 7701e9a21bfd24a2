"""Where a network runs."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from dstress.errors import DstressError, MissingExtraError


def require_torch(what: str) -> None:
    """Say how to install the extra `models` where it is missing."""
    if missing := next((name for name in ("torch", "safetensors") if find_spec(name) is None), None):
        raise MissingExtraError(f"{what} needs {missing}", fix="pip install 'dstress[models]'")


def require_transformers() -> Any:
    """The library itself, which takes seconds to import."""
    try:
        import transformers
    except ImportError as error:
        raise MissingExtraError("this network needs transformers", fix="pip install 'dstress[models]'") from error
    return transformers


def choose_device(name: str) -> str:
    """The device of that name; without a name a GPU where there is one."""
    import torch

    if not name:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(1, device=name)
    except (RuntimeError, AssertionError) as error:
        fix = "give --device cpu, or device=cpu; or install a torch that finds the GPU"
        raise DstressError(f"there is no device {name!r} here: {str(error).splitlines()[0]}", fix=fix) from error
    return name


def describe_device(name: str) -> str:
    """The hardware in words, for records of results."""
    import torch

    if name.startswith("cuda"):
        return str(torch.cuda.get_device_name(name))
    return f"{torch.get_num_threads()} threads of the CPU" if name == "cpu" else name
