"""Translators: the contract, Apertium's lasting processes, a real HTTP service, tiny models."""

from __future__ import annotations

import json
import pickle
import random
import sys
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from benchmarks import reminder
from dstress.errors import DstressError, MissingExtraError, SpecError
from dstress.stressors.translators import Translation, Translator, translators
from dstress.stressors.translators.apertium import Apertium
from dstress.stressors.translators.http import Http
from dstress.stressors.translators.round_trip import round_trips, steps
from tests.parts import need


class Letters(Translator):
    """Adds the target language, in two candidates."""

    def check(self, source: str, target: str) -> None:
        return

    def translate(self, texts: Sequence[str], source: str, target: str) -> list[list[Translation]]:
        return [[Translation(f"{text}>{target}{n}", -0.5 * n) for n in (1, 2)] for text in texts]


def test_a_route_is_a_chain_of_translations() -> None:
    assert steps("es") == [("en", "es"), ("es", "en")]
    assert steps("es-en-eo") == [("en", "es"), ("es", "en"), ("en", "eo"), ("eo", "en")]
    assert steps("es-en_US") == [("en", "es"), ("es", "en_US")]


def test_two_candidates_each_way_are_four_by_confidence() -> None:
    [found] = round_trips(Letters(), ["yes"], "es")
    assert [each.text for each in found] == ["yes>es1>en1", "yes>es1>en2", "yes>es2>en1", "yes>es2>en2"]
    assert [each.score for each in found] == [-1.0, -1.5, -1.5, -2.0]


def test_the_door_knows_three() -> None:
    assert list(translators) == ["apertium", "http", "huggingface"]
    assert translators.create("apertium(timeout=3)").__class__.__name__ == "Apertium"
    with pytest.raises(SpecError):
        translators.create("apertium(timeout=0)")
    with pytest.raises(SpecError):
        translators.create('http(url="ftp://x")')


# Apertium


@pytest.fixture
def apertium() -> Iterator[Apertium]:
    need("apertium")
    translator = Apertium()
    yield translator
    translator.close()


def sentences(count: int) -> list[str]:
    found = {turn.user for dialogue in reminder.generate("test") for turn in dialogue.turns}
    # These words change some taggers for good; see apertium.toml.
    return [*sorted(found)[:count], "It is included .", "the post code", "I 'd like that near the wo n't"]


@pytest.mark.slow
@pytest.mark.parametrize("pivot", ["es", "eo", "ca", "gl"])
def test_what_comes_back_does_not_depend_on_its_neighbours(apertium: Apertium, pivot: str) -> None:
    texts = sentences(60)
    expected = dict(zip(texts, round_trips(apertium, texts, pivot), strict=True))
    shuffled = random.Random(3).sample(texts, len(texts))
    apertium.close()
    for at in range(0, len(shuffled), 40):
        part = shuffled[at : at + 40]
        assert round_trips(apertium, part, pivot) == [expected[text] for text in part]
    for text in shuffled[:1]:
        alone = Apertium()
        assert round_trips(alone, [text], pivot) == [expected[text]]
        alone.close()


def test_one_process_chain_serves_all_batches(apertium: Apertium) -> None:
    apertium.translate(["I need a hotel"], "en", "es")
    [pipeline] = apertium._running.values()
    before = [process.pid for process in pipeline._processes]
    assert apertium.translate(["thanks", "a cheap hotel"], "en", "es") == [
        [Translation("gracias")],
        [Translation("Un hotel barato")],
    ]
    assert [process.pid for process in pipeline._processes] == before


HARD = [
    "",
    "   ",
    "a\x00b\nnew line\r\n\ttab \x07 bell",
    "[x] {y} ^z/w$ @a *b #c \\d <e> ~f",
    "שלום אני צריך מלון",
    "مرحبا بكم",
    "🏨 please 👍🏽 ok",
    "\ud800 a lone surrogate",
    "word " * 10_000,
]


def test_every_text_gets_its_own_answer(apertium: Apertium) -> None:
    answers = apertium.translate([*HARD, "thanks"], "en", "es")
    assert len(answers) == len(HARD) + 1
    assert answers[-1] == [Translation("gracias")]
    assert "שלום" in answers[4][0].text and "🏨" in answers[6][0].text
    assert answers[8][0].text.lower().count("palabra") == 10_000


def test_variants_of_a_language(apertium: Apertium) -> None:
    apertium.check("es", "en_US")
    [[american]] = apertium.translate(["el centro"], "es", "en_US")
    assert american.text == "The center"


