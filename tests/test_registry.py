"""Components by name: built in, installed, or anywhere that Python can import."""

from __future__ import annotations

import inspect
import sys
from abc import ABC, abstractmethod
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any, Literal

import pytest

from dstress import registry as module
from dstress.conventions import conventions
from dstress.errors import DstressError, DuplicateNameError, MissingExtraError, SpecError, UnknownNameError
from dstress.registry import Registry
from dstress.scoring.metrics import metrics
from dstress.spec import ComponentSpec
from dstress.stressors import stressors
from dstress.stressors.translators import translators
from dstress.trackers import trackers


class Shape(ABC):
    """A contract."""

    @abstractmethod
    def area(self) -> float: ...


class Box(Shape):
    """A box.

    More about it.
    """

    def __init__(self, width: float, height: float = 1.0, *, lambda_: int = 0, unit: Literal["m", "cm"] = "m") -> None:
        self.width, self.height, self.lambda_, self.unit = width, height, lambda_, unit

    def area(self) -> float:
        return self.width * self.height


class Holder(Shape):
    def __init__(
        self,
        inner: str | ComponentSpec | None = "box",
        path: Path | None = None,
        names: tuple[str, ...] = (),
        **others: object,
    ) -> None:
        self.inner, self.path, self.names, self.others = inner, path, names, others

    def area(self) -> float:
        return 0.0


class Point(Shape):
    def area(self) -> float:
        return 0.0


class Coloured(Shape):
    """A kind whose components can all be told a colour."""

    colour = "plain"

    def set_shared(self, colour: Literal["plain", "red", "blue"] = "plain") -> None:
        self.colour = colour

    def area(self) -> float:
        return 0.0


class Disc(Coloured):
    def __init__(self, radius: float = 1.0) -> None:
        self.radius = radius


class Painted(Coloured):
    """It has a colour of its own."""

    def __init__(self, colour: str = "gold") -> None:
        self.colour = colour


class Stranger:
    pass


BUILTIN = {"box": f"{__name__}:Box", "holder": f"{__name__}:Holder", "point": f"{__name__}:Point"}


@pytest.fixture
def shapes() -> Registry[Shape]:
    return Registry("shape", Shape, BUILTIN)  # type: ignore[type-abstract]


def install(monkeypatch: pytest.MonkeyPatch, **targets: str) -> None:
    """Let these look like entry points of installed packages."""
    points = [EntryPoint(name.rstrip("_"), target, "dstress.shapes") for name, target in targets.items()]
    monkeypatch.setattr(module, "_entry_points", lambda: EntryPoints(points))


