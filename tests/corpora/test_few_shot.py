"""Few-shot tasks: what is drawn follows the rule that is stored, and depends on the seed and the ids alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dstress import corpora
from dstress.cli.main import main
from dstress.corpora import few_shot, store
from dstress.corpora.base import LocatedDialogue, Split
from dstress.corpora.database import Database
from dstress.corpora.few_shot import Pool
from dstress.dialogue import Dialogue, Frame, Goal, Schema, Service, Slot, State, Turn
from dstress.errors import CorpusError, DstressError
from dstress.pipeline.stress import stress

pytestmark = pytest.mark.usefixtures("empty_home")

SCHEMA = Schema(tuple(Service(name, slots=(Slot("area"),)) for name in ("hotel", "taxi", "police", "train")))
COUNTS = {"train": 30, "dev": 6, "test": 6}


def dialogue(id: str, *services: str) -> Dialogue:
    state: State = {f"{service}-area": ("north",) for service in services}
    turn = Turn("hi", "hello", state, tuple(Frame(service) for service in services))
    return Dialogue(id, (turn,), services, Goal("", state))


def add_source(name: str = "source", prefix: str = "{split}") -> None:
    """Per split a third about hotels alone, a third about taxis alone, a third about hotels and trains."""
    groups = (("hotel",), ("taxi",), ("hotel", "train"))

    def split(split: str, count: int) -> Split:
        ids = [f"{prefix.format(split=split)}{number}" for number in range(count)]
        found: list[LocatedDialogue] = [("here", dialogue(id, *groups[place % 3])) for place, id in enumerate(ids)]
        return Split(split, SCHEMA, lambda: iter(found))

    splits = iter([("dstress", split(name, count)) for name, count in COUNTS.items()])
    store.add(
        name, "made up", splits, database=Database({"hotel": [{"name": "Inn"}, {"name": "Spa", "splits": "dev"}]})
    )


def ids(name: str) -> list[str]:
    return [dialogue.id for dialogue in corpora.load(name)]


def draw(name: str, seed: int = 1, domains: str = "hotel,taxi", **sizes: list[int]) -> set[str]:
    """The ids of a single-domain task's training split."""
    few_shot.store_single_domain(Pool("source", seed), name, domains.split(","), sizes)
    return set(ids(f"{name}:train"))


def test_single_domain_dialogues_come_from_all_splits() -> None:
    add_source()
    draw("few", train=[3, 4], test=[9, 8])
    for split, sizes in (("train", {("hotel",): 3, ("taxi",): 4}), ("test", {("hotel",): 9, ("taxi",): 8})):
        found = [one.services for one in corpora.load(f"few:{split}")]
        assert {services: found.count(services) for services in sizes} == sizes and len(found) == sum(sizes.values())
    everything = ids("few:train") + ids("few:test")
    assert len(set(everything)) == len(everything)
    assert {id.rstrip("0123456789") for id in everything} == {"train", "dev", "test"}
    assert list(corpora.load("few:test").schema.by_name) == ["hotel", "taxi"]
    assert all(one.goal for one in corpora.load("few:test"))


def test_a_task_has_the_whole_database() -> None:
    """Its dialogues are from all splits, and so are the rows that they speak of."""
    add_source()
    draw("few", train=[3, 3], test=[4, 4])
    names = {
        name: [row["name"] for row in database.tables["hotel"]]
        for name in ("source:test", "source:dev", "few:test")
        if (database := corpora.load(name).database)
    }
    assert names == {"source:test": ["Inn"], "source:dev": ["Inn", "Spa"], "few:test": ["Inn", "Spa"]}


def test_the_rule_and_the_ids_are_stored() -> None:
    add_source()
    draw("few", train=[3, 3], test=[4, 4])
    selection = store.require_manifest("few").selection
    assert selection and (selection.corpus, selection.seed, selection.notes) == ("source", 1, ())
    assert "one domain alone" in selection.rule
    assert {split: set(found) for split, found in selection.ids.items()} == {
        split: set(ids(f"few:{split}")) for split in ("train", "test")
    }


def test_the_seed_and_the_ids_alone_decide() -> None:
    add_source()
    first = draw("a", train=[3, 3], test=[4, 4])
    assert draw("b", train=[3, 3], test=[4, 4]) == first
    assert draw("c", seed=2, train=[3, 3], test=[4, 4]) != first
    assert draw("d", train=[5, 5], test=[4, 4]) > first
    assert ids("d:test") == ids("a:test")
    alone = draw("e", domains="taxi", train=[3], test=[4])
    assert alone == {one.id for one in corpora.load("a:train") if one.services == ("taxi",)}


