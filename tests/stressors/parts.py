"""The same under its old name."""

from tests.parts import need as need
