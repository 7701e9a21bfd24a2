"""What was learned is learned once, and a file that is damaged is no fit."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from dstress.dialogue import Turn
from dstress.storage.fits import load_or_fit


class Learned(NamedTuple):
    """Of every kind that fits are made of."""

    words: dict[frozenset[str], tuple[str, ...]]
    weights: NDArray[np.int8]


class Learner:
    """Counts how often it learns."""

    learned = 0

    def fit(self) -> Learned:
        self.learned += 1
        return Learned({frozenset({"a", "b"}): ("c",)}, np.array([[1, -2], [3, 4]], np.int8))


MATERIAL = [Turn("hello", state={"hotel-area": ("west",)})]


def call(folder: Path, learner: Learner, material: list[Turn] = MATERIAL) -> Learned:
    return load_or_fit(folder, Learner, material, Learned, learner.fit)


def test_a_second_call_reads_what_the_first_has_learned(tmp_path: Path) -> None:
    learner = Learner()
    first, second = call(tmp_path, learner), call(tmp_path, learner)
    assert learner.learned == 1
    assert second.words == first.words and second.weights.dtype == np.int8
    assert np.array_equal(second.weights, first.weights)


def test_other_material_teaches_anew(tmp_path: Path) -> None:
    learner = Learner()
    call(tmp_path, learner)
    call(tmp_path, learner, [*MATERIAL, Turn("and wifi")])
    assert learner.learned == 2


@pytest.mark.parametrize(
    "damage", [lambda content: content[:-1], lambda content: content[:-1] + b"\x07", lambda _: b""]
)
def test_a_damaged_fit_is_made_anew(tmp_path: Path, damage: object) -> None:
    learner = Learner()
    call(tmp_path, learner)
    [file] = (tmp_path / "fits").iterdir()
    whole = file.read_bytes()
    file.write_bytes(damage(whole))  # type: ignore[operator]
    assert call(tmp_path, learner).words and learner.learned == 2
    assert file.read_bytes() == whole


def test_a_fit_of_another_type_is_made_anew(tmp_path: Path) -> None:
    learner = Learner()
    load_or_fit(tmp_path, Learner, MATERIAL, int, lambda: 7)
    assert call(tmp_path, learner).words and learner.learned == 1


def test_without_a_folder_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    learner = Learner()
    assert call(Path(), learner).words and call(Path(), learner).words
    assert learner.learned == 2 and not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    (tmp_path / "fits").write_text("in the way")
    learner = Learner()
    assert call(tmp_path, learner).words and call(tmp_path, learner).words
    assert learner.learned == 2
