"""Train a tracker that learns, as a recipe says: the loop of `learning` over a family's model, scored as runs are."""

from __future__ import annotations

import copy
import json
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec
import tomli_w

from dstress.conventions import conventions
from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.engines.base import Engine
from dstress.errors import DstressError, SpecError, unknown
from dstress.generators.network import FAMILY as UTTERANCES
from dstress.learning.base import Session, Task
from dstress.learning.checkpoints import BEST, NOTES, RECIPE, RESULT, write_notes
from dstress.learning.devices import choose_device, require_torch, require_transformers
from dstress.learning.lessons import Tutor
from dstress.learning.recipe import Recipe, TrainingOptions, read_settings
from dstress.metrics.measures import require_metric
from dstress.pipeline.augment import load_augmented
from dstress.pipeline.tasks import TASKS, write_task
from dstress.predictions.base import Prediction
from dstress.scoring.garbage import without_collection
from dstress.scoring.score import score
from dstress.storage.lock import only_one
from dstress.stressors import create
from dstress.text.tables import is_table_file
from dstress.trackers import trackers
from dstress.trackers.base import Context, Failed
from dstress.trackers.learned import LearnedTracker, Model

if TYPE_CHECKING:
    from dstress.generators.network.backbone import Backbone

_LOSS = "loss"
_TASKS = "tasks"
"""The folder of the tasks that a prefinetuning made of its corpora."""


def train(
    recipe: Recipe,
    out: Path,
    session: Session | None = None,
    *,
    resume: bool = False,
    engine: Engine | None = None,
) -> dict[str, Any]:
    """Train into the folder `out`, and give what its `training.json` holds; an engine augments faster."""
    require_torch("training")
    import torch

    session = session or Session()
    choose_device(session.device)  # a device that is not there is told before anything is written
    if recipe.family == UTTERANCES:
        return _train_utterances(recipe, out, session, resume=resume)
    tracker, options = _family(recipe.family), recipe.training
    _check_metric(recipe)
    conventions.create(options.convention)
    dev, kind = load(recipe.dev).take(0, options.evaluate_on, options.seed), tracker.model_class()
    if recipe.start and recipe.model:
        raise SpecError("a training that goes on from a checkpoint has its [model] already", fix="leave [model] out")
    settings = read_settings(recipe.model, kind.options_type, f"the recipe of {recipe.family}, [model]")
    train = _load_training_data(recipe, session, engine)
    torch.manual_seed(options.seed)
    with without_collection():
        model = tracker.load_model(Path(recipe.start), train.schema) if recipe.start else kind.create(settings, train)
    tutors = {name: Tutor(Path(name)) for name in recipe.prefinetune or () if name not in TASKS}
    if recipe.prefinetune:
        model.learn([])  # a family that cannot is told before anything is written

    def create_task() -> Task:
        for name in recipe.prefinetune or ():
            tutors[name] = tutors.get(name) or Tutor(write_task(name, train, dev, out / _TASKS))
        with without_collection():
            fixed = None if kind.varies else model.examples(train, Random(f"{options.seed} examples"))
        task = Task(
            model,
            lambda random: model.examples(train, random) if fixed is None else fixed,
            lambda: {options.metric: _evaluate(model, tracker, dev, options)},
            lambda folder: write_notes(folder, tracker.family, recipe.train, model.save(folder)),
        )
        return _teach(task, model, list(tutors.values()), options) if tutors else task

    return _fit(recipe, out, session, model, create_task, resume=resume)


def _train_utterances(recipe: Recipe, out: Path, session: Session, *, resume: bool) -> dict[str, Any]:
    """The network of the generator `seq2seq`: the same loop over other examples."""
    require_transformers()
    import torch

    from dstress.generators.network.backbone import Options
    from dstress.generators.network.examples import examples_of
    from dstress.generators.network.training import create_task, kind_of

    if recipe.start or recipe.augment or recipe.prefinetune:
        raise SpecError(f"the recipe of {UTTERANCES} has no start, augment or prefinetune", fix="leave them out")
    options, settings = recipe.training, read_settings(recipe.model, Options, f"the recipe of {UTTERANCES}, [model]")
    dev = list(examples_of(load(recipe.dev).take(0, options.evaluate_on, options.seed)))
    train = list(examples_of(load(recipe.train)))
    if not train or not dev:
        raise DstressError("there is nothing to train on, or to choose the best checkpoint by")
    torch.manual_seed(options.seed)
    backbone = kind_of(settings).create(settings, train)
    task = create_task(backbone, train, dev, recipe.train, options)
    return _fit(recipe, out, session, backbone, lambda: task, resume=resume)


def _fit(
    recipe: Recipe,
    out: Path,
    session: Session,
    learner: Model | Backbone,
    create_task: Callable[[], Task],
    *,
    resume: bool,
) -> dict[str, Any]:
    """Train into a folder that is new, or that has begun with the same recipe and data."""
    from dstress.learning.loop import fit

    _open_folder(out, recipe, resume)
    busy = DstressError("another process trains into this folder", where=str(out), fix="wait for it, or give another")
    with only_one(out / ".lock", busy):
        if resume and (done := _finished(out, session.seconds)):
            session.say("this training has ended already")
            return done
        _require_same_data(learner, out)
        return fit(create_task(), recipe.training, out, session)


