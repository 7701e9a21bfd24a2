"""No secret reaches a file, a name of a file or the terminal, whatever a server sends back."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from dstress.cli.main import main
from dstress.corpora.reminder import schema
from dstress.dialogue import slot_id
from dstress.errors import DstressError
from dstress.llm.post import checked_url
from dstress.pipeline.track import _failure
from dstress.storage.secrets import read_secret, redact
from dstress.trackers import trackers
from dstress.translators import translators
from tests.fakes.hostile_server import body, hostile
from tests.trackers.serving import contexts, resources

SECRET = "sk-geheim-1234567890+/="
RUN = ["run", "quick", "--corpus", "reminder:test", "--limit", "2", "--only", "typos"]
SLOT = next(slot_id(service.name, slot.name) for service in schema("test").services for slot in service.slots)
SPELLINGS = (b"geheim", b"1234567890")


@pytest.mark.parametrize("before", [41, 62, 135, 280, 290])
def test_half_a_secret_is_one(before: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is quoted is cut after so many letters: a secret that stands there must not be cut in two."""
    monkeypatch.setenv("DSTRESS_API_KEY", SECRET)
    told = "x" * before + SECRET
    with hostile([body(told.encode())]) as url:
        for spec in (f'http(url="{url}", retries=0)', f'llm(model=m, base_url="{url}", retries=0)'):
            tracker = trackers.create(spec)
            tracker.prepare(resources(Path(os.environ["DSTRESS_HOME"])))
            assert "sk-geh" not in repr(tracker.track(contexts(1)))
            tracker.close()
    assert "sk-geh" not in _failure("d", 0, told).failed


class Echo(BaseHTTPRequestHandler):
    """Answers as a tracker, a translator and a language model, with all that it was told in every value."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        told = f"{self.headers.get('Authorization', '')} {self.path} {body.get('api_key', '')} {SECRET}"
        answer: dict[str, object] = {"translatedText": [told for _ in body.get("q", ())]}
        if "contexts" in body:
            answer = {"answers": [{"state": {SLOT: told}} for _ in body["contexts"]]}
        if "messages" in body:
            answer = {"choices": [{"message": {"content": json.dumps({SLOT: told})}}]}
        sent = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as serving:
        threading.Thread(target=serving.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}"
        serving.shutdown()


def leaks(folder: Path) -> list[Path]:
    found = [path for path in folder.rglob("*") if any(part.decode() in str(path) for part in SPELLINGS)]
    files = [path for path in folder.rglob("*") if path.is_file()]
    return found + [path for path in files if any(part in path.read_bytes() for part in SPELLINGS)]


@pytest.mark.parametrize("tracker", ['http(url="{}/track?api_key=${{MY_KEY}}")', 'llm(model="m", base_url="{}/v1")'])
def test_a_run_against_a_server_that_sends_the_key_back(
    tracker: str, server: str, tmp_path: Path, data_home: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("MY_KEY", SECRET)
    monkeypatch.setenv("DSTRESS_API_KEY", SECRET)
    out = tmp_path / "run"
    with pytest.raises(SystemExit):
        main([*RUN, "--tracker", tracker.format(server), "--out", str(out)])
    assert (out / "report.html").exists(), capfd.readouterr().err
    assert leaks(tmp_path) == [] and leaks(data_home) == []
    assert not any(part.decode() in "".join(capfd.readouterr()) for part in SPELLINGS)
    answers = "".join(path.read_text() for path in (out / "predictions").iterdir())
    assert "***" in answers  # the server did send it


def test_a_stressed_corpus_by_a_translator_that_sends_the_key_back(
    server: str, tmp_path: Path, data_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", SECRET)
    spec = f'paraphrase(translator=http(url="{server}/translate", key=MY_KEY))'
    with pytest.raises(SystemExit):
        main(["stress", "reminder:test", "--with", spec, "--limit", "2", "--out", str(tmp_path / "out")])
    assert list((tmp_path / "out").rglob("*.jsonl")) and leaks(tmp_path) == [] and leaks(data_home) == []


def test_a_key_is_given_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    for wrong in ("MY_KEY", SECRET, f"file:{tmp_path / 'none'}"):
        with pytest.raises(DstressError) as refused:
            translators.create(f'http(url="http://localhost:1/", key={json.dumps(wrong)})')
        assert "MY_KEY" in str(refused.value) and "geheim" not in str(refused.value)
    (tmp_path / "key").write_text(f"{SECRET}\n")
    assert read_secret(f"file:{tmp_path / 'key'}") == SECRET
    assert redact(json.dumps({"a": SECRET}).encode()) == b'{"a": "***"}'


@pytest.mark.parametrize(
    "url",
    [
        "http://me:pw@host/", "http://host/?api_key=abc", "http://host/?x=1&token=abc", "http://host/?sig=a%20b",
        "http://host/?client_secret=abc", "http://host/?x-api-key=abc", "http://host/?X-Amz-Signature=abc",
    ],
)  # fmt: skip
def test_an_address_with_a_secret_is_refused(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DstressError, match="would be stored"):
        checked_url("http", url)
    assert checked_url("http", "http://host/?max_tokens=5&monkey=1")
    for spec in (f'http(url="{url}")', f'paraphrase(translator=http(url="{url}"))'):
        with pytest.raises(SystemExit):
            main(["stress", "reminder:test", "--with", spec, "--limit", "1", "--preview", "1"])
        assert url not in "".join(capsys.readouterr())


def test_short_texts_are_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSTRESS_API_KEY", "none")
    assert redact(b'{"hotel-area": "none"}') == b'{"hotel-area": "none"}'