@pytest.mark.parametrize(
    ("spec", "made"),
    [
        ("box(2)", {"width": 2.0, "height": 1.0, "lambda_": 0, "unit": "m"}),
        ("box(2, 3)", {"width": 2.0, "height": 3.0, "lambda_": 0, "unit": "m"}),
        ("box(2, unit=cm)", {"width": 2.0, "height": 1.0, "lambda_": 0, "unit": "cm"}),
        ("box(width=2, lambda=3)", {"width": 2.0, "height": 1.0, "lambda_": 3, "unit": "m"}),
        ("holder(path=a/b.json)", {"inner": "box", "path": Path("a/b.json"), "names": (), "others": {}}),
        ("holder(names=[a, b])", {"inner": "box", "path": None, "names": ("a", "b"), "others": {}}),
        ("holder(box(1))", {"inner": ComponentSpec("box", (1,)), "path": None, "names": (), "others": {}}),
        ("holder(more=1)", {"inner": "box", "path": None, "names": (), "others": {"more": 1}}),
        ("point", {}),
    ],
)
def test_a_component_gets_its_arguments(shapes: Registry[Shape], spec: str, made: dict[str, object]) -> None:
    assert vars(shapes.create(spec)) == made


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("box", "box needs the argument 'width'"),
        ("box(wide)", "the argument 'width' does not fit: Expected `float`, got `str`"),
        ("box(box(1))", "the argument 'width' does not fit: Expected `float`, got `ComponentSpec`"),
        ("box(1, lambda=1.5)", "the argument 'lambda' does not fit: Expected `int`, got `float`"),
        ("box(1, unit=km)", "the argument 'unit' does not fit: Invalid enum value 'km'"),
        ("box(1, width=2)", "the argument 'width' is given twice"),
        ("box(1, 2, 3, m, 5)", "box takes at most 4 arguments"),
        ("holder(path=3)", "the argument 'path' does not fit: Expected `Path"),
        ("point(1)", "point takes no arguments"),
    ],
)
def test_arguments_that_do_not_fit(shapes: Registry[Shape], spec: str, problem: str) -> None:
    with pytest.raises(SpecError) as caught:
        shapes.create(spec)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        ("box(1, higth=2)", "unknown argument of box 'higth'; did you mean 'height'"),
        ("box(1, lamda=2)", "did you mean 'lambda'?"),
        ("bx(1)", "unknown shape 'bx'; did you mean 'box'?"),
        ("zzzzzz", "known: box, holder, point"),
    ],
)
def test_an_unknown_name_gets_a_suggestion(shapes: Registry[Shape], spec: str, hint: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        shapes.create(spec)
    assert hint in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "shortest"),
    [
        ("point()", "point"),
        ("box(2, 1.0)", "box(width=2)"),
        ("box(2, height=1)", "box(width=2)"),
        ("box(unit=m, lambda=0, width=2)", "box(width=2)"),
        ("box(unit=cm, lambda=3, width=2)", "box(width=2, lambda=3, unit=cm)"),
        ("box(lambda_=3, width=2)", "box(width=2, lambda=3)"),
        ("holder(box, path=none, names=[])", "holder"),
        ("holder(box())", "holder"),
        ("holder(box(1))", "holder(inner=box(1))"),
        ("holder(point())", "holder(inner=point())"),
        ("holder(none)", "holder(inner=none)"),
        ("holder(box(), path=a.json)", "holder(path=a.json)"),
        ("holder(more=1, extra=2, names=[a])", "holder(names=[a], more=1, extra=2)"),
    ],
)
def test_the_shortest_spec_leaves_out_what_is_the_default(shapes: Registry[Shape], spec: str, shortest: str) -> None:
    assert str(shapes.shortest(spec)) == shortest
    assert str(shapes.shortest(shortest)) == shortest
    assert vars(shapes.create(spec)).keys() == vars(shapes.create(shortest)).keys()


ROOMS = (conventions, metrics, stressors, trackers, translators)


def explicit(registry: Registry[Any]) -> list[tuple[Registry[Any], str, str]]:
    """Every default of every component, written out: the registry, the spec, and the name that it comes down to."""
    found = []
    for name in registry:
        parameters = inspect.signature(registry.get(name)).parameters.values()
        if all(p.default is not p.empty for p in parameters if p.kind is not p.VAR_KEYWORD):
            values = {p.name: list(p.default) if isinstance(p.default, tuple) else p.default for p in parameters}
            arguments = {key: value for key, value in values.items() if value is not inspect.Parameter.empty}
            found.append((registry, str(ComponentSpec(name, (), arguments)), name))
    return found


@pytest.mark.parametrize(("registry", "spec", "name"), [row for registry in ROOMS for row in explicit(registry)])
def test_a_component_with_every_default_written_out_is_its_name(registry: Registry[Any], spec: str, name: str) -> None:
    assert str(registry.shortest(spec)) == name


def test_a_plug_in_stands_beside_the_built_ins(shapes: Registry[Shape], monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, square=f"{__name__}:Box")
    assert list(shapes) == ["box", "holder", "point", "square"]
    assert "square" in shapes
    assert isinstance(shapes.create("square(2)"), Box)


def test_two_plug_ins_of_one_name_are_an_error(shapes: Registry[Shape], monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, square="first:Square", square_="second:Square")
    with pytest.raises(DuplicateNameError, match="'square' is claimed by both first:Square and second:Square"):
        list(shapes)


def test_a_plug_in_cannot_take_a_built_in_name(shapes: Registry[Shape], monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, box="other:Box")
    with pytest.raises(DuplicateNameError, match="'box' is claimed by both dstress and other:Box"):
        shapes.get("point")


def test_a_plug_in_that_is_seen_twice_is_one(shapes: Registry[Shape], monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, square=f"{__name__}:Box", square_=f"{__name__}:Box")
    assert shapes.get("square") is Box


def test_any_class_that_can_be_imported(shapes: Registry[Shape]) -> None:
    assert isinstance(shapes.create(f"{__name__}:Box(2)"), Box)


