"""`dstress corpora show NAME --variants` on a small corpus of our own."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dstress import corpora
from dstress.studies.schema_variants import measure_variants
from tests.cli.test_cli import run
from tests.corpora import layouts
from tests.corpora.test_sgdx import variant_folder


@pytest.fixture
def small(tmp_path: Path) -> None:
    corpora.add("sgd", layouts.sgd(tmp_path / "sgd"))
    corpora.add("sgd-x", variant_folder(tmp_path / "x"))


@pytest.mark.usefixtures("small")
def test_the_table_stands_beside_the_paper_s() -> None:
    shown = run("corpora", "show", "sgd", "--variants", "--also", "schema_noise")
    rows = {line.split("  ")[0]: line for line in shown.splitlines()}
    assert list(rows)[:4] == ["sgd", "original", "sgd-x/v1", "schema_noise"]
    cells = re.split(r"  +", rows["sgd-x/v1"])
    assert cells[3].endswith(" (0.30)") and 0 < float(cells[3].split()[0]) < 1
    assert "(" not in rows["schema_noise"]
    assert "revised after the paper" in shown


@pytest.mark.usefixtures("small")
def test_json_has_the_same_figures() -> None:
    found = json.loads(run("corpora", "show", "sgd", "--variants", "--also", "schema_noise", "--json"))
    assert found["groups"] == {"sgd-x": ["sgd-x/v1"], "schema_noise": ["schema_noise"]}
    assert found["versions"]["original"]["name_distance"] is None
    assert found["paper"]["sgd-x"]["v1"]["name_distance"] == 0.3
    assert (
        found["versions"]["sgd-x/v1"]["name_distance"]
        == measure_variants("sgd", ["schema_noise"]).versions["sgd-x/v1"].name_distance
    )


def test_any_corpus_and_any_schema_stressor() -> None:
    corpora.ensure_embedded()
    shown = run("corpora", "show", "reminder", "--variants", "--also", "schema_variant", "--also", "schema_variant(v5)")
    rows = {line.split("  ")[0]: re.split(r"  +", line)[1:] for line in shown.splitlines()}
    wanted = ("schema_variant", "schema_variant(version=v5)", "schema_variant, average")
    near, far, mean = (float(rows[name][2]) for name in wanted)
    assert near < mean < far and mean == pytest.approx((near + far) / 2, abs=0.001)
    assert "paper" not in shown


def test_also_goes_with_variants() -> None:
    with pytest.raises(SystemExit) as stop:
        from dstress.cli.main import main

        main(["corpora", "show", "reminder", "--also", "schema_noise"])
    assert stop.value.code == 2
