"""Train a tracker that learns, as a recipe says: the loop of `learning` over a family's model, scored as runs are."""

from __future__ import annotations

import copy
import json
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import tomli_w

from dstress.conventions import conventions
from dstress.corpora import load
from dstress.corpora.base import Corpus
from dstress.engines.base import Engine
from dstress.errors import DstressError, SpecError, unknown
from dstress.learning.base import Session, Task
from dstress.learning.checkpoints import BEST, NOTES, RECIPE, RESULT, read_notes, write_notes
from dstress.learning.devices import choose_device, require_torch, require_transformers
from dstress.learning.lessons import Tutor
from dstress.learning.recipe import Recipe, TrainingOptions, read_settings
from dstress.pipeline.augment import load_augmented
from dstress.pipeline.tasks import TASKS, write_task
from dstress.pipeline.track import Request, record_answer, track_requests
from dstress.predictions.base import Prediction
from dstress.scoring.garbage import without_collection
from dstress.scoring.metrics.measures import require_metric
from dstress.scoring.score import score
from dstress.storage.lock import only_one
from dstress.stressors import create
from dstress.stressors.generators.learned import FAMILY as UTTERANCES
from dstress.text.tables import is_table_file
from dstress.trackers import trackers
from dstress.trackers.base import Context
from dstress.trackers.learned import LearnedTracker, Model

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
    """Train into the folder `out`, which is new or has begun with the same recipe and data; an engine augments faster.

    Gives what its `training.json` holds.
    """
    require_torch("training")
    from dstress.learning.loop import fit

    session = session or Session()
    choose_device(session.device)  # a device that is not there is told before anything is written
    if recipe.family == UTTERANCES:
        learner, create_task = _utterance_task(recipe)
    else:
        learner, create_task = _tracker_task(recipe, out, session, engine)
    _open_folder(out, recipe, resume)
    busy = DstressError("another process trains into this folder", where=str(out), fix="wait for it, or give another")
    with only_one(out / ".lock", busy):
        if resume and (done := _finished(out, session.seconds)):
            session.say("this training has ended already")
            return done
        _require_same_data(learner, out)
        return fit(create_task(), recipe.training, out, session)


def _tracker_task(
    recipe: Recipe, out: Path, session: Session, engine: Engine | None
) -> tuple[Model, Callable[[], Task]]:
    """A tracker's model, and what makes its task once the folder is open; a prefinetuning makes its own tasks there."""
    import torch

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

    return model, create_task


def _utterance_task(recipe: Recipe) -> tuple[Model, Callable[[], Task]]:
    """What the generator `learned` says: a family of trackers that writes text, and lessons of users' turns."""
    require_transformers()
    import torch

    from dstress.learning.loop import mean_loss
    from dstress.stressors.generators.learned.network import Options, create, lessons_for, save

    if recipe.start or recipe.augment or recipe.prefinetune:
        raise SpecError(f"the recipe of {UTTERANCES} has no start, augment or prefinetune", fix="leave them out")
    if recipe.training.metric != _LOSS:
        raise SpecError(f"{UTTERANCES} are judged by their loss", fix=f"set metric = {_LOSS!r} in [training]")
    options, settings = recipe.training, read_settings(recipe.model, Options, f"the recipe of {UTTERANCES}, [model]")
    train, dev = load(recipe.train), load(recipe.dev).take(0, options.evaluate_on, options.seed)
    torch.manual_seed(options.seed)
    with without_collection():
        model = create(settings, train)
        kept_back = model.learn(lessons_for(dev, Random(f"{options.seed} dev")))
    if not kept_back:
        raise DstressError("there is nothing to choose the best checkpoint by", where=recipe.dev)
    task = Task(
        model,
        lambda random: model.learn(lessons_for(train, random)),
        lambda: {_LOSS: mean_loss(model, kept_back, options)},
        lambda folder: save(model, recipe.train, folder),
    )
    return model, lambda: task


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
    return load_augmented(
        recipe.train, recipe.augment, engine, lambda what, done, total: session.on_progress("augmenting", done, total)
    )


def _family(name: str) -> type[LearnedTracker]:
    kind = trackers.get(name)
    if not issubclass(kind, LearnedTracker):
        names = [name for name in trackers.usable() if issubclass(trackers.get(name), LearnedTracker)]
        raise SpecError(f"the tracker {name} learns nothing", fix=f"a recipe's family is one of {', '.join(names)}")
    return kind


def _open_folder(out: Path, recipe: Recipe, resume: bool) -> None:
    """A folder with the recipe in it; one that has another is not touched."""
    path, text = out / RECIPE, tomli_w.dumps(msgspec.to_builtins(recipe))
    if out.exists() and any(out.iterdir()):
        if not resume:
            fix = "go on with --resume, or give another folder"
            raise DstressError("the folder is there already", where=str(out), fix=fix)
        try:
            begun = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DstressError(f"no training was begun here: {error}", where=str(out)) from error
        if begun != tomllib.loads(text):
            fix = "give that one with the same settings, or another folder"
            raise DstressError("the training here was begun with another recipe", where=str(path), fix=fix)
    else:
        out.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _finished(out: Path, seconds: float) -> dict[str, Any] | None:
    """How the training ended, if it has; one whose time was over goes on with more of it."""
    if not (out / RESULT).is_file():
        return None
    try:
        result: dict[str, Any] = json.loads((out / RESULT).read_text(encoding="utf-8"))
        has_ended = result["stopped"] != "time budget" or seconds <= result["seconds"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        problem, fix = f"the file is damaged: {error}", "remove it, and go on with --resume"
        raise DstressError(problem, where=str(out / RESULT), fix=fix) from error
    return result if has_ended else None


def _require_same_data(model: Model, out: Path) -> None:
    """Going on with other data would mix two trainings."""
    notes = out / BEST / NOTES
    if not notes.is_file():
        return
    with tempfile.TemporaryDirectory() as folder:
        now = json.loads(json.dumps(model.save(Path(folder))))
    if read_notes(out / BEST)["model"] != now:
        problem = "the training data are not those that this training was begun with: they give another vocabulary"
        raise DstressError(problem, where=str(notes), fix="train into a new folder")


def _evaluate(model: Model, tracker: type[LearnedTracker], dev: Corpus, options: TrainingOptions) -> float:
    """The metric on development data, by the words of the house: what `dstress score` would say of the checkpoint."""
    import torch

    def track(contexts: Sequence[Context]) -> Iterator[Prediction]:
        size = tracker.batch_on(next(model.module.parameters()).device.type)
        for start in range(0, len(contexts), size):
            batch = contexts[start : start + size]
            with torch.inference_mode():
                answers = model.track(batch)
            yield from map(record_answer, batch, answers)

    requests = [Request(dialogue, list(range(len(dialogue.turns)))) for dialogue in dev]
    trained = model.module
    model.module = copy.deepcopy(trained)  # getting ready to track may cost precision
    try:
        model.ready()
        model.connect(dev)
        answers = list(track_requests(requests, dev.schema, track, sequential=tracker.sequential))
    finally:
        model.module = trained
    card = score(answers, dev, options.convention, [options.metric], resamples=0)
    return card[options.metric].value
