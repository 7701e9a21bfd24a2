"""Any translation service with a JSON interface like LibreTranslate's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from dstress.errors import UNREADABLE_JSON, MissingExtraError, SpecError
from dstress.llm.post import Poster, Unanswered, checked_url
from dstress.storage.secrets import read_secret
from dstress.stressors.translators.base import Translation, Translator

BATCH = 32
"""Texts in one request."""


class Fields(NamedTuple):
    """What the service calls the texts, the two languages, the answers and the other candidates."""

    texts: str = "q"
    source: str = "source"
    target: str = "target"
    answers: str = "translatedText"
    others: str = "alternatives"


class Http(Translator):
    """A translation service over HTTP: POST {q: [...], source, target} to `url`, answered by {translatedText: [...]}.

    `key` names the environment variable, or as `file:PATH` the file, whose secret goes along as `api_key`. `num` is
    how many candidates to ask for. A request that is answered with 429 or 5xx, or not within `timeout` seconds, is
    sent again up to `retries` times, each time after twice the wait; then its texts are sent one by one, as they are
    where the answer cannot be read. `fields` renames the five fields for services that call them otherwise.
    """

    routes = ("es", "fr", "de")

    def __init__(
        self,
        url: str,
        key: str = "",
        num: int = 1,
        timeout: float = 30.0,
        retries: int = 3,
        fields: tuple[str, ...] = tuple(Fields()),
    ) -> None:
        checked_url("http", url)
        if key:
            read_secret(key)
        if num < 1 or timeout <= 0 or retries < 0 or len(fields) != len(Fields()):
            raise SpecError("http: num must be 1 or more, timeout above 0, retries 0 or more, fields five names")
        self.url, self.key, self.num, self.timeout, self.retries = url, key, num, timeout, retries
        self.fields = Fields(*fields)
        self._poster: Poster | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Connections stay behind when it is sent to another process."""
        return self.__dict__ | {"_poster": None}

    def check(self, source: str, target: str) -> None:
        """The service answers and knows both languages: it is asked for one word."""
        if not self._request(["yes"], source, target):
            raise MissingExtraError(
                f"the translation service at {self.url} gives no translation from {source!r} to {target!r}",
                fix="start it, check the address and its languages, or give other pivots",
            )

    def translate(self, texts: Sequence[str], source: str, target: str) -> list[list[Translation]]:
        """The service's candidates for each text; none for a text that it does not answer."""
        translations: list[list[Translation]] = []
        for batch in (list(texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)):
            answers = self._request(batch, source, target)
            if answers is None:  # one text may be what the service fails at: the others need not suffer
                answers = [(self._request([text], source, target) or [[]])[0] for text in batch]
            translations += [[Translation(each) for each in candidates if each.strip()] for candidates in answers]
        return translations

    def close(self) -> None:
        """Close its connections."""
        if self._poster is not None:
            self._poster.close()
            self._poster = None

    def _request(self, texts: list[str], source: str, target: str) -> list[list[str]] | None:
        """Candidates for each text; None if the service gives none, or not some for each."""
        body: dict[str, Any] = {self.fields.texts: texts, self.fields.source: source, self.fields.target: target}
        body |= {self.fields.others: self.num - 1} if self.num > 1 else {}
        body |= {"api_key": read_secret(self.key)} if self.key else {}
        self._poster = self._poster or Poster(self.url, self.timeout, self.retries)
        try:
            answer = msgspec.json.decode(self._poster.post(msgspec.json.encode(body)), type=dict[str, Any])
        except (Unanswered, *UNREADABLE_JSON):
            return None
        best, others = answer.get(self.fields.answers), answer.get(self.fields.others) or [[]] * len(texts)
        best = [best] if isinstance(best, str) else best
        if not isinstance(best, list) or not isinstance(others, list) or not len(best) == len(others) == len(texts):
            return None
        listed = [[first, *(more if isinstance(more, list) else [])] for first, more in zip(best, others, strict=True)]
        return listed if all(isinstance(text, str) for candidates in listed for text in candidates) else None