def test_it_travels_without_its_processes(apertium: Apertium) -> None:
    apertium.translate(["thanks"], "en", "es")
    copy = pickle.loads(pickle.dumps(Apertium(timeout=7.0)))
    assert copy.timeout == 7.0 and copy._running == {}


def test_a_missing_pair_names_its_package(tmp_path: Path) -> None:
    (tmp_path / "modes").mkdir()
    with pytest.raises(MissingExtraError) as error:
        Apertium(folder=tmp_path).check("en", "eo")
    assert "apt install apertium apertium-eo-en" in str(error.value) and "Homebrew" in str(error.value)


def test_a_missing_apertium_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingExtraError, match="apertium is not installed"):
        Apertium().check("en", "es")


def test_a_missing_program_of_a_mode_is_told(tmp_path: Path) -> None:
    (tmp_path / "modes").mkdir()
    (tmp_path / "modes" / "en-es.mode").write_text("no-such-program 'x.bin' | cat")
    with pytest.raises(MissingExtraError, match="no-such-program"):
        Apertium(folder=tmp_path).check("en", "es")


FAULTY = """
import os, sys, time
mark = sys.argv[2]
held = b""
while True:
    more = os.read(0, 65536)
    if not more:
        break
    *texts, held = (held + more).split(b"\\0")
    for text in texts:
        if b"die" in text:
            sys.exit(3)
        if b"hang" in text:
            time.sleep(60)
        if b"once" in text and not os.path.exists(mark):
            open(mark, "w").close()
            sys.exit(3)
        if b"skip" in text:
            continue
        os.write(1, text.upper() + b"\\0")
"""


@pytest.fixture
def faulty(tmp_path: Path) -> Iterator[Apertium]:
    """A translator made of a real program that fails at some texts."""
    (tmp_path / "modes").mkdir()
    program = tmp_path / "faulty"
    program.write_text(f"#!{sys.executable}\n{FAULTY}")
    program.chmod(0o755)
    (tmp_path / "modes" / "en-es.mode").write_text(f"'{program}' '{tmp_path / 'mark'}'")
    translator = Apertium(timeout=1.0, folder=tmp_path)
    yield translator
    translator.close()


@pytest.mark.parametrize("bad", ["die", "hang", "skip"])
def test_a_text_that_kills_or_hangs_it_is_left_out(faulty: Apertium, bad: str) -> None:
    answers = faulty.translate(["one", "two", bad], "en", "es")
    assert answers == [[Translation("ONE")], [Translation("TWO")], []]
    assert faulty.translate(["three"], "en", "es") == [[Translation("THREE")]]


def test_the_texts_after_a_bad_one_are_translated(faulty: Apertium) -> None:
    assert faulty.translate(["one", "die", "two"], "en", "es") == [[Translation("ONE")], [], [Translation("TWO")]]


def test_a_program_that_dies_once_is_started_again(faulty: Apertium) -> None:
    assert faulty.translate(["once", "two"], "en", "es") == [[Translation("ONCE")], [Translation("TWO")]]


# HTTP


class Service(BaseHTTPRequestHandler):
    """A LibreTranslate-like service that turns texts round, and fails when told to."""

    failures: list[Any]
    asked: list[dict[str, Any]]

    def do_POST(self) -> None:
        told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        type(self).asked.append(told)
        failure = type(self).failures.pop(0) if type(self).failures else None
        if failure == "close":
            self.close_connection = True
            return
        if any("poison" in text for text in told["q"]):
            failure = 500
        if isinstance(failure, int):
            self.send_response(failure)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        answers = [text[::-1] for text in told["q"]][: -1 if failure == "fewer" else None]
        body: dict[str, Any] = {"translatedText": answers}
        if "alternatives" in told:
            body["alternatives"] = [[answer.upper()] * told["alternatives"] for answer in answers]
        self.send_response(200)
        data = json.dumps(body).encode() if failure != "garbage" else b"<html>"
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        return


@pytest.fixture
def service() -> Iterator[str]:
    Service.failures, Service.asked = [], []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/translate"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def client(service: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Http]:
    monkeypatch.setenv("SERVICE_KEY", "k")
    http = Http(service, key="SERVICE_KEY", timeout=5.0, retries=2)
    yield http
    http.close()


def test_a_service_is_asked_in_batches(client: Http) -> None:
    texts = [f"text {number}" for number in range(70)]
    assert client.translate(texts, "en", "fr") == [[Translation(text[::-1])] for text in texts]
    assert [len(told["q"]) for told in Service.asked] == [32, 32, 6]
    assert Service.asked[0] | {"q": 0} == {"q": 0, "source": "en", "target": "fr", "api_key": "k"}


