"""The stressors room: label-aware transformations that break the input on purpose."""

from __future__ import annotations

from dstress.registry import Registry
from dstress.spec import parse_composition
from dstress.stressors.base import Stressor
from dstress.stressors.composition import Composition

stressors = Registry(
    "stressor",
    Stressor,
    {
        "counterfactual": "dstress.stressors.counterfactual.stressor:Counterfactual",
        "disfluency": "dstress.stressors.disfluency.stressor:Disfluency",
        "distractors": "dstress.stressors.schema.distractors:Distractors",
        "entities": "dstress.stressors.entities.stressor:Entities",
        "indirect": "dstress.stressors.indirect.stressor:Indirect",
        "out_of_domain": "dstress.stressors.out_of_domain.stressor:OutOfDomain",
        "paraphrase": "dstress.stressors.paraphrase.stressor:Paraphrase",
        "phonetic_names": "dstress.stressors.speech.phonetic_names:PhoneticNames",
        "released": "dstress.stressors.released.stressor:Released",
        "rewrites": "dstress.stressors.rewrites:Rewrites",
        "schema_backtranslation": "dstress.stressors.schema.backtranslation:SchemaBacktranslation",
        "schema_noise": "dstress.stressors.schema.noise:SchemaNoise",
        "schema_variant": "dstress.stressors.schema.variant:SchemaVariant",
        "simplification": "dstress.stressors.simplification:Simplification",
        "speech": "dstress.stressors.speech.stressor:Speech",
        "speech_text": "dstress.stressors.speech.stressor:SpeechText",
        "time_format": "dstress.stressors.time_format:TimeFormat",
        "tools": "dstress.stressors.tools:Tools",
        "turnback": "dstress.stressors.turnback:Turnback",
        "typos": "dstress.stressors.typos:Typos",
        "unseen_entities": "dstress.stressors.entities.unseen:UnseenEntities",
        "values": "dstress.stressors.values.stressor:Values",
        "verbosity": "dstress.stressors.verbosity.stressor:Verbosity",
        "word_noise": "dstress.stressors.word_noise:WordNoise",
    },
)


def create(text: str) -> Composition:
    """The stressors that a text such as `typos(rate=0.05)+disfluency` describes, each known by its shortest spec."""
    parts = []
    for spec in parse_composition(text):
        part = stressors.create(spec)
        part.spec = str(stressors.shortest(spec))
        parts.append(part)
    return Composition(parts)


__all__ = ["Composition", "Stressor", "create", "stressors"]
