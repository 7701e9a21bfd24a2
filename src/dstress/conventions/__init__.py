"""Conventions: what the field's evaluation scripts count as the same value. Each reproduces one script, bugs included.

`conventions.create("dstc8(fuzz=difflib)")` makes one; naming a convention imports none of them.
"""

from __future__ import annotations

from dstress.conventions.base import Convention
from dstress.registry import Registry

conventions = Registry(
    "convention",
    Convention,
    {
        "exact": "dstress.conventions.exact:Exact",
        "trade": "dstress.conventions.trade:Trade",
        "simpletod": "dstress.conventions.simpletod:SimpleTod",
        "trippy": "dstress.conventions.trippy:TripPy",
        "dstc8": "dstress.conventions.dstc8:Dstc8",
        "multiwoz22": "dstress.conventions.multiwoz22:MultiWoz22",
        "mwzeval": "dstress.conventions.mwzeval:MwzEval",
        "convlab": "dstress.conventions.convlab:ConvLab",
        "fnctod": "dstress.conventions.fnctod:FncTod",
        "gca": "dstress.conventions.gca:Gca",
        "checkdst": "dstress.conventions.checkdst:CheckDst",
        "bfcl": "dstress.conventions.bfcl:Bfcl",
    },
)

__all__ = ["Convention", "conventions"]
