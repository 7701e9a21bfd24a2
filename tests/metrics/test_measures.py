"""What the name of a measure says of it."""

from __future__ import annotations

import pytest

from dstress.errors import DstressError
from dstress.metrics.measures import require_metric


def test_a_misspelt_name_is_looked_for_among_all_kinds_of_metrics() -> None:
    for typed, meant in {"cjag": "cjga", "newly-wrnog": "newly-wrong", "dif-rel": "diff-rel", "jgaa": "jga"}.items():
        with pytest.raises(DstressError, match=f"did you mean '{meant}'"):
            require_metric(typed)
    for known in ("jga", "cjga(over=all)", "ss(jga)", "jga-v1-5", "jga-orig", "tests.fakes.metrics:WrongSlots"):
        require_metric(known)


def test_a_metric_of_several_versions_is_not_called_misspelt_where_there_is_one() -> None:
    with pytest.raises(DstressError, match=r"ss\(jga\) is of several versions"):
        require_metric("ss(jga)", of_one_file=True)
    require_metric("fga(lambda=0.25)", of_one_file=True)