@pytest.mark.parametrize(
    ("target", "problem"),
    [
        (f"{__name__}:Stranger", f"is not a shape\n  fix: derive the class from {__name__}.Shape"),
        (f"{__name__}:install", "is not a shape"),
        (f"{__name__}:Shape", "is not a complete shape\n  fix: define area"),
        (f"{__name__}:Bx", "has no attribute 'Bx'"),
        ("no_such_module:Box", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("no_such_module:", "cannot import the shape"),
        (":Box", "ValueError: Empty module name"),
        (".relative:Box", "cannot import the shape"),
    ],
)
def test_a_target_that_does_not_do(shapes: Registry[Shape], target: str, problem: str) -> None:
    with pytest.raises(SpecError) as caught:
        shapes.get(target)
    assert problem in str(caught.value)


@pytest.mark.parametrize(("source", "problem"), [("def (", "SyntaxError"), ("1 / 0", "ZeroDivisionError")])
def test_a_module_that_breaks_on_import(
    shapes: Registry[Shape], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, problem: str
) -> None:
    (tmp_path / "broken_shape.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SpecError, match=f"broken_shape:Box': {problem}"):
        shapes.get("broken_shape:Box")


def test_a_module_may_say_itself_what_is_missing(
    shapes: Registry[Shape], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = "from dstress.errors import MissingExtraError\nraise MissingExtraError('needs the extra models')"
    (tmp_path / "needy_shape.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingExtraError, match="needs the extra models"):
        shapes.get("needy_shape:Box")


def test_naming_components_imports_nothing() -> None:
    lazy = Registry("shape", Shape, {"calendar": "lazy_shape_module:Box"})  # type: ignore[type-abstract]
    assert list(lazy) == ["calendar"]
    assert "lazy_shape_module" not in sys.modules


def test_components_of_a_kind_share_arguments(shapes: Registry[Shape]) -> None:
    disc = shapes.create(f"{__name__}:Disc(2.0, colour=red)")
    assert isinstance(disc, Disc) and (disc.radius, disc.colour) == (2.0, "red")
    assert shapes.arguments(f"{__name__}:Disc") == {"radius": "1.0", "colour": "plain"}
    assert str(shapes.shortest(f"{__name__}:Disc(colour=plain, radius=1.0)")) == f"{__name__}:Disc"
    assert str(shapes.shortest(f"{__name__}:Disc(colour=blue, radius=2)")) == f"{__name__}:Disc(radius=2, colour=blue)"
    with pytest.raises(SpecError, match="'colour' does not fit"):
        shapes.create(f"{__name__}:Disc(colour=green)")
    with pytest.raises(SpecError, match="at most 1"):
        shapes.create(f"{__name__}:Disc(1.0, red)")


def test_an_argument_of_its_own_comes_before_a_shared_one(shapes: Registry[Shape]) -> None:
    painted = shapes.create(f"{__name__}:Painted(colour=green)")
    assert isinstance(painted, Painted) and painted.colour == "green"


def test_a_summary_is_the_first_line(shapes: Registry[Shape]) -> None:
    assert shapes.summary("box") == "A box."


def test_arguments_with_their_defaults_as_a_spec_writes_them(shapes: Registry[Shape]) -> None:
    assert shapes.arguments("box") == {"width": "", "height": "1.0", "lambda": "0", "unit": "m"}
    assert shapes.arguments("holder") == {"inner": "box", "path": "none", "names": "[]"}
    assert shapes.arguments("point") == {}


class Picky(Shape):
    def __init__(self, size: float = 1.0, inner: str = "") -> None:
        if size <= 0:
            raise SpecError(f"size={size} is no size", fix="give one above 0")
        if inner:
            conventions.create(inner)

    def area(self) -> float:
        return 0.0


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("picky(size=0)", "picky(size=0): size=0.0 is no size\n  fix: give one above 0"),
        ("picky(inner=exat)", "picky(inner=exat): unknown convention 'exat'; did you mean 'exact'"),
        ("picky(sise=0)", "unknown argument of picky 'sise'; did you mean 'size'?"),
    ],
)
def test_errors_of_a_component_name_it_once(spec: str, said: str) -> None:
    picky = Registry("shape", Shape, {"picky": f"{__name__}:Picky"})  # type: ignore[type-abstract]
    with pytest.raises(DstressError) as caught:
        picky.create(spec)
    assert str(caught.value).startswith(said)


def test_the_values_of_arguments_that_take_only_a_few() -> None:
    choices = stressors.choices("counterfactual")
    assert choices["change"] == ("true", "false")
    assert choices["fallback"] == ("values", "none") and choices["scope"] == ("turn", "dialogue")
    assert not {"candidates", "values", "combinations"} & set(choices)
