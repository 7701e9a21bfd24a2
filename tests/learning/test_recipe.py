"""Recipes: what they may say, and what is said about what they may not."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from dstress.errors import DstressError, SpecError
from dstress.learning.recipe import AdversarialOptions, TrainingOptions, read_recipe, read_settings, recipe_names
from dstress.text.tables import read_table_file
from tests.paths import ROOT

RECIPE = """
family = "copy"
train = "reminder:train"
dev = "reminder:dev"

[model]
width = 8

[training]
epochs = 3
"""


def written(folder: Path, text: str) -> str:
    (folder / "recipe.toml").write_text(text)
    return str(folder / "recipe.toml")


def test_a_recipe_is_read_and_settings_change_it(tmp_path: Path) -> None:
    recipe = read_recipe(written(tmp_path, RECIPE), ["training.rate=0.5", "model.width=16", "dev=other:dev"])
    assert (recipe.training.epochs, recipe.training.rate, recipe.dev) == (3, 0.5, "other:dev")
    assert not recipe.training.adversarial
    assert read_recipe(written(tmp_path, RECIPE), ["training.adversarial.steps=3"]).training.adversarial == (
        AdversarialOptions(steps=3)
    )
    assert recipe.model == {"width": "16"}  # of which the family knows what it is


def test_settings_change_no_later_reading_of_a_built_in_recipe() -> None:
    before = read_recipe("copy-reminder")
    assert read_recipe("copy-reminder", ["training.epochs=99"]).training.epochs == 99
    assert read_recipe("copy-reminder") == before


def test_every_recipe_that_comes_along_can_be_read() -> None:
    assert {"copy-multiwoz", "copy-reminder"} <= set(recipe_names())
    assert all(read_recipe(name).family for name in recipe_names())


@pytest.mark.parametrize(
    ("text", "settings", "words"),
    [
        (RECIPE.replace("epochs", "epoch"), [], r"recipe.toml, \[training\]: unknown setting 'epoch'.*'epochs'"),
        (RECIPE.replace("family", "famly"), [], "unknown setting 'famly'.*'family'"),
        (RECIPE.replace("epochs = 3", "epochs = 0"), [], r">= 1 - at `\$\.epochs`"),
        (RECIPE.replace("epochs = 3", "epochs = 'many'"), [], "epochs"),
        (RECIPE.replace("epochs = 3", "average = 1.0"), [], "average"),
        (RECIPE.replace('dev = "reminder:dev"', ""), [], "dev"),
        (
            RECIPE,
            ["training.adversarial.wieght=1"],
            r"\[training\], \[adversarial\]: unknown setting 'wieght'.*'weight'",
        ),
        (RECIPE, ["augment.stressor=typos", "augment.copies=2"], r"\[augment\]: unknown setting 'copies'.*times"),
        (RECIPE, ["augment.times=2"], "stressor"),
        (RECIPE, ["training.adversarial.epsilon=0"], r"\[adversarial\].*> 0.0 - at `\$\.epsilon`"),
        (RECIPE, ["training.epochs"], "--set.*no setting"),
        (RECIPE, ["family.name=1"], "--set.*no setting"),
        ("epochs =", [], "no TOML"),
    ],
)
def test_what_a_recipe_may_not_say(tmp_path: Path, text: str, settings: list[str], words: str) -> None:
    with pytest.raises(DstressError, match=words):
        read_recipe(written(tmp_path, text), settings)


def test_an_unknown_recipe_suggests_the_nearest() -> None:
    with pytest.raises(DstressError, match="did you mean 'copy-multiwoz'"):
        read_recipe("copy-multiwos")


def test_the_training_page_lists_every_option_and_its_recipe_can_be_read(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "training.md").read_text("utf-8")
    recipe = read_recipe(written(tmp_path, page.partition("```toml\n")[2].partition("```")[0]))
    assert (recipe.family, recipe.training.average) == ("copy", 0.98)
    assert [name for name in recipe_names() if f"| `{name}` |" not in page] == []
    options = (*TrainingOptions.__struct_fields__, *AdversarialOptions.__struct_fields__)
    assert [name for name in options if f"| `{name}` |" not in page] == []


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e999"])
def test_numbers_that_are_none_are_refused(number: str, tmp_path: Path) -> None:
    class Settings(msgspec.Struct):
        rate: float = 0.1

    with pytest.raises(SpecError, match=r"not a finite number|out of range"):
        read_settings({"rate": number}, Settings, "recipe")
    (tmp_path / "a.toml").write_text(f"rate = {number}\n", encoding="utf-8")
    with pytest.raises(DstressError, match="not a finite number"):
        read_table_file(tmp_path / "a.toml", "recipe")
