"""Try stressors on one turn, of a corpus or typed by a person: what each makes of it, seed by seed, and why it stayed.

A turn of a corpus is stressed within its whole dialogue, so that the words are those that `dstress stress` writes. A
turn with another text or label ends its dialogue, since what follows would no longer fit.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import msgspec

from dstress.corpora.base import Corpus
from dstress.dialogue import Dialogue, Frame, Schema, State, Stress, Turn, service_of
from dstress.errors import DstressError, MissingExtraError, unknown
from dstress.pipeline.stress import StressedCorpus, stress
from dstress.registry import Registry
from dstress.reports.small_page import Part, mark_edits
from dstress.stressors import stressors
from dstress.stressors.base import Stressor
from dstress.text.mentions import Mention, find_mentions
from dstress.text.schema_distance import SlotChange, changed_slots

_KEPT = 64
"""Prepared stressors in memory."""
_FORMS = " | "
_NEED_A_FILE = ("released", "rewrites")
"""Stressors that do nothing without a file or a released set."""


class Scene(NamedTuple):
    """What is stressed: a dialogue, and the turn of it that is looked at."""

    dialogue: Dialogue
    turn: int

    @property
    def original(self) -> Turn:
        """The turn that is looked at."""
        return self.dialogue.turns[self.turn]

    @property
    def before(self) -> State:
        """The label before the turn."""
        return self.dialogue.turns[self.turn - 1].state if self.turn else {}

    @property
    def mentions(self) -> list[Mention]:
        """The values of the label that the user says in the turn."""
        return find_mentions(self.original, self.before)

    def write(self, user: str, system: str, state: State) -> Scene:
        """The scene with another text or label in its turn; the same scene, where they are its own."""
        turn, before = self.original, self.before
        if (user, system, state) == (turn.user, turn.system, turn.state):
            return self
        services = tuple(dict.fromkeys([*map(service_of, state), *self.dialogue.services]))
        about = dict.fromkeys(service_of(slot) for slot, forms in state.items() if before.get(slot) != forms)
        frames = tuple(Frame(service) for service in about) or tuple(Frame(each.service) for each in turn.frames)
        written = Turn(user, system, state, frames)
        cut = self.dialogue.first(self.turn + 1)
        dialogue = msgspec.structs.replace(cut, turns=(*cut.turns[:-1], written), services=services, goal=None)
        return Scene(dialogue, self.turn)


class Change(NamedTuple):
    """A slot of the label, before and after; empty is "not there"."""

    slot: str
    before: str
    after: str


class Made(NamedTuple):
    """What a stressor makes of the turn with some seeds, which all give the same."""

    seeds: tuple[int, ...]
    user: list[Part]
    system: list[Part]
    """Empty where the system's utterance stays."""
    label: list[Change]
    schema: list[SlotChange]
    """Slots of the dialogue's services that have other names or descriptions."""
    services: list[str]
    """Services that were added to the schema."""
    earlier: int
    """How many earlier turns changed too."""
    tags: tuple[str, ...]
    reason: str
    """Why the turn was left alone; empty where it was not."""


class Tried(NamedTuple):
    """One stressor's results; where there are none, why not and what to do about it."""

    spec: str
    effect: str = ""
    made: Sequence[Made] = ()
    problem: str = ""
    fix: str = ""
    is_missing: bool = False
    """Whether an optional part is not installed."""


class Playground:
    """A corpus to try stressors on. Each is prepared once and kept; use it in one thread at a time."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self._prepared: OrderedDict[str, StressedCorpus | DstressError] = OrderedDict()

    def find(self, id: str) -> Dialogue:
        """A dialogue of the corpus; the first, if no id is given."""
        dialogue = next((dialogue for dialogue in self.corpus if id in ("", dialogue.id)), None)
        if dialogue is None:
            raise unknown("dialogue", id, self.ids(), where=f"{self.corpus.name}:{self.corpus.split}")
        return dialogue

    def ids(self, most: int = 2000) -> list[str]:
        """The ids of the first dialogues."""
        return [dialogue.id for dialogue in islice(self.corpus, most)]

    def try_out(self, spec: str, scene: Scene, seeds: Iterable[int]) -> Tried:
        """What a stressor makes of a scene with each seed. A problem of the stressor's own is a part of the answer."""
        prepared = self._prepare(spec)
        if isinstance(prepared, DstressError):
            missing = isinstance(prepared, MissingExtraError)
            return Tried(spec, problem=prepared.problem, fix=prepared.fix, is_missing=missing)
        stressor, made = prepared.stressor, dict[bytes, Made]()
        try:
            for seed in seeds:
                [dialogue] = stressor.stress([scene.dialogue], seed)
                schema = stressor.schema_of(self.corpus.schema, seed)
                outcome = _compare(scene, dialogue, self.corpus.schema, schema, seed)
                key = msgspec.json.encode(outcome[1:])
                made[key] = outcome._replace(seeds=(*made[key].seeds, seed)) if key in made else outcome
        except DstressError as error:
            return Tried(str(stressor.spec), stressor.effect, problem=error.problem, fix=error.fix)
        effect = "schema" if all(part.scope == "schema" for part in stressor.parts) else stressor.effect
        return Tried(stressor.spec, effect, tuple(made.values()))

    def _prepare(self, spec: str) -> StressedCorpus | DstressError:
        if spec in self._prepared:
            self._prepared.move_to_end(spec)
            return self._prepared[spec]
        try:
            prepared: StressedCorpus | DstressError = stress(self.corpus, spec)
        except DstressError as error:
            prepared = error
        self._prepared[spec] = prepared
        while len(self._prepared) > _KEPT:
            self._prepared.popitem(last=False)
        return prepared


