"""No secret reaches a file, a name of a file or the terminal, whatever a server sends back."""

from __future__ import annotations

import html
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest.mock import Mock
from urllib.parse import quote, quote_plus

import markupsafe
import pytest

from benchmarks.reminder import schema
from dstress.api import Answer, Context, Resources, Tracker
from dstress.cli.main import main
from dstress.dialogue import slot_id
from dstress.errors import DstressError
from dstress.llm.post import checked_url
from dstress.pipeline.track import _failure
from dstress.storage.secrets import read_secret, redact
from dstress.stressors.translators import translators
from dstress.trackers import trackers
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


class TellsItsKey(Tracker):
    """Reads a key from a file once it is prepared, in whatever process that is, and puts it wherever it can."""

    def __init__(self, path: str, when: str) -> None:
        self.path, self.when = path, when

    def prepare(self, resources: Resources) -> None:
        self.key = read_secret(f"file:{self.path}")
        if self.when == "prepare":
            raise RuntimeError(f"no entry with {self.key}")

    def track(self, contexts: Sequence[Context]) -> list[Answer]:
        if self.when == "raise":
            raise RuntimeError(f"no entry with {self.key}")
        return [{SLOT: self.key} for _ in contexts]


@pytest.mark.parametrize(
    "when", ["prepare", *(pytest.param(one, marks=pytest.mark.slow) for one in ("raise", "answer"))]
)
def test_a_key_that_only_a_worker_has_read(when: str, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(SECRET)
    spec = f'tests.attacks.test_secrets:TellsItsKey(path="{tmp_path}/key", when={when})'
    command = [
        sys.executable,
        "-m",
        "dstress",
        *RUN,
        "--tracker",
        spec,
        "--out",
        str(tmp_path / "run"),
        "--workers",
        "2",
    ]
    ended = subprocess.run(command, capture_output=True, check=False)
    said = ended.stdout + ended.stderr
    assert (b"no entry with ***" in said) == (when != "answer"), said
    assert not any(part in said for part in SPELLINGS)
    assert leaks(tmp_path) == [tmp_path / "key"]


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


class Leaky(Tracker):
    """Says every secret of the environment, at a turn or before."""

    def __init__(self, early: bool = False) -> None:
        self.early = early

    def prepare(self, resources: Resources) -> None:
        if self.early:
            raise RuntimeError(" ".join(os.environ[name] for name in SEVERAL))

    def track(self, contexts: Sequence[Context]) -> list[Answer]:
        if any(context.turn for context in contexts):
            raise RuntimeError(" ".join(os.environ[name] for name in SEVERAL))
        return [{} for _ in contexts]


SEVERAL = ("DSTRESS_API_KEY", "OPENAI_API_KEY", "DSTRESS_TOKEN", "HF_TOKEN", "DB_PASSWORD")


@pytest.mark.slow
@pytest.mark.parametrize("options", ["", "(early=true)"])
def test_an_error_that_quotes_several_secrets(options: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, name in enumerate(SEVERAL):
        monkeypatch.setenv(name, f"{number}-geheim<'{number}")
    command = [sys.executable, "-m", "dstress", *RUN, "--tracker", f"tests.attacks.test_secrets:Leaky{options}"]
    ended = subprocess.run(
        [*command, "--max-failed", "100", "--out", str(tmp_path / "run")], capture_output=True, text=True, check=False
    )
    assert "***" in ended.stdout + ended.stderr and "geheim" not in ended.stdout + ended.stderr
    assert leaks(tmp_path) == []
    assert options or (ended.returncode == 0 and (tmp_path / "run" / "report.html").exists())


def test_what_only_sounds_like_a_secret_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "KEY": "restaurant",
        "TOKENIZERS_PARALLELISM": "false",
        "MY_KEY": "/etc/ssl/private.pem",
    }.items():
        monkeypatch.setenv(name, value)
        assert redact(value.encode()) == value.encode()
    for name in (
        "HF_TOKEN", "PGPASSWORD", "OPENAI_APIKEY", "SECRET", "AWS_SECRET_ACCESS_KEY", "OPENAI_API_KEY_2", "DB_PASS",
        "SECRET_KEY_BASE", "GITHUB_PAT", "accessToken", "My-Api-Key", "CREDENTIALS", "MYSQL_PWD", "SENTRY_DSN",
        "AUTHORIZATION", "OAUTH2", "MY_OAUTH", "HTTP_BEARER", "AWS_CREDS", "DB_USERPASS",
    ):  # fmt: skip
        monkeypatch.setenv(name, f"{name} of mine")
        assert redact(f"{name} of mine".encode()) == b"***"


def test_a_password_in_an_address_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, address in {
        "DSTRESS_DATABASE": "postgresql+psycopg://me:pass%2Fword-9@db/x",
        "HTTPS_PROXY": "http://me:pass%2Fword-9@proxy:80",
        "REDIS_URL": "redis://:pass%2Fword-9@r",
    }.items():
        monkeypatch.setenv(name, address)
        assert redact(f"no way to {address} with pass/word-9".encode()).count(b"***") == 2
        monkeypatch.delenv(name)
        assert redact(address.encode()) == address.encode()


@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        ("AWS_SECRET_ACCESS_KEY", "/wJalrXUtnFEMI/K7MDENG+bPxRf", "/wJalrXUtnFEMI/K7MDENG+bPxRf"),
        ("SIGNING_KEY", "-----BEGIN X-----\nMIIEvQIBADANBgkqhkiG9w0B\n-----END X-----", "MIIEvQIBADANBgkqhkiG9w0B"),
        ("AUTHORIZATION", "Bearer abcdef0123456789abcdef", "abcdef0123456789abcdef"),
        ("STORAGE", "AccountName=me;AccountKey=QmFzZTY0Kg+/9==;Suffix=x", "QmFzZTY0Kg+/9=="),
        ("LIBPQ", "host=db user=me password=pass/word-9", "pass/word-9"),
        ("BLOB_URL", "https://host/blob?sv=1&sig=aB3%2FxYz9876", "aB3/xYz9876"),
    ],
)
def test_a_part_of_a_variable_that_is_a_secret_by_itself(
    name: str, value: str, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that begins like a path, a line of one that has several, and a setting in a text of several."""
    monkeypatch.setenv(name, value)
    assert redact(f"no way in with {part}!".encode()) == b"no way in with ***!"


def test_a_secret_in_any_spelling_and_one_inside_another(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = 'Zx9 "it\'s" <é&𝄞>\n\\+/='
    monkeypatch.setenv("DSTRESS_API_KEY", secret)
    in_json, in_python = json.dumps(secret)[1:-1], repr(secret)[1:-1]
    for spelling in (
        secret, in_json, json.dumps(secret, ensure_ascii=False)[1:-1], in_python, json.dumps(in_json)[1:-1],
        repr(in_python)[1:-1], json.dumps(in_python)[1:-1], quote(secret), quote_plus(secret),
        html.escape(secret), html.escape(secret, quote=False), str(markupsafe.escape(secret)), html.escape(in_json),
        html.escape(html.escape(secret)), repr(secret.encode())[2:-1], in_json.replace("<", "\\u003c"),
    ):  # fmt: skip
        assert redact(f"a{spelling}b".encode()) == b"a***b", spelling


@pytest.mark.parametrize("secret", ['"+/=abc.d', "\\\\\\abc.d", "abc.d\\x<<<"])
def test_json_stays_json_and_no_content_holds_anybody_up(secret: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DSTRESS_API_KEY", secret)
    assert json.loads(redact(json.dumps({"a": f"x {secret} y"}).encode())) == {"a": "x *** y"}
    other = secret.replace(".", "e").encode()
    assert redact(other) == other
    start = time.monotonic()
    for content in (b"\\", b"abc.d\\", b"<\\", b"&amp;", b"+/", b"\\x5c"):
        redact(b"abc.d" + content * 200_000)
    assert time.monotonic() - start < 20


def test_a_message_is_shortened_once_its_secrets_are_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of half a secret nothing would be found."""
    monkeypatch.setenv("DSTRESS_API_KEY", SECRET)
    for before in ("x" * 190, "y " * 9_995):
        problem = f"{before}{SECRET}{'z' * 2000}"
        monkeypatch.setattr("dstress.cli.main.cli.main", Mock(side_effect=DstressError(problem)))
        with pytest.raises(SystemExit):
            main([])
        said = capsys.readouterr().err
        assert "sk-" not in said and "***" in said and len(said) < 21_000


def test_a_secret_in_the_wrong_place_of_a_command_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DSTRESS_API_KEY", SECRET)
    for arguments in (["run", "--limit", SECRET], [SECRET], ["score", SECRET]):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        said = capsys.readouterr().err
        assert ended.value.code == 2 and "***" in said and "geheim" not in said