def test_where_there_are_too_few_the_sizes_shrink_in_proportion_and_it_is_said() -> None:
    add_source()
    draw("few", train=[10, 4], test=[30, 4])
    selection = store.require_manifest("few").selection
    assert selection
    assert selection.notes == ("hotel has 14 single-domain dialogues: 11 of 30 for test, 3 of 10 for train",)
    assert len(ids("few:train")) == 3 + 4 and len(ids("few:test")) == 11 + 4


@given(st.lists(st.integers(0, 300), min_size=1, max_size=4), st.integers(0, 600))
def test_shares_are_the_sizes_or_all_that_there_are(wanted: list[int], there: int) -> None:
    shares = few_shot._shares(wanted, there)
    assert sum(shares) == min(sum(wanted), there)
    for share, size in zip(shares, wanted, strict=True):
        assert abs(share - size * min(1, there / max(1, sum(wanted)))) < 1 and share <= size


def test_k_shots_are_a_draw_of_the_training_split() -> None:
    add_source()
    few_shot.store_k_shot(Pool("source", 3), "few", {"train": "20%", "test": "4"})
    assert ids("few:train") == [one.id for one in corpora.load("source:train", draw=6, seed=3)]
    assert ids("few:dev") == ids("source:dev") and len(ids("few:test")) == 4
    few_shot.store_k_shot(Pool("source"), "more", {"train": "99"})
    selection = store.require_manifest("more").selection
    assert selection and selection.notes == ("30 of 99 for train: there are no more",)


def test_a_domain_left_out_is_in_no_training_dialogue_and_alone_in_test() -> None:
    add_source()
    few_shot.store_left_out(Pool("source"), "out/train", "train", shots="30%", draws=2)
    for split in ("train", "dev"):
        left = corpora.load(f"out/train:{split}")
        assert "train" not in left.schema.by_name and "train" not in {name for one in left for name in one.services}
        assert len(left) == COUNTS[split] * 2 // 3
    test = corpora.load("out/train:test")
    assert test.seen == {"hotel", "taxi", "police"} and list(test.schema.by_name) == ["train"]
    assert len(test) == 2
    for one in test:
        assert set(one.turns[0].state) == {"train-area"} and one.services == ("train",)
        assert [frame.service for frame in one.turns[0].frames] == ["train"]
        assert one.goal and set(one.goal.inform) == {"train-area"}
    assert len(ids("out/train:shots.d1")) == len(ids("out/train:shots.d2")) == 3
    assert ids("out/train:shots.d1") != ids("out/train:shots.d2")
    assert "shots" not in few_shot.store_left_out(Pool("source"), "zero/train", "train").splits


def test_ids_that_several_splits_share_are_told_apart() -> None:
    add_source(prefix="")
    draw("few", train=[3, 3], test=[4, 4])
    everything = ids("few:train") + ids("few:test")
    assert len(set(everything)) == 14
    shared = [id for id in everything if int(id.rpartition("-")[2]) < COUNTS["test"]]
    assert shared and all(("-" in id) == (id in shared) for id in everything)


def test_the_same_task_again_changes_nothing_and_another_is_refused(data_home: Path) -> None:
    add_source()
    draw("few", train=[3, 3], test=[4, 4])
    before = (data_home / "corpora/few/corpus.json").read_bytes()
    draw("few", train=[3, 3], test=[4, 4])
    with pytest.raises(CorpusError, match="it is another one"):
        draw("few", seed=2, train=[3, 3], test=[4, 4])
    assert (data_home / "corpora/few/corpus.json").read_bytes() == before


def test_every_domain_that_training_and_test_have_is_left_out_once(capsys: pytest.CaptureFixture[str]) -> None:
    add_source()
    with pytest.raises(SystemExit) as stop:
        main(["corpora", "few-shot", "source", "--leave-one-out", "--shots", "2", "--name", "out"])
    assert stop.value.code == 0 and ["out/train", "shots", "2", "2"] in map(
        str.split, capsys.readouterr().out.splitlines()
    )
    assert store.stored_names() == ["out/hotel", "out/taxi", "out/train", "source"]


