"""Every base class, type and registry that a plug-in sees.

Import from here: these names stay. A name that must go warns for one minor version before it does, and CHANGELOG says
what replaces it; modules elsewhere may move in any version.
"""

from dstress._door import open_door

__getattr__, __dir__, __all__ = open_door(__name__, __file__)
