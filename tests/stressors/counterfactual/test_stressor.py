"""The stressor `counterfactual`: goals, words and filters together."""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from pathlib import Path

import pytest

from dstress.corpora import load
from dstress.dialogue import Dialogue, Turn, update
from dstress.errors import CorpusError, DstressError
from dstress.pipeline.evaluate import evaluate
from dstress.pipeline.stress import StressedCorpus, stress
from dstress.resources import Material, Resources
from dstress.stressors import create
from dstress.stressors.counterfactual.filters import CANDIDATES, UNTAKEN, judge
from dstress.stressors.counterfactual.stressor import GENERATED, SUBSTITUTED, Counterfactual
from dstress.stressors.generators import Candidate, Generator, Goal
from dstress.stressors.generators.goals import is_flag
from dstress.stressors.generators.matching import find_unsaid
from dstress.stressors.quality import Quality
from dstress.text.mentions import find_mentions
from dstress.text.utterance import Utterance
from tests.paths import DOCS
from tests.stressors.counterfactual.test_combinations import MULTIWOZ
from tests.stressors.generators.training import training
from tests.stressors.samples import in_memory, sample

REMINDER = sample("reminder", None, 40)


def stressed_by(arguments: str = "", seed: int = 1) -> StressedCorpus:
    train = training("reminder", None, 200)
    return stress(REMINDER, f'counterfactual(train="{train}"{", " * bool(arguments)}{arguments})', seed=seed)


@pytest.fixture(scope="module")
def plain() -> list[Dialogue]:
    return list(stressed_by("values=built"))


def changed(dialogues: list[Dialogue]) -> list[tuple[Dialogue, int]]:
    return [(d, index) for d in dialogues for index, turn in enumerate(d.turns) if turn.changed]


@pytest.mark.slow
def test_most_turns_that_say_something_say_something_else(plain: list[Dialogue]) -> None:
    tried = [
        turn for dialogue in plain for turn in dialogue.turns if turn.changed or (turn.stress and turn.stress.counts)
    ]
    assert len(tried) > 60
    assert sum(turn.changed for turn in tried) >= 0.85 * len(tried)
    assert all(turn.user != turn.original.user for turn in tried if turn.changed)


def test_new_words_say_the_new_label_and_the_history_stays(plain: list[Dialogue]) -> None:
    for dialogue, index in changed(plain):
        turn = dialogue.turns[index]
        before = dialogue.turns[index - 1].remembered.state if index else {}
        assert turn.remembered.state == turn.original.state
        new = {
            slot: forms[0]
            for slot, forms in update(before, turn.state).items()
            if forms and forms != turn.original.state.get(slot)
        }
        assert find_unsaid(turn.user, Goal(new)) == ()
        for frame in turn.frames:
            assert not frame.requested
            for span in frame.spans:
                assert f"{frame.service}-{span.slot}" in turn.state


@pytest.mark.slow
def test_operations_can_be_switched_off() -> None:
    for argument, forbidden in (("drop=0", "dropped"), ("add=0", "added"), ("change=false", "changed")):
        found = Counter[str]()
        for dialogue, index in changed(list(stressed_by(f"values=built, {argument}"))):
            turn = dialogue.turns[index]
            if turn.original.coreferences:
                continue  # what the user only refers to always goes
            before = dialogue.turns[index - 1].remembered.state if index else {}
            old, new = (update(before, state) for state in (turn.original.state, turn.state))
            said = find_mentions(Turn(turn.original.user, turn.system, turn.original.state), before)
            found["dropped"] += any(mention.slot not in new for mention in said)  # what nobody says always goes too
            found["added"] += bool(new.keys() - old.keys())
            found["changed"] += any(old[slot] != new[slot] for slot in old.keys() & new.keys())
        assert found[forbidden] == 0 and sum(found.values()) > 0, argument


def test_coco_plus_substitutes_where_nothing_passes() -> None:
    plus = stressed_by('values=built, fallback=values, generator="tests.stressors.counterfactual.test_stressor:Silent"')
    tags = Counter(tag for dialogue, index in changed(list(plus)) for tag in dialogue.turns[index].stress.tags)  # type: ignore[union-attr]
    assert tags[SUBSTITUTED] > 20 and tags[GENERATED] == 0
    alone = stressed_by('values=built, generator="tests.stressors.counterfactual.test_stressor:Silent"')
    assert changed(list(alone)) == []


def test_coco_plus_differs_from_coco_only_where_coco_has_nothing(plain: list[Dialogue]) -> None:
    plus = list(stressed_by("values=built, fallback=values"))
    both = zip(plain, plus, strict=True)
    pairs = [pair for one, other in both for pair in zip(one.turns, other.turns, strict=True)]
    assert all(one == other for one, other in pairs if one.changed)
    assert any(other.changed and not one.changed for one, other in pairs)


