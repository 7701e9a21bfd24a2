"""Translators, for the stressors that say a text again by way of another language."""

from __future__ import annotations

from dstress.registry import Registry
from dstress.translators.base import Translation, Translator

translators = Registry(
    "translator",
    Translator,
    {
        "apertium": "dstress.translators.apertium:Apertium",
        "http": "dstress.translators.http:Http",
        "huggingface": "dstress.translators.huggingface:HuggingFace",
    },
)

__all__ = ["Translation", "Translator", "translators"]