def _compare(scene: Scene, dialogue: Dialogue, before: Schema, after: Schema, seed: int) -> Made:
    """What became of a scene with one seed."""
    turn = dialogue.turns[scene.turn]
    stress = turn.stress or Stress(turn)
    slots, services = list[SlotChange](), list[str]()
    if before != after and len(before.slots) == len(after.slots):
        about = {*scene.dialogue.services, *map(service_of, scene.original.state)}
        slots = [change for change in changed_slots(before, after) if service_of(change.before) in about]
    elif before != after:  # with more services places no longer tell which slot is which
        services = [service.name for service in after.services if service.name not in before.by_name]
    earlier = (each.stress for each in dialogue.turns[: scene.turn])
    reason = ""
    if not (turn.changed or slots or services):
        reason = "; ".join(dict.fromkeys(stress.fallbacks)) or "it found nothing to change here"
    return Made(
        (seed,),
        mark_edits(stress.original.user, stress.edits),
        mark_edits(stress.original.system, stress.system_edits) if stress.system_edits else [],
        list(_label_changes(stress.original.state, turn.state)),
        slots,
        services,
        sum(bool(each and not each.alone and (each.edits or each.system_edits)) for each in earlier),
        (*stress.tags, *(["other tools"] if stress.tools else [])),
        reason,
    )


def _label_changes(before: State, after: State) -> Iterator[Change]:
    for slot in dict.fromkeys([*before, *after]):
        old, new = before.get(slot, ()), after.get(slot, ())
        # The preferred forms, but where only other accepted forms were added.
        most = None if old[:1] == new[:1] else 1
        if old != new:
            yield Change(slot, _FORMS.join(old[:most]), _FORMS.join(new[:most]))


def read_state(text: str, schema: Schema) -> State:
    """A label as people type it: a line for each slot, `hotel-area = north`; accepted forms between `|`."""
    state: State = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        slot, sign, value = line.partition("=")
        forms = tuple(form for part in value.split("|") if (form := " ".join(part.split())))
        if not (sign and forms):
            problem = f"{line.strip()!r} is no slot with a value"
            raise DstressError(problem, where=f"label, line {number}", fix="write it like hotel-area = north")
        if slot.strip() not in schema.slots:
            raise unknown("slot", slot.strip(), schema.slots, where=f"label, line {number}")
        state[slot.strip()] = forms
    return state


def write_state(state: State) -> str:
    """A label as `read_state` reads it."""
    return "\n".join(f"{slot} = {_FORMS.join(forms)}" for slot, forms in state.items())


class Argument(NamedTuple):
    """An argument of a stressor: its default as a spec writes it, and the values that it takes if they are few."""

    name: str
    default: str
    choices: tuple[str, ...] = ()


class Offered(NamedTuple):
    """A stressor of the list: what it is, and what a person may set."""

    name: str
    summary: str
    effect: str
    scope: str
    arguments: tuple[Argument, ...]
    heavy: bool = False
    problem: str = ""


def offer(registry: Registry[Stressor] = stressors) -> dict[str, Offered]:
    """Every stressor, built in or plugged in: first those that keep the label, last those that take long or need files.

    A plug-in that cannot be imported says so.
    """
    offered = {}
    for name in registry:
        try:
            component, choices = registry.get(name), registry.choices(name)
            arguments = registry.arguments(name)
        except DstressError as error:
            offered[name] = Offered(name, "", "", "", (), problem=error.problem)
            continue
        settings = tuple(Argument(each, default, choices.get(each, ())) for each, default in arguments.items())
        effect = "schema" if component.scope == "schema" else component.effect
        kind = (effect, component.scope, settings, component.heavy)
        offered[name] = Offered(name, registry.summary(name), *kind)
    order = ("invariant", "directional", "schema", "")

    def rank(stressor: Offered) -> tuple[bool, bool, int, str]:
        return stressor.heavy, stressor.name in _NEED_A_FILE, order.index(stressor.effect), stressor.name

    return {stressor.name: stressor for stressor in sorted(offered.values(), key=rank)}


def write_spec(offered: Offered, settings: Mapping[str, str]) -> str:
    """The spec of a stressor with some arguments set, in the fewest words."""
    arguments = [f"{name}={value}" for name, value in settings.items() if value.strip()]
    return str(stressors.shortest(f"{offered.name}({', '.join(arguments)})")) if arguments else offered.name
