"""A trained encoder-decoder, p(user | system, goal): CoCo's own generator (Li et al. 2021, 4.2 and E.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar

from dstress.dialogue import Slot
from dstress.errors import DstressError, MissingExtraError, SpecError
from dstress.generators.base import Candidate, Generator, Goal, Request
from dstress.generators.matching import find_unsaid
from dstress.generators.network import FAMILY
from dstress.generators.network.examples import example_of, slot_in_words
from dstress.generators.network.filler import Filled, fill
from dstress.generators.network.linear_form import Example
from dstress.learning.checkpoints import NOTES, find_checkpoint, load_weights, read_notes
from dstress.learning.devices import choose_device
from dstress.learning.recipe import read_settings
from dstress.resources import Material, Resources
from dstress.text.writing_style import WritingStyle, corpus_style, usual_capitals

if TYPE_CHECKING:
    from dstress.generators.network.backbone import Backbone, Generated

_HOW = "train one: dstress train utterances TRAIN --dev DEV --out FOLDER, then seq2seq(folder=FOLDER)"


class Seq2Seq(Generator):
    """A network trained on a corpus, in `folder`: beam search with `beam` hypotheses, `batch` goals at a time.

    `dstress train utterances` makes the folder, from scratch or from a pretrained checkpoint. `device` is torch's
    name for where it runs; by default a GPU where there is one. A candidate that scores below `least` is hardly
    language, and dropped; a score is a text's log-probability by its length, about -1 for good ones.
    """

    needs: ClassVar[tuple[str, ...]] = ("models",)
    _style: WritingStyle
    _capitals: dict[str, str]

    def __init__(self, folder: str = "", beam: int = 5, batch: int = 32, device: str = "", least: float = -2.0) -> None:
        if beam < 1 or batch < 1:
            raise SpecError("seq2seq: beam and batch must be 1 or more")
        if not folder:
            raise SpecError("seq2seq: there is no network without a folder", fix=_HOW)
        self.folder, self.beam, self.batch, self.device, self.least = folder, beam, batch, device, least
        self._slots: dict[str, Slot] = {}
        self._backbone: Backbone | None = None
        self._turn = Lock()

    def __getstate__(self) -> dict[str, Any]:
        """Weights stay behind when it is sent to another process, and are read again there."""
        return {name: value for name, value in self.__dict__.items() if name not in ("_backbone", "_turn")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state | {"_backbone": None, "_turn": Lock()}

    def prepare(self, resources: Resources, train: Material) -> None:
        """Read the network, and see how the corpus writes. It is trained already: `train` is not read."""
        missing = [name for name in ("torch", "transformers") if find_spec(name) is None]
        if missing:
            raise MissingExtraError(f"the generator seq2seq needs {missing[0]}", fix="pip install 'dstress[models]'")
        if {slot_in_words(slot) for slot in resources.schema.slots}.isdisjoint(self._network().slots):
            raise DstressError(
                "the network was trained for other services: it knows no slot of this corpus",
                where=self.folder,
                fix=_HOW,
            )
        self._slots = dict(resources.schema.slots)
        self._style = corpus_style(resources.corpus)
        self._capitals = usual_capitals(resources.corpus) if self._style.cased else {}

    def generate(self, system: str, goal: Goal, n: int) -> list[Candidate]:
        """The best of the beam."""
        return self.generate_all([Request(system, goal)], n)[0]

    def generate_all(self, requests: Sequence[Request], n: int) -> list[list[Candidate]]:
        """The best of each beam, those first that say their whole goal.

        Where none does, the beam is searched again in a way that is sure to say all but yes and no.
        """
        examples = [example_of(request, self._slots) for request in requests]
        found = self._search(examples, range(len(requests)), max(self.beam, n))
        incomplete = [
            place
            for place, request in enumerate(requests)
            if all(find_unsaid(candidate.text, request.goal) for candidate in found[place])
        ]
        for place, candidates in self._search(examples, incomplete, max(self.beam, n), forces_values=True).items():
            found[place] = _distinct([*found[place], *candidates])
        return [
            sorted(found[place], key=lambda candidate: bool(find_unsaid(candidate.text, request.goal)))[:n]
            for place, request in enumerate(requests)
        ]

    def _search(
        self, examples: Sequence[Example], places: Iterable[int], beams: int, *, forces_values: bool = False
    ) -> dict[int, list[Candidate]]:
        """The candidates of the examples at some places; those of about one length are searched for together."""
        order = sorted(places, key=lambda place: (_size(examples[place]), place))
        found: dict[int, list[Candidate]] = {}
        with self._turn:  # one batch at a time: each takes the whole machine
            for at in range(0, len(order), self.batch):
                batch = [(place, examples[place]) for place in order[at : at + self.batch]]
                texts = self._network().generate([each for _, each in batch], beams, forces_values=forces_values)
                for (place, example), generated in zip(batch, texts, strict=True):
                    found[place] = self._candidates(example, generated)
        return found

    def _candidates(self, example: Example, generated: Sequence[Generated]) -> list[Candidate]:
        """The texts with values in place of placeholders, without those that are hardly language."""
        candidates: list[Candidate] = []
        for text, numbers, score in generated:
            if score >= self.least:
                wishes = [example.wishes[number] for number in numbers]
                values = [Filled(wish.value, wish.kind == "open") for wish in wishes]
                candidates.append(Candidate(fill(text, values, self._style, self._capitals), score))
        return _distinct(candidates)

    def _network(self) -> Backbone:
        if self._backbone is None:
            self._backbone = load(Path(self.folder), self.device)
        return self._backbone


def load(folder: Path, device: str = "") -> Backbone:
    """The network of a trained folder, ready to generate."""
    from dstress.generators.network.backbone import Options
    from dstress.generators.network.training import kind_of

    place = find_checkpoint(folder)
    if not (place / NOTES).is_file():
        raise DstressError("this is no trained network, or one of an earlier version", where=str(folder), fix=_HOW)
    saved = read_notes(place, FAMILY)["model"]
    try:
        options = read_settings(saved["options"], Options, str(place))
        backbone = kind_of(options).restore(saved, options, place)
    except (KeyError, TypeError, ValueError) as error:
        raise DstressError(f"the network cannot be made again: {error}", where=str(place), fix=_HOW) from error
    load_weights(backbone.module, place)
    backbone.module.to(choose_device(device))
    backbone.prepare_decoding()
    return backbone


def _distinct(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Different texts, the best first; another mark at the end makes no difference."""
    distinct: dict[str, Candidate] = {}
    for candidate in sorted(candidates, key=lambda candidate: -candidate.score):
        if words := candidate.text.rstrip(" .?!"):
            distinct.setdefault(words, candidate)
    return list(distinct.values())


def _size(example: Example) -> int:
    return sum(len(part.text) for part in example.system) + 24 * len(example.wishes)