BAD = [
    (["--domains", "hotle", "--train", "3", "--test", "3"], "'hotel'"),
    (["--domains", "hotel,taxi", "--train", "3", "--test", "3,4,5"], "3 sizes for 2 domains"),
    (["--domains", "hotel", "--train", "x", "--test", "3"], "no list of sizes"),
    (["--domains", "train", "--train", "3", "--test", "3"], "no dialogue of source is left"),
    (["--domains", "hotel", "--train", "3"], "--test"),
    (["--leave-one-out", "--train", "3"], "--shots"),
    (["--leave-one-out", "--draws", "2"], "--shots"),
    (["--shots", "3", "--train", "3"], "--leave-one-out"),
    (["--train", "3", "--name", "reminder"], "'reminder'"),
    (["--train", "many"], "no number of dialogues"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_a_task_that_cannot_be_is_one_message(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    add_source()
    with pytest.raises(SystemExit) as stop:
        main(["corpora", "few-shot", "source", *arguments])
    assert stop.value.code == 2 and message in capsys.readouterr().err
    assert store.stored_names() == ["source"]


def test_a_task_without_the_split_it_needs_is_refused() -> None:
    located: list[LocatedDialogue] = [("here", dialogue("one", "hotel"))]
    store.add("source", "made up", iter([("dstress", Split("test", SCHEMA, lambda: iter(located)))]))
    with pytest.raises(DstressError, match="unknown split of source 'train'"):
        few_shot.store_left_out(Pool("source"), "out", "hotel")


def test_draws_are_named_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    add_source()
    sizes = ["--domains", "hotel,taxi", "--train", "2", "--test", "3,4"]
    for arguments in (["few-shot", "source", *sizes, "--draws", "2", "--name", "few"], ["show", "few/d2"]):
        with pytest.raises(SystemExit) as stop:
            main(["corpora", *arguments])
        assert stop.value.code == 0
        assert "rule: the dialogues of one domain alone" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["corpora", "show", "few/d1", "--json"])
    shown = json.loads(capsys.readouterr().out)
    assert (shown["splits"]["test"]["dialogues"], shown["selection"]["seed"]) == (7, 1)
    assert store.require_manifest("few/d2").source == "drawn from source, seed 2"


@pytest.mark.slow
def test_raddles_sizes_can_be_had_of_multiwoz(shared: Path) -> None:
    """docs/few-shot.md: RADDLE's are all there, CheckDST's but for attraction; without training data far fewer."""
    corpora.add("trade", shared / "data/multiwoz21-trade")
    pool, five = Pool("trade"), ["attraction", "train", "hotel", "restaurant", "taxi"]
    assert [len(pool.alone(domain)) for domain in five] == [180, 390, 792, 1387, 434]
    few_shot.store_single_domain(pool, "raddle", five[:4], {"train": [50] * 4, "test": [100, 200, 200, 200]})
    made = few_shot.store_single_domain(pool, "checkdst", five, {"train": [50] * 5, "dev": [50] * 5, "test": [200] * 5})
    raddle = store.require_manifest("raddle")
    assert [raddle.splits[split].dialogues for split in ("train", "test")] == [200, 700]
    assert raddle.selection and raddle.selection.notes == (
        "0 of 700 test dialogues have a goal; inform and success need one",
    )
    assert made.selection and made.selection.notes[0] == (
        "attraction has 180 single-domain dialogues: 120 of 200 for test, 30 of 50 for dev, 30 of 50 for train"
    )


@pytest.mark.slow
def test_fifty_shots_of_reminder_and_names_that_they_do_not_have() -> None:
    """RADDLE's task of unseen entities: intents stay, and no new name is in the training dialogues."""
    task = few_shot.store_k_shot(Pool("reminder"), "fifty", {"train": "50", "dev": "0", "test": "60"})
    assert list(task.splits) == ["train", "test"] and task.splits["test"].turns > 400
    shown = {
        value for one in corpora.load("fifty:train") for values in one.turns[-1].state.values() for value in values
    }
    turns = [turn for one in stress("fifty:test", "unseen_entities(train=fifty:train)") for turn in one.turns]
    renamed = {
        values[0]
        for turn in turns
        for slot, values in turn.state.items()
        if values != turn.original.state.get(slot) and turn.changed
    }
    assert len(renamed) > 50 and not renamed & shown
    assert all(
        [frame.intent for frame in turn.frames] == [frame.intent for frame in turn.original.frames] for turn in turns
    )
    assert sum(any(frame.intent for frame in turn.frames) for turn in turns) > 400