@pytest.mark.slow
def test_what_is_kept_on_disk_says_the_same(
    plain: list[Dialogue], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DSTRESS_HOME", str(tmp_path))
    for _ in range(2):
        monkeypatch.setattr("dstress.stressors.counterfactual.fits._fitted", OrderedDict())
        assert list(stressed_by("values=built")) == plain
        for learner in ("generators.templates.generator.learn", "counterfactual.classifier.linear.fit_exchanges"):
            monkeypatch.setattr(f"dstress.stressors.{learner}", None)
    assert len(list((tmp_path / "fits").iterdir())) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        "classifier=none",
        "fallback=values",
        "candidates=3",
        'generator="tests.stressors.counterfactual.test_stressor:Blunt"',
        'generator="tests.stressors.counterfactual.test_stressor:Blunt", classifier=none',
    ],
)
def test_goals_do_not_depend_on_who_says_and_checks_them(plain: list[Dialogue], arguments: str) -> None:
    other = list(stressed_by(f"values=built, {arguments}"))
    both = [
        (one.state, another.state)
        for dialogue, twin in zip(plain, other, strict=True)
        for one, another in zip(dialogue.turns, twin.turns, strict=True)
        if one.changed and another.changed
    ]
    assert len(both) > 40
    assert all(one == another for one, another in both)


def test_what_filters_rejected_is_counted() -> None:
    stressed = stressed_by(f'values=built, classifier=none, generator="{__name__}:Chatty"')
    quality = Quality(stressed.stressor)
    for dialogue in stressed:
        quality.add(dialogue)
    counts = quality.summary().counts
    assert counts[CANDIDATES] == sum(counts[name] for name in counts if name != CANDIDATES) > 0
    assert quality.summary().fallbacks["no candidate passed the filters"] > 20


@pytest.mark.parametrize(
    ("system", "taken"),
    [("do you need parking ?", {"hotel-parking": "yes"}), ("are you leaving ely ?", {"train-departure": "ely"})],
)
def test_what_is_asked_must_be_taken_up_by_a_yes(system: str, taken: dict[str, str]) -> None:
    said = Utterance(Dialogue("d", (Turn("yes , for 3 people", system),)), 0, MULTIWOZ, ())
    goal = Goal({"hotel-book people": "31"}, taken)
    candidates = [Candidate("i need it for 31 people ."), Candidate("yes , for 31 people .")]
    assert [verdict.filter for verdict in judge((said, goal, candidates), None)] == [UNTAKEN, ""]


@pytest.mark.parametrize("known", ["state", "offer"])
def test_a_place_that_has_its_name_is_not_looked_for(known: str) -> None:
    name = {"hotel-name": ("ashley",)}
    turns = (Turn("hello", state=name if known == "state" else {}), Turn("for 3", "shall i book the ashley ?", name))
    said = Utterance(Dialogue("d", turns), 1, MULTIWOZ, ())
    goal = Goal({"hotel-parking": "yes"}, {} if known == "state" else {"hotel-name": "ashley"})
    candidates = [Candidate("i am looking for a place with free parking ."), Candidate("it should have free parking .")]
    assert [verdict.filter for verdict in judge((said, goal, candidates), None)] == [UNTAKEN, ""]


class Silent(Generator):
    """Knows no words."""

    def prepare(self, resources: Resources, train: Material) -> None:
        return

    def generate(self, system: str, goal: Goal, n: int) -> list[Candidate]:
        return []


class Blunt(Silent):
    """Says every goal, slot by slot."""

    def generate(self, system: str, goal: Goal, n: int) -> list[Candidate]:
        said = (f"{slot.partition('-')[2]} {value}" for slot, value in goal.spoken.items())
        return [Candidate(", ".join(said))]


class Chatty(Silent):
    """Says nothing of what it should, or a time that nobody asked for."""

    def generate(self, system: str, goal: Goal, n: int) -> list[Candidate]:
        return [Candidate("hm"), Candidate(" and ".join([*goal.spoken.values(), "at 3:33 am"]))]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("counterfactual(combination=rare)", "did you mean 'combinations'"),
        ("counterfactual(dorp=1)", "unknown argument of counterfactual 'dorp'; did you mean 'drop'"),
        ("counterfactual(drop=-1)", "drop=-1 is too small"),
        ("counterfactual(drop=0, add=0, change=false)", "every goal stays as it is"),
        ("counterfactual(candidates=0)", "candidates must be 1 or more"),
        ("counterfactual(classifier=bert)", "does not fit"),
        ("counterfactual(generator=template)", "did you mean 'templates'"),
        ("counterfactual(slots=many)", "counterfactual"),
    ],
)
def test_wrong_arguments_are_told(spec: str, words: str) -> None:
    with pytest.raises(DstressError, match=words):
        create(spec)


