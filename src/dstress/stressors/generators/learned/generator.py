"""The generator `learned`: samples of a language model that was trained on what users mean and say."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar

from dstress.errors import SpecError
from dstress.learning.checkpoints import NOTES, WEIGHTS, find_checkpoint, read_notes
from dstress.learning.devices import require_torch, require_transformers
from dstress.resources import Material, Resources
from dstress.stressors.generators.base import Candidate, Generator, Request
from dstress.stressors.generators.learned import FAMILY, HOW
from dstress.stressors.generators.learned.choice import Usage, choose
from dstress.stressors.generators.learned.meaning import (
    MOST_UNITS,
    Meaning,
    kind_of_service,
    meaning_of,
    names_due,
    says_more,
)
from dstress.stressors.generators.templates.acts.turns import has_acts
from dstress.text.utterance import random_for

if TYPE_CHECKING:
    from dstress.trackers.generative.model import GenerativeModel

_ANSWERS = ("yes", "no", "other", "same", "question", "choose", "affirm", "negate", "inform", "select", "bye")
"""What a user does because of what the turn says; another turn does something else."""


class Learned(Generator):
    """A language model that `dstress train utterances-multiwoz` (or `-sgd`) trained, in the folder `path`.

    For each goal `samples` utterances are drawn from the likeliest `nucleus` of tokens at a `temperature`. Those that
    say the goal and nothing else pass, and come in the order of how new their wording is to the training corpus.
    `device` is torch's name for where it runs, by default a GPU where there is one; `batch` prompts go through it at
    once.
    """

    needs: ClassVar[tuple[str, ...]] = ("models",)
    keeps = True

    def __init__(
        self,
        path: str = "",
        samples: int = 16,
        nucleus: float = 0.95,
        temperature: float = 1.0,
        device: str = "",
        batch: int = 0,
    ) -> None:
        if not path:
            raise SpecError("learned: there is no language model without a folder", fix=HOW)
        if samples < 1 or not 0 < nucleus <= 1 or temperature <= 0 or batch < 0:
            raise SpecError("learned: samples is 1 or more, nucleus a share above 0, temperature above 0")
        self.path, self.samples, self.nucleus, self.temperature = path, samples, nucleus, temperature
        self.device, self.batch = device, batch
        self._model: GenerativeModel | None = None
        self._turn = Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Weights stay behind when it is sent to another process, and are read again there."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_model", "_turn")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state | {"_model": None, "_turn": Lock()}

    def prepare(self, resources: Resources, train: Material) -> None:
        """See that the weights are there, and learn how users write and whether the corpus has their actions."""
        require_torch("the generator learned")
        require_transformers()
        read_notes(find_checkpoint(Path(self.path)), FAMILY)
        self._by_acts, self._usage = has_acts(train), Usage.learn(train)

    def files(self) -> tuple[Path, ...]:
        """The weights, and what makes the network again."""
        if not (Path(self.path) / NOTES).is_file() and not (Path(self.path) / "best").is_dir():
            return ()
        folder = find_checkpoint(Path(self.path))
        return folder / NOTES, folder / WEIGHTS

    def generate_all(self, requests: Sequence[Request], n: int) -> list[list[Candidate]]:
        """Samples for all goals that say no more and no less, the newest wording first."""
        samples = self.sample(requests)
        return [choose(request, texts, self._usage, n) for request, texts in zip(requests, samples, strict=True)]

    def sample(self, requests: Sequence[Request]) -> list[dict[str, float]]:
        """For each goal the texts that the network gives, with the mean log-probability of a word."""
        prompts, numbers = list[str](), list[list[float]]()
        longest = self._network().options.longest_answer
        for request in requests:
            key, utterance = sorted(request.goal.spoken.items()), request.utterance
            random = utterance.random_of("learned", key) if utterance else random_for("learned", request.system, key)
            numbers += [[random.random() for _ in range(longest)] for _ in range(self.samples)]
            prompts += self.prompts(request)
        texts: list[dict[str, float]] = [{} for _ in requests]
        for number, (text, score) in enumerate(self._sample(prompts, numbers)):
            if text:
                texts[number // self.samples].setdefault(text, score)
        return texts

    def prompts(self, request: Request) -> list[str]:
        """A prompt for each sample: what is certain in all of them, and the rest now open and now as it was."""
        prompts = (meaning.prompt() for meaning in cycle(_meanings(request, self._by_acts)))
        return list(islice(prompts, self.samples))

    def _sample(self, prompts: Sequence[str], numbers: Sequence[Sequence[float]]) -> list[tuple[str, float]]:
        """A text for each prompt, and the mean log-probability of its tokens; those of about one length together."""
        import torch

        from dstress.trackers.generative.decoding import Sampler

        with self._turn, torch.inference_mode():  # one batch at a time: each takes the whole machine
            model = self._network()
            device = model.module.device
            tokens = [each[-model.options.longest :] for each in model.encode(list(prompts))]
            size = self.batch or (2048 if device.type == "cuda" else 64)
            order = sorted(range(len(prompts)), key=lambda place: len(tokens[place]))
            results: list[tuple[str, float]] = [("", 0.0)] * len(prompts)
            for batch in (order[at : at + size] for at in range(0, len(order), size)):
                drawn = torch.tensor([numbers[place] for place in batch], device=device)
                sampler = Sampler(drawn, self.nucleus, self.temperature, model.end)
                texts = model.generate([tokens[place] for place in batch], sampler)
                for place, text, score in zip(batch, texts, sampler.likelihoods.tolist(), strict=True):
                    words = " ".join(text.split())
                    results[place] = words, score / (1 + len(words.split()))
        return results

    def _network(self) -> GenerativeModel:
        if self._model is None:
            from dstress.stressors.generators.learned.network import load

            self._model = load(Path(self.path), self.device)
        return self._model


def _meanings(request: Request, by_acts: bool) -> list[Meaning]:
    """Several ways of putting what is to be said."""
    system, goal, utterance, keeps = request
    if utterance is None:
        names = tuple(dict.fromkeys(map(kind_of_service, goal.spoken)))
        return [Meaning("", system, goal, names=names), Meaning("", system, goal)]
    own = meaning_of(utterance, goal, by_acts)
    longer = min(MOST_UNITS, (own.length or 1) + 1)
    if keeps:
        # What else the user says is among the words to keep; without those nothing but the goal is wanted.
        as_loose, bare = own._replace(is_loose=says_more(utterance)), own._replace(words=None, length=None)
        return [as_loose, as_loose._replace(length=None), bare._replace(length=longer), bare]
    acts = tuple(act for act in own.acts or () if not act.startswith(_ANSWERS))
    other = own._replace(words=None, acts=acts, names=names_due(utterance, goal) or None)
    free = other._replace(acts=None, length=None)
    return [other, free, other._replace(length=None), free._replace(length=longer)]