@pytest.mark.parametrize(("failure", "asked"), [(429, [2, 2]), (503, [2, 2]), ("close", [2, 2]), ("fewer", [2, 1, 1]),
                                                ("garbage", [2, 1, 1])])  # fmt: skip
def test_a_failure_is_retried(client: Http, failure: Any, asked: list[int]) -> None:
    Service.failures = [failure]
    assert client.translate(["ab", "cd"], "en", "fr") == [[Translation("ba")], [Translation("dc")]]
    assert [len(told["q"]) for told in Service.asked] == asked


def test_a_text_the_service_fails_at_leaves_the_others(service: str) -> None:
    http = Http(service, retries=0)
    assert http.translate(["ab", "poison"], "en", "fr") == [[Translation("ba")], []]
    http.close()


def test_several_candidates(service: str) -> None:
    http = Http(service, num=2)
    assert http.translate(["ab"], "en", "fr") == [[Translation("ba"), Translation("BA")]]
    http.close()


def test_a_refusal_is_told(client: Http) -> None:
    Service.failures = [403]
    with pytest.raises(DstressError, match="not let in: 403"):
        client.check("en", "fr")


def test_a_service_that_is_not_there_is_told_before_any_work() -> None:
    http = Http("http://127.0.0.1:9/translate", retries=0, timeout=2.0)
    with pytest.raises(DstressError, match="nobody answers"):
        http.check("en", "fr")
    http.close()


def test_a_client_travels(client: Http) -> None:
    client.check("en", "fr")
    copy = pickle.loads(pickle.dumps(client))
    assert copy.translate(["ab"], "en", "fr") == [[Translation("ba")]]
    copy.close()


# Hugging Face


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Two tiny Marian models with random weights and a tokenizer of forty words."""
    need("models")
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import MarianConfig, MarianMTModel, PreTrainedTokenizerFast

    words = ["<pad>", "</s>", "<unk>", *(f"w{number}" for number in range(37))]
    raw = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    raw.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="<pad>", eos_token="</s>", unk_token="<unk>", model_max_length=512
    )
    folder = tmp_path_factory.mktemp("models")
    for seed, name in enumerate(("there", "back")):
        torch.manual_seed(seed)
        sizes = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1}
        heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
        wide = {"encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "max_position_embeddings": 600}
        marks = {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0, "forced_eos_token_id": 1}
        model = MarianMTModel(MarianConfig(vocab_size=len(words), init_std=1.0, **sizes, **heads, **wide, **marks))
        model.generation_config.bad_words_ids = None
        model.save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    return str(folder / "there"), str(folder / "back")


@pytest.mark.filterwarnings("ignore")
def test_beams_give_k_by_k_candidates(models: tuple[str, str]) -> None:
    translator = translators.create(f'huggingface(model="{models[0]}", back="{models[1]}", num=3)')
    translator.check("en", "pivot")
    texts = ["w1 w2 w3", "w4 w5", "w6 w7 w8", "", "w9 " * 2000]
    found = translator.translate(texts, "en", "pivot")
    assert all(1 <= len(each) <= 3 for each in found[:3])  # a beam may end without a word
    assert len(found[0]) == 3 and found[3:] == [[], []]
    assert all(each.score < 0 for each in found[0])
    assert found[0] == sorted(found[0], key=lambda each: -each.score)
    assert [each.text for each in translator.translate(texts[:1], "en", "pivot")[0]] == [each.text for each in found[0]]
    [candidates] = round_trips(translator, texts[:1], "pivot")
    assert 3 <= len(candidates) <= 9


@pytest.mark.filterwarnings("ignore")
def test_there_and_back_are_two_models(models: tuple[str, str]) -> None:
    translator = translators.create(f'huggingface(model="{models[0]}", back="{models[1]}", num=1)')
    assert translator.translate(["w1 w2 w3"], "en", "x") != translator.translate(["w1 w2 w3"], "x", "en")


@pytest.mark.filterwarnings("ignore")
def test_a_model_that_is_not_there_is_told(tmp_path: Path) -> None:
    need("models")
    translator = translators.create(f'huggingface(model="{tmp_path}", back="{tmp_path}")')
    with pytest.raises(MissingExtraError, match="cannot be read"):
        translator.check("en", "x")


def test_a_missing_extra_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dstress.stressors.translators.huggingface.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"needs torch"):
        translators.create("huggingface(model=a, back=b)").check("en", "x")