@pytest.mark.parametrize(
    "arguments",
    [
        "drop=1",
        "generator=templates",
        "generator=templates()",
        "combinations=rare, fallback=none, classifier=linear, candidates=10, drop=1, add=2, slots=3, change=true",
    ],
)
def test_a_default_that_is_given_changes_nothing(arguments: str) -> None:
    assert create(f"counterfactual({arguments})").spec == create("counterfactual").spec == "counterfactual"


def test_a_default_that_is_given_draws_the_same(plain: list[Dialogue]) -> None:
    assert list(stressed_by("values=built, drop=1, change=true")) == plain


def test_options_have_one_order() -> None:
    assert create("counterfactual(slots=4, drop=0)").spec == create("counterfactual(drop=0, slots=4)").spec


def test_a_corpus_without_training_data_is_told() -> None:
    with pytest.raises(CorpusError, match="has no training split") as told:
        stress(REMINDER, "counterfactual")
    assert "train=" in told.value.fix


def test_a_run_is_refused_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="has no training split"):
        evaluate("coco", "gold", REMINDER, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_unlabelled_training_data_are_told(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text('{"id": "a", "turns": [{"user": "hello"}]}\n')
    with pytest.raises(DstressError):
        stress(REMINDER, f'counterfactual(values=built, train="{tmp_path}:train")')


@pytest.mark.parametrize(
    ("values", "combinations", "words"),
    [
        ("", '"reminder-what" = ["reminder-date"]', "the dictionary is empty"),
        ('"reminder-nowhere" = ["x"]', "", "unknown slot"),
        ('"alarm-hour" = ["9 am"]', "", "."),
    ],
)
def test_bad_dictionaries_are_told(tmp_path: Path, values: str, combinations: str, words: str) -> None:
    value_file, pair_file = tmp_path / "values.toml", tmp_path / "pairs.toml"
    value_file.write_text(values)
    pair_file.write_text(combinations)
    with pytest.raises(DstressError, match=words):
        stressed_by(f'values="{value_file}", combinations="{pair_file}"')


def test_dictionaries_are_of_the_corpus_at_hand(shared: Path) -> None:
    for corpus, name, where in (
        (REMINDER, "reminder", "the dictionary built from the corpus"),
        (sample("multiwoz", shared), "multiwoz", "dictionary O"),
    ):
        train = training(name, shared)
        stressor = create(f'counterfactual(train="{train}", classifier=none)')
        stressor.prepare(Resources(corpus.schema, corpus, load, Path()))
        [part] = stressor.parts
        assert isinstance(part, Counterfactual)
        assert part.dictionary.where == where


def test_sgd_is_said_in_its_own_users_words(shared: Path) -> None:
    corpus = sample("sgd", shared, 60)
    train = training("sgd", shared, 300)
    spec = f'counterfactual(train="{train}", classifier=none)'
    dialogues = list(stress(in_memory(list(corpus), corpus.schema, "sgd"), spec))
    places = changed(dialogues)
    assert len(places) > 40
    for dialogue, index in places:
        turn = dialogue.turns[index]
        assert " should be " not in turn.user
        assert turn.user[0].isupper() or turn.user[0].isdigit()
        new = {slot: forms[0] for slot, forms in turn.state.items() if turn.original.state.get(slot) != forms}
        before = dialogue.turns[index - 1].remembered.state if index else {}
        for slot, value in new.items():
            if before.get(slot) != (value,) and not is_flag(value):
                assert value in turn.user, "with its capitals"


@pytest.mark.slow
def test_the_page_shows_what_comes_out() -> None:
    page = DOCS / "stressors" / "counterfactual.md"
    shown = re.findall(
        r"^(counterfactual.*) \| (\S+), turn (\d+)\n  - (.*)\n  \+ (.*)$", page.read_text(), re.MULTILINE
    )
    assert len(shown) == 5
    corpus = load("reminder:test").take(12)
    for spec in dict.fromkeys(row[0] for row in shown):
        found = {dialogue.id: dialogue for dialogue in stress(corpus, spec)}
        for _, dialogue, turn, before, after in (row for row in shown if row[0] == spec):
            said = found[dialogue].turns[int(turn)]
            assert (said.original.user, said.user) == (before, after)
