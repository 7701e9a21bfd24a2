"""What the playground's page asks for and shows, and the threads that find the answers.

A request waits a moment for every stressor's answer; one that is not ready is marked as such, and asking again finds
it. So no request hangs, however long a stressor takes to be prepared, and answers to the same request are found once.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cached_property, partial
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple

import msgspec

from dstress.corpora import load
from dstress.dialogue import Dialogue
from dstress.errors import DstressError, unknown
from dstress.leaderboard.playground.worker import Worker
from dstress.registry import Registry
from dstress.spec import parse_composition
from dstress.stressors import Stressor, stressors
from dstress.studies.playground import (
    Argument,
    Offered,
    Playground,
    Scene,
    Tried,
    offer,
    read_state,
    write_spec,
    write_state,
)
from dstress.text.tables import read_table

_log = logging.getLogger(__name__)
_KEPT_ANSWERS, _KEPT_DIALOGUES, _MOST_WAITING = 1000, 100, 400
_LONGEST_LABEL, _LONGEST_ID = 5_000, 200
_MOST_SECONDS = 20


class Rules(NamedTuple):
    """What may be asked of a playground. `offered` has the stressors, with bounds for their arguments; None: all."""

    longest: int = 5_000
    """Characters of an utterance."""
    most_seeds: int = 10
    own_specs: bool = True
    """Whether a person may write a spec, which may name any class and any file."""
    offered: Mapping[str, Mapping[str, Sequence[Any]]] | None = None
    seconds: float = 0
    """After which a stressor is ended, which takes a process of its own; 0: never, and in a thread."""


def public_rules() -> Rules:
    """For a page that everybody may use: nothing that reads files, asks other machines or takes long."""
    return Rules(500, 5, own_specs=False, offered=read_table(__package__, "offered.toml"), seconds=_MOST_SECONDS)


class Request(NamedTuple):
    """What a person asks for; texts that are None are the corpus's own. `turn` counts from 1, as people do."""

    corpus: str
    dialogue: str = ""
    turn: int = 1
    user: str | None = None
    system: str | None = None
    label: str | None = None
    seeds: int = 3
    first_seed: int = 1
    spec: str = ""
    heavy: frozenset[str] = frozenset()
    """Stressors that take long, which are run only if they are asked for."""
    settings: Mapping[str, Mapping[str, str]] = {}
    """By stressor, the arguments that a person set."""


class Card(NamedTuple):
    """One stressor on the page. Without an answer it is being prepared, or waits to be asked for."""

    offered: Offered
    spec: str
    settings: Mapping[str, str]
    tried: Tried | None = None
    is_asked: bool = True


class Answer(NamedTuple):
    """What the page shows."""

    request: Request
    scene: Scene | None
    cards: Sequence[Card]
    problem: str = ""
    fix: str = ""

    @property
    def is_waiting(self) -> bool:
        """Whether some stressors have no answer yet."""
        return any(card.is_asked and card.tried is None for card in self.cards)


