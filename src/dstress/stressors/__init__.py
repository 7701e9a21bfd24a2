"""The stressors room: label-aware transformations that break the input on purpose."""

from __future__ import annotations

import inspect

import msgspec

from dstress.errors import unknown
from dstress.registry import Registry
from dstress.spec import ComponentSpec, Value, parse, parse_composition
from dstress.stressors.base import Stressor, TurnStressor
from dstress.stressors.composition import Composition

_SCOPES = ("turn", "dialogue")


class _Stressors(Registry[Stressor]):
    """Every stressor of single turns takes `scope=dialogue` beside the arguments of its own: see `TurnStressor`."""

    def create(self, spec: str | ComponentSpec) -> Stressor:
        """Make the stressor that a spec describes, for the scope that it names."""
        own, scope = self._part_scope(spec)
        made = super().create(own)
        if scope == "dialogue" and isinstance(made, TurnStressor):
            made.widen(str(super().shortest(own)))
        return made

    def shortest(self, spec: str | ComponentSpec) -> ComponentSpec:
        """The same stressor in the fewest words."""
        own, scope = self._part_scope(spec)
        short = super().shortest(own)
        return _with_arguments(short, short.arguments | {"scope": scope}) if scope == "dialogue" else short

    def arguments(self, name: str) -> dict[str, str]:
        """What a spec may say in brackets, the scope last."""
        return super().arguments(name) | ({"scope": "turn"} if self._takes_scope(name) else {})

    def _takes_scope(self, name: str) -> bool:
        made = self.get(name)
        return issubclass(made, TurnStressor) and "scope" not in inspect.signature(made).parameters

    def _part_scope(self, spec: str | ComponentSpec) -> tuple[ComponentSpec, str]:
        """A spec without its scope, and the scope."""
        read = parse(spec) if isinstance(spec, str) else spec
        if "scope" not in read.arguments or not self._takes_scope(read.name):
            return read, "turn"
        scope = str(read.arguments["scope"])
        if scope not in _SCOPES:
            raise unknown(f"scope of {read.name}", scope, _SCOPES)
        return _with_arguments(read, {key: value for key, value in read.arguments.items() if key != "scope"}), scope


def _with_arguments(spec: ComponentSpec, arguments: dict[str, Value]) -> ComponentSpec:
    return msgspec.structs.replace(spec, arguments=arguments)


stressors = _Stressors(
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
        "rewrites": "dstress.stressors.rewrites:Rewrites",
        "schema_backtranslation": "dstress.stressors.schema.backtranslation:SchemaBacktranslation",
        "schema_noise": "dstress.stressors.schema.noise:SchemaNoise",
        "schema_variant": "dstress.stressors.schema.variant:SchemaVariant",
        "simplification": "dstress.stressors.simplification:Simplification",
        "speech": "dstress.stressors.speech.stressor:Speech",
        "speech_text": "dstress.stressors.speech.text_stressor:SpeechText",
        "time_format": "dstress.stressors.time_format:TimeFormat",
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
