"""Training by a recipe: folders, resuming, and what a person may get wrong."""

# ruff: noqa: E402  what needs torch is imported once it is known to be there

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.parts import need

need("torch", "models")

import torch

from dstress.corpora import load
from dstress.errors import DstressError
from dstress.learning.base import Session
from dstress.learning.recipe import AugmentOptions, Recipe, TrainingOptions, read_recipe
from dstress.pipeline.augment import Augmenting
from dstress.pipeline.train import train
from dstress.trackers import trackers
from tests.stressors.generators.training import training
from tests.trackers.serving import resources

OPTIONS = TrainingOptions(epochs=2, batch=24, rate=0.02, clip=10.0, average=0.5, evaluate_on=3)
LOSS = replace(OPTIONS, metric="loss")


class Killed(Exception):
    """As by kill -9."""


def tiny(**changes: Any) -> Recipe:
    few, fewer = training("reminder", None, 8), training("reminder", None, 6)
    return replace(Recipe("copy", few, fewer, model={"width": 8, "longest": 40}, training=OPTIONS), **changes)


def test_a_killed_training_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    def kill(what: str, done: int, total: int | None) -> None:
        if total and done == total - 1:
            raise Killed

    whole = train(tiny(), tmp_path / "whole")
    with pytest.raises(Killed):
        train(tiny(), tmp_path / "killed", Session(on_progress=kill))
    with pytest.raises(DstressError, match=r"there already\n.*--resume"):
        train(tiny(), tmp_path / "killed")
    with pytest.raises(DstressError, match="begun with another recipe"):
        train(tiny(dev="reminder:dev"), tmp_path / "killed", resume=True)
    resumed = train(tiny(), tmp_path / "killed", resume=True)
    assert resumed["evaluations"] == whole["evaluations"]
    weights = [(tmp_path / name / "best/weights.safetensors").read_bytes() for name in ("whole", "killed")]
    assert weights[0] == weights[1]
    assert read_recipe(str(tmp_path / "whole" / "recipe.toml")) == tiny()
    lines: list[str] = []
    assert train(tiny(), tmp_path / "whole", Session(say=lines.append), resume=True) == whole
    assert lines == ["this training has ended already"]