class Desk:
    """Takes requests and finds answers, in a thread for what is fast and one for what takes long."""

    def __init__(self, corpora: Sequence[str], rules: Rules, registry: Registry[Stressor] = stressors) -> None:
        self.corpora, self.rules, self.registry = tuple(corpora), rules, registry
        self._lanes = {
            name: ThreadPoolExecutor(1, thread_name_prefix=f"playground-{name}") for name in ("fast", "slow")
        }
        self._worker = Worker(rules.seconds) if rules.seconds else None
        self._playgrounds: dict[tuple[str, str], Playground] = {}
        self._answers: OrderedDict[object, Future[Tried]] = OrderedDict()
        self._dialogues: OrderedDict[tuple[str, str], Dialogue] = OrderedDict()
        self._ids: dict[str, list[str]] = {}
        self._lock = Lock()

    @cached_property
    def offered(self) -> dict[str, Offered]:
        """The stressors by name, with the arguments that may be set."""
        available = offer(self.registry)
        if self.rules.offered is None:
            return available
        offered = {}
        for name, bounds in self.rules.offered.items():
            defaults = {argument.name: argument.default for argument in available[name].arguments}
            choices = {each: tuple(bound) if isinstance(bound[0], str) else () for each, bound in bounds.items()}
            arguments = tuple(Argument(each, defaults[each], choices[each]) for each in bounds)
            offered[name] = available[name]._replace(arguments=arguments)
        return offered

    def bounds(self, name: str, argument: str) -> tuple[float, float] | None:
        """The lowest and the highest number that an argument may be, where the rules say so."""
        bound = (self.rules.offered or {}).get(name, {}).get(argument, ())
        return (float(bound[0]), float(bound[1])) if bound and not isinstance(bound[0], str) else None

    def ids(self, corpus: str) -> list[str]:
        """The first dialogues of a corpus, to choose from."""
        if corpus not in self._ids:
            self._ids[corpus] = Playground(load(corpus)).ids()
        return self._ids[corpus]

    def read(self, query: Sequence[tuple[str, str]]) -> Request:
        """A request as an address has it: `typos.rate=0.2` sets an argument."""
        fields = dict(query)
        if fields.get("from", fields.get("corpus")) != fields.get("corpus"):  # a dialogue of the corpus before
            fields |= {"dialogue": "", "turn": ""}
        settings: dict[str, dict[str, str]] = {}
        for key, value in query:
            name, point, argument = key.partition(".")
            if point and name in self.offered and value.strip():
                defaults = {each.name: each.default for each in self.offered[name].arguments}
                if argument in defaults and value.strip() != defaults[argument]:
                    settings.setdefault(name, {})[argument] = value.strip()
        texts = {
            name: fields[name].replace("\r\n", "\n") if name in fields else None for name in ("user", "system", "label")
        }
        request = Request(
            fields.get("corpus") or self.corpora[0],
            fields.get("dialogue", "").strip()[:_LONGEST_ID],
            _number(fields, "turn", 1, 1, 100_000),
            **texts,
            seeds=_number(fields, "seeds", 3, 1, self.rules.most_seeds),
            first_seed=_number(fields, "first", 1, 0, 2**31),
            spec=fields.get("spec", "").strip() if self.rules.own_specs else "",
            heavy=frozenset(value for key, value in query if key == "run"),
            settings=settings,
        )
        if request.corpus not in self.corpora:
            raise unknown("corpus", request.corpus, self.corpora)
        longest = max(len(request.user or ""), len(request.system or ""))
        if longest > self.rules.longest or len(request.label or "") > _LONGEST_LABEL:
            problem = f"an utterance may have {self.rules.longest:,} characters, and a label {_LONGEST_LABEL:,}"
            raise DstressError(problem, fix="shorten it")
        return request

    def answer(self, query: Sequence[tuple[str, str]], seconds: float) -> Answer:
        """The answer to a request, as far as it is found in a time. Whatever is wrong with it is a part of it."""
        try:
            request = self.read(query)
        except DstressError as error:
            user, system, label = map(dict(query).get, ("user", "system", "label"))
            request = Request(self.corpora[0], user=user, system=system, label=label)
            return Answer(request, None, (), error.problem, error.fix)
        try:
            scene = self._scene(request)
        except DstressError as error:
            problem = f"{error.where}: {error.problem}" if error.where else error.problem
            return Answer(request, None, (), problem, error.fix)
        end = monotonic() + seconds
        cards: list[tuple[Card, Future[Tried] | None]] = []
        own = Offered(request.spec, "The spec that you wrote.", "", "", ())
        for offered in (*([own] if request.spec else []), *self.offered.values()):
            is_own = offered is own
            settings = {} if is_own else request.settings.get(offered.name, {})
            is_asked = not offered.heavy or offered.name in request.heavy
            try:
                if offered.problem:
                    raise DstressError(offered.problem)
                spec = request.spec if is_own else write_spec(offered, self._checked(offered.name, settings))
                future = self._find(request, scene, spec) if is_asked else None
            except DstressError as error:
                tried = Tried(offered.name, problem=error.problem, fix=error.fix)
                cards.append((Card(offered, offered.name, settings, tried), None))
                continue
            cards.append((Card(offered, spec, settings, None, is_asked), future))
        done = []
        for card, future in cards:
            if future:
                wait([future], max(0.0, end - monotonic()))
            if future and future.done():
                card = card._replace(tried=_result(future, card.spec))
            done.append(card)
        return Answer(request, scene, done)

    def dialogue(self, request: Request) -> Dialogue:
        """The corpus's dialogue that a request is about."""
        key = (request.corpus, request.dialogue)
        dialogue = self._dialogues.get(key)
        if dialogue is None:
            dialogue = Playground(load(request.corpus)).find(request.dialogue)
            with self._lock:
                self._dialogues[key] = dialogue
                while len(self._dialogues) > _KEPT_DIALOGUES:
                    self._dialogues.popitem(last=False)
        return dialogue

    def _scene(self, request: Request) -> Scene:
        dialogue = self.dialogue(request)
        if request.turn > len(dialogue.turns):
            problem = f"the dialogue {dialogue.id} has {len(dialogue.turns)} turns"
            raise DstressError(problem, fix="choose one of them")
        scene = Scene(dialogue, request.turn - 1)
        turn = scene.original
        user = turn.user if request.user is None else request.user
        system = turn.system if request.system is None else request.system
        if request.label is None or request.label.strip() == write_state(turn.state):
            state = turn.state
        else:
            state = read_state(request.label, load(request.corpus).schema)
        if not user.strip():
            raise DstressError("there is no utterance", fix="write what the user says")
        return scene.write(user, system, state)

    def _checked(self, name: str, settings: Mapping[str, str]) -> Mapping[str, str]:
        """The settings, each within its bounds."""
        if self.rules.offered is None:
            return settings
        checked = {}
        for argument, value in settings.items():
            bound = self.rules.offered[name][argument]
            if isinstance(bound[0], str):
                if value not in bound:
                    raise DstressError(f"{argument} cannot be that", fix=f"choose {' or '.join(map(str, bound))}")
                checked[argument] = value
                continue
            low, high = self.bounds(name, argument) or (0, 0)
            try:
                number = round(float(value), 2)
            except (ValueError, OverflowError):
                number = float("nan")
            if not low <= number <= high:
                raise DstressError(f"{argument} is a number from {low:g} to {high:g}", fix="choose another")
            checked[argument] = f"{number:g}"
        return checked

    def _find(self, request: Request, scene: Scene, spec: str) -> Future[Tried]:
        """The answer to come of one stressor; one that was found, or is under way, is not begun again."""
        turn = scene.original
        seeds = tuple(range(request.first_seed, request.first_seed + request.seeds))
        # A turn of the corpus is stressed in its whole dialogue, an edited one in the dialogue up to it.
        place = scene.dialogue.id, scene.turn, len(scene.dialogue.turns)
        key = (request.corpus, spec, place, turn.user, turn.system, write_state(turn.state), seeds)
        with self._lock:
            if key not in self._answers:
                if sum(not future.done() for future in self._answers.values()) > _MOST_WAITING:
                    raise DstressError("the playground is busy", fix="try again in a moment")
                lane = "slow" if self._is_heavy(spec) else "fast"
                work = partial(self._try_out, lane, request.corpus, spec, scene, seeds)
                self._answers[key] = self._lanes[lane].submit(work)
                while len(self._answers) > _KEPT_ANSWERS:
                    self._answers.popitem(last=False)
            self._answers.move_to_end(key)
            return self._answers[key]

    def _is_heavy(self, spec: str) -> bool:
        try:
            names = [part.name for part in parse_composition(spec)]
        except DstressError:
            return False
        return any(name not in self.offered or self.offered[name].heavy for name in names)

    def _try_out(self, lane: str, corpus: str, spec: str, scene: Scene, seeds: Sequence[int]) -> Tried:
        if self._worker:
            return self._worker.try_out(corpus, spec, scene, seeds)
        key = (lane, corpus)
        if key not in self._playgrounds:
            self._playgrounds[key] = Playground(load(corpus))
        return self._playgrounds[key].try_out(spec, scene, seeds)


def _result(future: Future[Tried], spec: str) -> Tried:
    """What was found; a stressor that fails, such as one that is being written, leaves the others their answers."""
    if error := future.exception():
        _log.error("%s failed in the playground", spec, exc_info=error)
        return Tried(spec, problem=f"it failed: {type(error).__name__}: {error}", fix="the trace is in the log")
    return future.result()


def _number(fields: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    """A whole number of a request, within its bounds."""
    text = fields.get(name, "").strip()
    if not text:
        return default
    try:
        number = msgspec.convert(text, int, strict=False)
    except msgspec.ValidationError:
        number = low - 1
    if not low <= number <= high:
        raise DstressError(f"{name} is a number from {low:,} to {high:,}", fix="choose another")
    return number
