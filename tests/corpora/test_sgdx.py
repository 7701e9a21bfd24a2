"""SGD-X: names by position, on copies, with an intent that is not a slot of that name."""

from __future__ import annotations

import copy
import hashlib
import json
from pathlib import Path

import pytest

from dstress import corpora
from dstress.corpora import sgdx
from dstress.corpora.sgd import Sgd
from dstress.errors import CorpusError, UnknownNameError
from dstress.storage.sources import open_source
from tests.corpora import layouts


def variant_folder(folder: Path) -> Path:
    schema = copy.deepcopy(layouts.sgd_schema())
    schema[0]["service_name"] = "Lodging_1"
    # Names swap places: replacing them one after the other, in place, would merge the two.
    schema[0]["slots"][0]["name"], schema[0]["slots"][1]["name"] = "day", "price"
    schema[0]["slots"][2]["name"] = "purpose"
    schema[0]["intents"][0]["name"] = "FindLodging"
    for split in ("train", "test"):
        layouts.write_json(folder / "v1" / split / "schema.json", schema)
    return folder


def test_a_variant_renames_dialogues_as_they_are_read(tmp_path: Path) -> None:
    corpora.add("sgd", layouts.sgd(tmp_path / "sgd"))
    (added,) = corpora.add("sgd-x", variant_folder(tmp_path / "x"))
    (dialogue,) = corpora.load("sgd-x/v1:test")
    assert added.name == "sgd-x/v1" and dialogue.services == ("Lodging_1", "Taxis_1")
    assert dialogue.turns[1].state == {"Lodging_1-day": ("cheap",), "Lodging_1-price": ("tuesday", "the 3rd")}
    frame = dialogue.turns[0].frames[0]
    assert (frame.intent, frame.spans[0].slot) == ("FindLodging", "day")
    assert frame.acts[0].values == ("FindLodging",) and frame.acts[0].slot == "intent"
    assert dialogue.turns[2].system_frames[0].acts[0].slot == "purpose"


def test_written_files_import_to_the_same_dialogues(tmp_path: Path) -> None:
    sgd, variants = layouts.sgd(tmp_path / "sgd"), variant_folder(tmp_path / "x")
    corpora.add("sgd", sgd)
    corpora.add("sgd-x", variants)
    with open_source(sgd) as source, open_source(variants) as schemas:
        written = list(sgdx.write_variants(source, schemas, tmp_path / "out"))
    assert sorted(path.name for path in written) == ["dialogues_001.json"] * 2 + ["schema.json"] * 2
    assert list(corpora.load(f"{tmp_path}/out/v1/test:test")) == list(corpora.load("sgd-x/v1:test"))


def test_variants_need_their_base(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="sgd"):
        corpora.add("sgd-x", variant_folder(tmp_path))


def test_a_variant_of_another_release_is_refused(tmp_path: Path) -> None:
    corpora.add("sgd", layouts.sgd(tmp_path / "sgd"))
    folder = variant_folder(tmp_path / "x")
    layouts.write_json(folder / "v1/test/schema.json", layouts.sgd_schema()[:1])
    corpora.add("sgd-x", folder)
    with pytest.raises(CorpusError, match="by position"):
        corpora.load("sgd-x/v1:test")


def official_name(path: Path) -> str:
    return "/".join(path.parts[-3:])


@pytest.mark.slow
def test_every_file_equals_the_official_generator_s(shared: Path, tmp_path: Path) -> None:
    """Byte for byte; and the dialogues that are renamed as they are read are the ones in those files."""
    official = json.loads((shared / "golden/sgdx/generator_checksums.json").read_text())
    wanted = {key.rpartition("/")[2] for key in official}
    archives = [shared / f"data/sgd/{split}.tar.xz" for split in ("train", "dev", "test")]
    written = {}
    with open_source(*archives) as sgd, open_source(shared / "data/sgd/sgd_x.tar.xz") as schemas:
        sgd.keep(lambda file: file.stem == "schema.json" or (file.folder == "test" and file.stem in wanted))
        for path in sgdx.write_variants(sgd, schemas, tmp_path):
            written[official_name(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
    assert {name: written[name] for name in official} == {name: entry["sha256"] for name, entry in official.items()}
    assert len(official) == 45


def test_dialogues_renamed_as_they_are_read_are_those_of_the_generator(shared: Path, tmp_path: Path) -> None:
    samples = shared / "golden/sgdx/samples"
    for split in ("train", "test"):
        with open_source(shared / f"data/sgd/{split}.tar.xz") as source:
            layouts.write_json(tmp_path / f"sgd/{split}/schema.json", json.loads(source.named("schema.json")[0].read()))
    original = json.loads((samples / "orig_dialogues_017_first3.json").read_text())
    layouts.write_json(tmp_path / "sgd/test/dialogues_017.json", original)
    corpora.add("sgd", tmp_path / "sgd")
    corpora.add("sgd-x", shared / "data/sgd/sgd_x.tar.xz")
    for variant in ("v1", "v2", "v3", "v4", "v5"):
        generated = json.loads((samples / f"{variant}_dialogues_017_first3.json").read_text())
        layouts.write_json(tmp_path / variant / "test/dialogues_017.json", generated)
        layouts.write_json(tmp_path / variant / "test/schema.json", [])
        with open_source(tmp_path / variant) as source:
            (split,) = Sgd().splits(source)
            assert [dialogue for _, dialogue in split.dialogues()] == list(corpora.load(f"sgd-x/{variant}:test"))


def test_variants_that_are_missing_are_in_the_catalogue() -> None:
    with pytest.raises(UnknownNameError) as caught:
        corpora.load("sgd-x/v1:test")
    assert caught.value.fix == "`dstress corpora add sgd-x` downloads it"
