"""Translators, for the stressors that say a text again by way of another language."""

from __future__ import annotations

from dstress.registry import Registry
from dstress.stressors.translators.base import Translation, Translator

translators = Registry(
    "translator",
    Translator,
    {
        "apertium": "dstress.stressors.translators.apertium:Apertium",
        "http": "dstress.stressors.translators.http:Http",
        "huggingface": "dstress.stressors.translators.huggingface:HuggingFace",
    },
)

__all__ = ["Translation", "Translator", "translators"]