def _check_metric(recipe: Recipe) -> None:
    if not recipe.prefinetune:
        require_metric(recipe.training.metric, of_one_file=True)
    elif recipe.training.metric != _LOSS:
        fix = f"set metric = {_LOSS!r} in [training]"
        raise SpecError("prefinetuning is judged by its loss: its tasks know no other metric", fix=fix)
    for name in recipe.prefinetune or ():
        if name not in TASKS and not is_table_file(name):
            raise unknown("task", name, TASKS, fix="or give the path of a task's TOML file; docs/training.md has one")


def _teach(task: Task, model: Model, tutors: Sequence[Tutor], options: TrainingOptions) -> Task:
    """Lessons in place of turns, each with a prompt that is drawn for it; judged by those that are kept back."""
    from dstress.learning.loop import mean_loss

    def examples(split: str, random: Random) -> Sequence[Any]:
        return model.learn([lesson for tutor in tutors for lesson in tutor.lessons(split, random)])

    kept_back = examples("dev", Random(f"{options.seed} dev"))
    return task._replace(
        examples=lambda random: examples("train", random),
        evaluate=lambda: {_LOSS: mean_loss(model, kept_back, options)},
    )


def _load_training_data(recipe: Recipe, session: Session, engine: Engine | None) -> Corpus:
    if not recipe.augment:
        return load(recipe.train)
    other = next((spec for spec in recipe.augment.stressors if create(spec).scope == "schema"), "")
    if other and not _family(recipe.family).model_class().reads_schema:
        raise SpecError(
            f"{other} gives slots other names, of which {recipe.family} can learn nothing: it reads no schema",
            fix="train a schema_reader, or augment with stressors of words",
        )
    done = count(1)
    return load_augmented(
        recipe.train, recipe.augment, engine, lambda what: session.on_progress("augmenting", next(done), None)
    )


def _family(name: str) -> type[LearnedTracker]:
    kind = trackers.get(name)
    if not issubclass(kind, LearnedTracker):
        names = [known for known in trackers.usable() if issubclass(trackers.get(known), LearnedTracker)]
        raise SpecError(f"the tracker {name} learns nothing", fix=f"a recipe's family is one of {', '.join(names)}")
    return kind


def _open_folder(out: Path, recipe: Recipe, resume: bool) -> None:
    """A folder with the recipe in it; one that has another is not touched."""
    path, text = out / RECIPE, tomli_w.dumps(msgspec.to_builtins(recipe))
    if out.exists() and any(out.iterdir()):
        if not resume:
            raise DstressError(
                "the folder is there already", where=str(out), fix="go on with --resume, or give another folder"
            )
        try:
            begun = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DstressError(f"no training was begun here: {error}", where=str(out)) from error
        if begun != tomllib.loads(text):
            raise DstressError("the training here was begun with another recipe", where=str(path), fix=_RECIPE_FIX)
    else:
        out.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


_RECIPE_FIX = "give that one with the same settings, or another folder"


def _finished(out: Path, seconds: float) -> dict[str, Any] | None:
    """How the training ended, if it has; one whose time was over goes on with more of it."""
    if not (out / RESULT).is_file():
        return None
    result: dict[str, Any] = json.loads((out / RESULT).read_text(encoding="utf-8"))
    return result if result["stopped"] != "time budget" or seconds <= result["seconds"] else None


def _require_same_data(model: Model | Backbone, out: Path) -> None:
    """Going on with other data would mix two trainings."""
    notes = out / BEST / NOTES
    if not notes.is_file():
        return
    with tempfile.TemporaryDirectory() as folder:
        now = json.loads(json.dumps(model.save(Path(folder))))
    if json.loads(notes.read_text(encoding="utf-8"))["model"] != now:
        raise DstressError(
            "the training data are not those that this training was begun with: they give another vocabulary",
            where=str(notes),
            fix="train into a new folder",
        )


def _evaluate(model: Model, tracker: type[LearnedTracker], dev: Corpus, options: TrainingOptions) -> float:
    """The metric on development data, by the words of the house: what `dstress score` would say of the checkpoint."""
    trained = model.module
    model.module = copy.deepcopy(trained)  # getting ready to track may cost precision
    try:
        model.ready()
        answers = list(_answers(model, tracker, dev))
    finally:
        model.module = trained
    card = score(answers, dev, options.convention, [options.metric], resamples=0)
    return card[options.metric].value


def _answers(model: Model, tracker: type[LearnedTracker], corpus: Corpus) -> Iterator[Prediction]:
    """A model's answers to a corpus; a sequential one knows its own answer to the turn before."""
    import torch

    dialogues = list(corpus)
    size = tracker.batch_on(next(model.module.parameters()).device.type)
    longest = max((len(dialogue.turns) for dialogue in dialogues), default=0)
    states: dict[str, Mapping[str, str]] = {}
    for turns in [[turn] for turn in range(longest)] if tracker.sequential else [range(longest)]:
        contexts = [
            Context(dialogue, turn, corpus.schema, states.get(dialogue.id, {}) if tracker.sequential else None)
            for dialogue in dialogues
            for turn in turns
            if turn < len(dialogue.turns)
        ]
        for at in range(0, len(contexts), size):
            part = contexts[at : at + size]
            with torch.inference_mode():
                answers = model.track(part)
            for context, answer in zip(part, answers, strict=True):
                if isinstance(answer, Failed):
                    answer = Prediction("", 0, {}, failed=answer.reason)
                given = answer if isinstance(answer, Prediction) else Prediction("", 0, dict(answer))
                states[context.dialogue] = given.state
                yield msgspec.structs.replace(given, dialogue=context.dialogue, turn=context.turn)
