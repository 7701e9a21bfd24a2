"""How good a trained `seq2seq` folder is: `python -m benchmarks.seq2seq_quality --folder FOLDER [--show 20]`.

A sample of a corpus's turns is generated anew twice: from the goals that its users have, and from counterfactual goals
with dictionary O and rare combinations (where the corpus is MultiWOZ; else give --values and --combinations files).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

import sacrebleu

from dstress import corpora
from dstress.corpora.base import Corpus
from dstress.generators import Candidate, Generator, Request, generators, matching
from dstress.generators.goals import own_goal
from dstress.generators.network.examples import examples_of
from dstress.generators.network.generator import Seq2Seq, load
from dstress.learning.recipe import TrainingOptions
from dstress.resources import Resources
from dstress.stressors.counterfactual import combinations, goals
from dstress.stressors.values import dictionary
from dstress.text.utterance import Utterance, random_for

_BEAM = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--corpus", default="mwz21-trade:dev")
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--values", default="O")
    parser.add_argument("--combinations", default="rare")
    parser.add_argument("--generator", default="", help="another generator's spec, to compare")
    parser.add_argument("--train", default="mwz21-trade:train", help="what another generator learns from")
    parser.add_argument("--show", type=int, default=0)
    arguments = parser.parse_args()
    corpus = corpora.load(arguments.corpus)
    if arguments.generator:
        generator: Generator = generators.create(arguments.generator)
    else:
        _perplexity(Path(arguments.folder), corpus)
        generator = Seq2Seq(arguments.folder, _BEAM)
    generator.prepare(Resources(corpus.schema, corpus, corpora.load, Path()), corpora.load(arguments.train))
    utterances = _sample(corpus, arguments.turns)
    own = [Request(each.turn.system, own_goal(each)) for each in utterances]
    found = _generate("own goals", own, generator)
    best = [candidates[0].text if candidates else "" for candidates in found]
    bleu = sacrebleu.corpus_bleu(best, [[each.text for each in utterances]], tokenize="13a", lowercase=True)
    print(f"  BLEU {bleu.score:.1f} against what the users said (sacrebleu {sacrebleu.__version__}, lower case)")
    lists = combinations.shipped(arguments.combinations).adapted(corpus.schema)
    pools = dictionary.shipped(arguments.values).adapted(corpus.schema)
    if lists is None:
        return
    wanted = [goals.draw_goal(each, pools, lists) for each in utterances]
    others = [
        Request(each.turn.system, goal.goal)
        for each, goal in zip(utterances, wanted, strict=True)
        if isinstance(goal, goals.CounterfactualGoal)
    ]
    found = _generate(f"counterfactual goals ({arguments.values}, {arguments.combinations})", others, generator)
    for request, candidates in list(zip(others, found, strict=True))[: arguments.show]:
        goal = request.goal
        print(f"\n  system: {request.system}\n  goal:   {dict(goal.spoken)}   taken: {dict(goal.unspoken)}")
        for text, score in candidates[:3]:
            print(f"    {score:6.2f}  {text}")


def _perplexity(folder: Path, corpus: Corpus) -> None:
    from dstress.generators.network.training import perplexity_of

    network, trained = load(folder), json.loads((folder / "training.json").read_text(encoding="utf-8"))
    examples = list(examples_of(corpus))[::4]
    network.module.float()
    print(f"{network.options}, {trained['weights']:,} weights, best evaluation {trained['best']}")
    perplexity = perplexity_of(network, examples, TrainingOptions(batch=128))
    print(f"perplexity {perplexity:.3f} on {len(examples):,} turns (its own tokens)")


def _sample(corpus: Corpus, count: int) -> list[Utterance]:
    """Turns with a value that the user's words say, drawn by a fixed seed."""
    utterances = [
        Utterance(dialogue, number, corpus.schema, (1, "quality"))
        for dialogue in corpus
        for number, update in enumerate(dialogue.updates())
        if any(update.values())
    ]
    random_for("seq2seq_quality").shuffle(utterances)
    chosen: list[Utterance] = []
    for each in utterances:
        if len(chosen) < count and own_goal(each).spoken:
            chosen.append(each)
    return chosen


def _generate(name: str, requests: Sequence[Request], generator: Generator) -> list[list[Candidate]]:
    start = time.perf_counter()
    found: list[list[Candidate]] = generator.generate_all(requests, _BEAM)
    seconds = time.perf_counter() - start
    complete = [
        [not matching.find_unsaid(each.text, request.goal) for each in candidates]
        for request, candidates in zip(requests, found, strict=True)
    ]
    first = sum(bool(each) and each[0] for each in complete) / len(complete)
    some = sum(any(each) for each in complete) / len(complete)
    beyond = sum(bool(matching.find_oversaid(c[0].text, a.goal)) for a, c in zip(requests, found, strict=True) if c)
    texts = len({candidates[0].text for candidates in found if candidates})
    print(
        f"{name}: {len(requests)} turns, {len(requests) / seconds:.1f} a second\n"
        f"  says all values: first candidate {first:.1%}, any of {_BEAM} {some:.1%}; {texts} different texts\n"
        f"  first candidate has a time, day or count beyond its goal: {beyond / len(requests):.1%}"
    )
    return found


if __name__ == "__main__":
    main()