def test_a_damaged_training_says_which_file(tmp_path: Path) -> None:
    """Torn, of another program, nested without end: one message, and the tracker that it makes says the same."""
    out = tmp_path / "cut"
    train(tiny(), out, Session(seconds=0.0))
    (out / "training.json").unlink()
    foreign = BytesIO()
    torch.save([1, 2], foreign)
    state, notes = (out / "state.pt").read_bytes(), (out / "best" / "model.json").read_bytes()
    nested = b"[" * 100_000
    for name, whole, damages in (
        ("state.pt", state, (state[: len(state) // 2], b"", b"PK\x03\x04", b"\xff\xfe", foreign.getvalue())),
        ("best/model.json", notes, (notes[:-20], b"", b"\xff\xfe", b"[]", b'{"family": "copy"}', nested)),
        ("training.json", b"", (b"", b"[]", b"{}", b"\xff\xfe", nested)),
    ):
        for damage in damages:
            (out / name).write_bytes(damage)
            with pytest.raises(DstressError) as refused:
                train(tiny(), out, resume=True)
            assert str(out) in refused.value.where and refused.value.fix, (name, damage[:20])
            if name == "best/model.json":
                with pytest.raises(DstressError, match="no checkpoint"):
                    trackers.create(f'copy(path="{out}")').prepare(resources(tmp_path))
        (out / name).write_bytes(whole) if whole else (out / name).unlink()


def test_a_state_edited_by_hand_is_one_message(tmp_path: Path) -> None:
    """Whatever is wrong in it: none of these is found by torch, and each ended in a traceback."""
    out = tmp_path / "edited"
    train(tiny(), out, Session(seconds=0.0))
    (out / "training.json").unlink()
    state = torch.load(out / "state.pt", weights_only=True)
    evaluation, weights = state["evaluations"][0], next(iter(state["module"].values()))
    moments = {name: torch.zeros_like(weights) for name in ("exp_avg", "exp_avg_sq")}
    edits: tuple[dict[str, Any], ...] = (
        {"counts": [0, 0, "x", 8, 1]},
        {"counts": [0, 0, 0, 8, 0]},
        {"counts": [0.5, 0, 0, 8, 1]},
        {"evaluations": []},
        {"evaluations": [{}]},
        {"evaluations": [evaluation | {"best": False}]},
        {"evaluations": [evaluation | {"jga": "x"}]},
        {"seconds": "x"},
        {"seconds": float("nan")},
        {"log": 10**6},
        {"optimizer": {"state": {0: []}}},
        {"optimizer": {"state": {0: moments | {"step": torch.tensor(-1.0)}}}},
        {"optimizer": {"state": {0: moments | {"step": torch.tensor(0.0)}}}},
        {"optimizer": {"state": {0: {"step": torch.tensor(1.0), "exp_avg": torch.zeros(3), "exp_avg_sq": 1}}}},
    )
    for edit in edits:
        torch.save(state | edit, out / "state.pt")
        with pytest.raises(DstressError, match="no going on with this training"):
            train(tiny(), out, resume=True)
    state["optimizer"]["param_groups"][0] |= {"eps": "x", "betas": [1], "lr": 10.0}  # the recipe's count, not these
    torch.save(state, out / "state.pt")
    assert train(tiny(), out, resume=True)["steps"] == 8


def test_a_training_may_start_from_another(tmp_path: Path) -> None:
    first = train(tiny(), tmp_path / "first")
    again = train(tiny(start=str(tmp_path / "first"), model={}), tmp_path / "second", Session(seconds=0.0))
    assert again["best"]["jga"] == first["best"]["jga"]
    weights = [(tmp_path / name / "best/weights.safetensors").read_bytes() for name in ("first", "second")]
    assert weights[0] == weights[1]
    with pytest.raises(DstressError, match=r"has its \[model\] already"):
        train(tiny(start=str(tmp_path / "first")), tmp_path / "third")


def test_augmented_data_are_learned_from(tmp_path: Path) -> None:
    augment, names = AugmentOptions("values(dictionary=train-O)", times=2), list[str]()
    once = replace(OPTIONS, epochs=1)
    plain = train(tiny(training=once), tmp_path / "plain")
    more = train(
        tiny(training=once, augment=augment), tmp_path / "more", Session(on_progress=lambda *it: names.append(it[0]))
    )
    assert more["steps"] > 2 * plain["steps"]
    assert names[0] == "augmenting"
    assert read_recipe(str(tmp_path / "more" / "recipe.toml")).augment == augment
    Augmenting(load(tiny().train), augment.stressor, 2).write(tmp_path / "made")
    again = train(tiny(training=once, augment=augment, train=str(tmp_path / "made")), tmp_path / "again")
    assert again["evaluations"] == more["evaluations"]
    weights = [(tmp_path / name / "best/weights.safetensors").read_bytes() for name in ("more", "again")]
    assert weights[0] == weights[1]


def test_a_reader_of_schemas_learns_from_schemas_in_other_words(tmp_path: Path) -> None:
    augment = AugmentOptions(("schema_variant(version=v1)", "schema_variant(version=v5)"))
    small = {"checkpoint": "", "width": 16, "layers": 1, "heads": 2, "longest": 40, "rest": 0.0}
    recipe = tiny(family="schema_reader", model=small, training=replace(OPTIONS, epochs=1, batch=8))
    plain, more = (train(each, tmp_path / str(each.augment)[:5]) for each in (recipe, replace(recipe, augment=augment)))
    assert more["steps"] == pytest.approx(3 * plain["steps"], abs=3)


@pytest.mark.parametrize("family", ["causal", "seq2seq"])
def test_a_writer_learns_other_tasks_before_it_tracks(family: str, tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text('{"word": "ferry"}\n' * 4)
    (tmp_path / "mine.toml").write_text(
        'prompts = ["Say {word}:"]\nanswer = "{word}"\ntrain = "mine.jsonl"\ndev = "mine.jsonl"\n'
    )
    small = {"width": 16, "layers": 1, "heads": 2, "vocabulary": 320, "longest": 120, "longest_answer": 8}
    options = replace(OPTIONS, metric="loss", evaluate_on=0)
    tasks = ("copying", "tracking", str(tmp_path / "mine.toml"))
    recipe = tiny(family=family, model=small, prefinetune=tasks, training=options)
    losses = [each["loss"] for each in train(recipe, tmp_path / "tasks")["evaluations"]]
    assert losses[1] < losses[0]
    assert read_recipe(str(tmp_path / "tasks/recipe.toml")) == recipe
    again = replace(recipe, prefinetune=tuple(str(tmp_path / f"tasks/tasks/{name}.toml") for name in tasks[:2]))
    train(again, tmp_path / "again", Session(seconds=0.0))
    done = train(recipe, tmp_path / "tasks", resume=True)
    assert [each["loss"] for each in done["evaluations"]] == losses
    tracks = tiny(family=family, model={}, start=str(tmp_path / "tasks"), training=replace(OPTIONS, evaluate_on=1))
    assert "jga" in train(tracks, tmp_path / "tracks", Session(seconds=0.0))["best"]
    weights = [(tmp_path / name / "best/weights.safetensors").read_bytes() for name in ("tasks", "tracks")]
    assert weights[0] == weights[1]


def test_other_training_data_do_not_go_on(tmp_path: Path) -> None:
    train(tiny(), tmp_path / "a", Session(seconds=0.0))
    notes = json.loads((tmp_path / "a/best/model.json").read_text())
    notes["model"]["words"][-1] = "another"
    (tmp_path / "a/best/model.json").write_text(json.dumps(notes))
    with pytest.raises(DstressError, match="not those that this training was begun with"):
        train(tiny(), tmp_path / "a", resume=True)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"family": "rules"}, r"the tracker rules learns nothing\n.*copy"),
        ({"family": "coppy"}, "did you mean 'copy'"),
        ({"model": {"widht": 8}}, r"\[model\]: unknown setting 'widht'.*'width'"),
        ({"model": {"dropout": 2}}, "dropout"),
        ({"training": replace(OPTIONS, metric="jgaa")}, "did you mean 'jga'"),
        ({"training": replace(OPTIONS, convention="exakt")}, "did you mean 'exact'"),
        ({"train": "nowhere:train"}, "nowhere"),
        ({"prefinetune": ("copying",)}, "judged by its loss"),
        ({"prefinetune": ("coping",), "training": LOSS}, "unknown task 'coping'.*'copying'"),
        ({"prefinetune": ("nowhere.toml",), "training": LOSS}, "cannot read the task"),
        ({"prefinetune": ("copying",), "training": LOSS}, "writes no texts.*\n.*causal or seq2seq"),
        ({"augment": AugmentOptions("typoos")}, "did you mean 'typos'"),
        ({"augment": AugmentOptions(("typos", "schema_noise"))}, "schema_noise gives slots other names.*copy"),
        ({"augment": AugmentOptions("typos", keep_out="P")}, "unknown dictionary 'P'"),
    ],
)
def test_mistakes_are_told_before_anything_is_written(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(DstressError, match=words):
        train(tiny(**changes), tmp_path / "a")
    assert not (tmp_path / "a").exists()
