"""The same under its old name."""

from tests.parts import need as need
from tests.parts import need_parts_of as needed
