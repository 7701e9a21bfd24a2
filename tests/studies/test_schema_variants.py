"""Schema variants that cannot be compared. `tests/cli/test_schemas.py` and SGD-X's own figures have the rest."""

from __future__ import annotations

import pytest

from dstress import corpora
from dstress.errors import CorpusError, SpecError
from dstress.studies.schema_variants import measure_variants


def test_what_cannot_be_compared_is_told() -> None:
    corpora.ensure_embedded()
    with pytest.raises(CorpusError, match="no schema variants of 'reminder'"):
        measure_variants("reminder")
    with pytest.raises(SpecError, match="does not change the schema"):
        measure_variants("reminder", ["typos"])
