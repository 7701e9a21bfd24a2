"""Robustness along training: runs of checkpoints, their curves, what was forgotten; and runs of several seeds."""

# ruff: noqa: E402  what needs torch is imported once it is known to be there

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.parts import need

need("torch", "models")

from dstress.cli.main import cli
from dstress.errors import DstressError
from dstress.learning.recipe import Recipe, TrainingOptions
from dstress.pipeline.checkpoints import FORGOTTEN, checkpoint_trackers, evaluate_checkpoints
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.run import Run, RunOptions
from dstress.pipeline.train import train
from dstress.reports.analysis.checkdst_tables import BEST, WORST
from dstress.reports.charts import WIDE
from dstress.reports.curves import curve_table, make_curves
from dstress.reports.differences import find_forgotten
from dstress.reports.html import REPORT
from dstress.reports.many_tables import seed_table
from dstress.reports.systems import group_runs
from dstress.runs.folder import ORIGINAL
from tests.fakes.trackers import SUITE
from tests.stressors.generators.training import training
from tests.stressors.samples import sample

QUICK = RunOptions(resamples=20, report=False)
FAMILIES = {
    "copy": {"width": 16},
    "causal": {"width": 16, "layers": 1, "heads": 2, "vocabulary": 300, "longest": 60, "longest_answer": 8},
}


@pytest.fixture(scope="module", params=FAMILIES)
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp(request.param) / "trained"
    options = TrainingOptions(epochs=3, batch=16, rate=0.005, keep_every=2, evaluate_every=2)
    few, fewer = training("reminder", None, 8), training("reminder", None, 2)
    train(Recipe(request.param, few, fewer, model=FAMILIES[request.param], training=options), out)
    return out


def suite(folder: Path) -> str:
    (folder / "suite.toml").write_text(SUITE)
    return str(folder / "suite.toml")


def test_a_suite_is_run_at_every_checkpoint_that_was_kept(trained: Path, tmp_path: Path) -> None:
    kept = sorted(folder.name for folder in (trained / "checkpoints").iterdir())
    runs = evaluate_checkpoints(
        suite(tmp_path), checkpoint_trackers(trained), training("reminder", None, 2), tmp_path / "along", QUICK
    )
    assert len(kept) > 1
    assert [run.path.name for run in runs] == kept
    assert [Path(run.manifest.tracker.partition("path=")[2].strip('")')).name for run in runs] == kept
    first, *others = ({file.name: file.read_bytes() for file in (run.path / "stressed").iterdir()} for run in runs)
    assert all(files == first for files in others)
    page = (tmp_path / "along" / REPORT).read_text("utf-8")
    assert all(f'id="plot-{name}"' in page for name in ("curves", "gains"))
    x = make_curves(runs)["curves"].chart(WIDE).to_dict(validate=False)["spec"]["layer"][0]["encoding"]["x"]
    assert (x["field"], x["type"]) == ("step", "quantitative")
    assert [row[0] for row in curve_table(runs).rows] == kept
    again = evaluate_checkpoints(
        suite(tmp_path),
        checkpoint_trackers(trained),
        training("reminder", None, 2),
        tmp_path / "along",
        QUICK._replace(resume=True),
    )
    assert curve_table(again).rows == curve_table(runs).rows


def test_a_training_that_kept_nothing_is_told(tmp_path: Path) -> None:
    with pytest.raises(DstressError, match=r"(?s)kept checkpoints.*keep_every=1"):
        checkpoint_trackers(tmp_path)


def test_a_tracker_may_have_other_arguments(trained: Path) -> None:
    family = trained.parent.name[:-1]
    for tracker in checkpoint_trackers(trained, f"{family}(batch=7)").values():
        assert tracker.startswith(f"{family}(batch=7, path=")


def test_the_command(trained: Path, tmp_path: Path) -> None:
    corpus, out = training("reminder", None, 2), tmp_path / "along"
    asked = ["run", suite(tmp_path), "--checkpoints", str(trained), "--corpus", corpus, "--out", str(out)]
    told = CliRunner().invoke(cli, asked)
    assert told.exit_code == 0, told.output
    assert "checkpoint" in told.output
    assert str(out / FORGOTTEN) in told.output.replace("\n", "")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    folder = tmp_path_factory.mktemp("runs")
    trackers = {"gold": "gold", "forgets": "tests.fakes.trackers:Logged", "empty": "empty"}
    corpus = sample("reminder", None, 8)
    return {name: evaluate(suite(folder), spec, corpus, folder / name, QUICK) for name, spec in trackers.items()}


def test_what_was_right_and_is_wrong_is_listed(runs: dict[str, Run]) -> None:
    gold, forgets, empty = runs["gold"], runs["forgets"], runs["empty"]
    assert find_forgotten([forgets, gold]) == []
    found = find_forgotten([gold, empty, empty])
    turns = {
        (variant, dialogue.id, number): turn
        for variant in gold.variants
        for dialogue in gold.variant(variant).dialogues()
        for number, turn in enumerate(dialogue.turns)
    }
    expected = {place for place, turn in turns.items() if turn.state and (place[0] == ORIGINAL or turn.changed)}
    assert {(each.variant, each.dialogue, each.turn) for each in found} == expected
    for each in found:
        assert each.user == turns[each.variant, each.dialogue, each.turn].user
        assert each.right_at == ("gold",)
        assert each.wrong == dict.fromkeys(each.gold, "")
    right_before = [len(each.right_at) for each in find_forgotten([gold, forgets, empty])]
    assert right_before == sorted(right_before, reverse=True)
    assert set(right_before) == {1, 2}


def test_forgotten_turns_are_counted_on_the_page_as_its_examples_are(runs: dict[str, Run], tmp_path: Path) -> None:
    first = find_forgotten([runs["gold"], runs["empty"]])[0]
    page = runs["empty"].report(tmp_path / "page.html", [runs["gold"]]).read_text("utf-8")
    assert f'<th scope="row" dir="auto">{first.dialogue}, {first.turn + 1}</th>' in page


def test_gains_and_paths_are_of_the_first_and_the_last(runs: dict[str, Run]) -> None:
    plots = make_curves([runs["gold"], runs["forgets"]])
    values = {name: plots[name].chart(WIDE).to_dict(validate=False)["data"]["values"] for name in ("curves", "gains")}
    for row in values["gains"]:
        first, last = (each["value"] for each in values["curves"] if each["measure"] == row["measure"])
        assert row["change"] == pytest.approx(last - first)
        assert row["kind"] == ("better" if last >= first else "worse")  # the suite has accuracies alone
    assert ("paths" in plots) == (len(values["gains"]) > 1)


def named(run: Run, path: Path) -> Run:
    shutil.copytree(run.path, path)
    return Run.open(path)


def test_seeds_are_put_together_by_the_names_of_runs(runs: dict[str, Run], tmp_path: Path) -> None:
    made = [named(runs["gold"], tmp_path / "a-1"), named(runs["forgets"], tmp_path / "a-seed2")]
    made += [named(runs["empty"], tmp_path / f"b_{seed}") for seed in (1, 2)]
    systems = group_runs(made, seeds=True)
    assert {system.name: len(system.runs) for system in systems.every} == {"a": 2, "b": 2}
    jga = {one.name: [run.scores.variants[ORIGINAL]["jga"].value for run in one.runs] for one in systems.every}
    table = seed_table(systems)
    record = next(record for record in table.records if record["system"] == "a")
    low, high = sorted(jga["a"])
    assert (record["lowest"], record["highest"]) == (low, high)
    assert record["median"] == pytest.approx((low + high) / 2)
    assert record["error"] == pytest.approx((high - low) / 2)  # of two values, their distance by two
    assert [r["mark"] for r in table.records if r["measure"] == record["measure"]] == [BEST, WORST]
    told = CliRunner().invoke(cli, ["compare", "--seeds", *(str(run.path) for run in made), "--json", "-"])
    assert json.loads(told.output)[0]["median"] == pytest.approx(record["median"])
    refused = CliRunner().invoke(cli, ["compare", "--seeds", *(str(run.path) for run in made), "--metrics", "jga"])
    assert refused.exit_code == 2
    with pytest.raises(DstressError, match="a single run"):
        group_runs([*made, runs["gold"]], seeds=True)


def test_a_run_gives_its_dialogues_and_tables_to_another(runs: dict[str, Run], tmp_path: Path) -> None:
    given = named(runs["gold"], tmp_path / "given")
    (given.path / "database").mkdir(exist_ok=True)
    (given.path / "database" / "hotel.json").write_text("[]")
    given.share_corpus(tmp_path / "other")
    assert (tmp_path / "other" / "database" / "hotel.json").read_text() == "[]"
    names = {file.name for file in (given.path / "stressed").iterdir()}
    assert {file.name for file in (tmp_path / "other" / "stressed").iterdir()} == names
    assert {folder.name for folder in (tmp_path / "other").iterdir()} == {"database", "stressed"}
