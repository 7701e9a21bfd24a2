"""One typed registry for every kind of component.

A room's door lists its built-ins as lazy targets, so that naming a component costs no import. Installed packages add
theirs through entry points of the group `dstress.<kind>s`; `module:Class` names any class that can be imported.

A spec's arguments are those of the constructor. What all components of a kind can be told beside them, without each of
them saying so, are the parameters of their base class's method `set_shared`, which is called after the constructor: see
`TurnStressor`.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import sys
import warnings
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from importlib.metadata import EntryPoint, entry_points, packages_distributions, version
from itertools import chain
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Generic, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import msgspec

from dstress.errors import DstressError, DuplicateNameError, SpecError, naming, unknown
from dstress.interactive import definitions, is_typed_in
from dstress.spec import ComponentSpec, Value, parse, print_value

T = TypeVar("T")


class Registry(Generic[T]):
    """The components of one kind, by name. `contract` is the base class that each of them honours."""

    def __init__(self, kind: str, contract: type[T], builtin: Mapping[str, str]) -> None:
        self.kind, self.contract, self._builtin = kind, contract, dict(builtin)

    @cached_property
    def plugins(self) -> dict[str, EntryPoint]:
        """The entry points of installed packages, by name."""
        points_by_name: dict[str, EntryPoint] = {}
        points = _entry_points().select(group=f"dstress.{self.kind}s")
        for point in sorted(points, key=lambda point: (point.name, point.value)):
            first = points_by_name.setdefault(point.name, point)
            # An editable and a regular install of one package may both be seen: the same target is no conflict.
            if self._builtin.get(point.name, first.value) != point.value:
                owner = "dstress" if point.name in self._builtin else _owner(first)
                raise DuplicateNameError(
                    f"the {self.kind} {point.name!r} is claimed by both {owner} and {_owner(point)}",
                    fix=f"uninstall one of them, or rename its entry point in the group dstress.{self.kind}s",
                )
        return points_by_name

    @property
    def targets(self) -> dict[str, str]:
        """Name -> `module:attribute`, built-ins and plug-ins together."""
        return self._builtin | {name: point.value for name, point in self.plugins.items()}

    def origin(self, spec: str) -> str:
        """The distribution that a component comes from, with its version; see `origin_of`."""
        return origin_of(self.get(parse(spec).name))

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.targets))

    def __contains__(self, name: object) -> bool:
        return name in self.targets

    def get(self, name: str) -> type[T]:
        """The component's class, imported now. An unknown name suggests the nearest."""
        if name not in self.targets and ":" not in name:
            raise unknown(self.kind, name, self.targets, fix=f"`dstress list {self.kind}s` shows them all")
        # A person's own module is looked for where they are, but only when they name one: otherwise any file there that
        # has the name of an optional package would be executed.
        if name not in self.targets and "" not in sys.path and str(Path.cwd()) not in sys.path:
            sys.path.append(str(Path.cwd()))
        try:
            return self._load(self.targets.get(name, name))
        except SpecError as error:
            if name not in self.plugins:
                raise
            point = self.plugins[name]
            raise SpecError(
                f"the {self.kind} {name!r} of the plug-in {_owner(point)} is broken: {error.problem}",
                fix=f"fix or uninstall it; its entry point is `{name} = {point.value}` in dstress.{self.kind}s",
            ) from error

    def _load(self, target: str) -> type[T]:
        module, _, attribute = target.partition(":")
        try:
            component: Any = importlib.import_module(module)
            for part in attribute.split("."):
                component = getattr(component, part)
        except DstressError:
            raise
        except Exception as error:  # whatever a person's own module raises while it is imported
            raise SpecError(
                f"cannot import the {self.kind} {target!r}: {type(error).__name__}: {error}",
                fix="check the spelling (module:Class) and that the module can be imported from here",
            ) from error
        if not (isinstance(component, type) and issubclass(component, self.contract)):
            raise SpecError(
                f"{target} is not a {self.kind}",
                fix=f"derive the class from {self.contract.__module__}.{self.contract.__qualname__}",
            )
        if inspect.isabstract(component):
            missing = ", ".join(sorted(getattr(component, "__abstractmethods__", ())))
            raise SpecError(f"{target} is not a complete {self.kind}", fix=f"define {missing}")
        return component

    def usable(self) -> Iterator[str]:
        """The names of all that can be used, in order: a broken plug-in stops nobody who did not ask for it."""
        for name in self.targets:
            try:
                self.get(name)
            except DstressError as error:
                if name not in self.plugins:
                    raise
                warnings.warn(str(error), stacklevel=2)
            else:
                yield name

    def create(self, spec: str | ComponentSpec) -> T:
        """Make the component that a spec describes; arguments are checked against its constructor."""
        read = parse(spec) if isinstance(spec, str) else spec
        component = self.get(read.name)
        with naming(str(read)):
            arguments = _convert(component, read, _bind(component, read))
            shared = {name: arguments.pop(name) for name in _shared_parameters(component) if name in arguments}
            made: Any = component(**arguments)
            if shared:
                made.set_shared(**shared)
        return cast(T, made)

    def shortest(self, spec: str | ComponentSpec) -> ComponentSpec:
        """The same component in the fewest words: arguments by name, in order, without those that are the default."""
        read = parse(spec) if isinstance(spec, str) else spec
        component = self.get(read.name)
        parameters = inspect.signature(component).parameters | _shared_parameters(component)
        written = _bind(component, read)
        converted = _convert(component, read, written)
        arguments = {
            name.rstrip("_") if name in parameters else name: written[name]
            for name in dict.fromkeys((*parameters, *written))
            if name in written and not _is_default(parameters.get(name), converted[name])
        }
        return ComponentSpec(read.name, (), arguments)

    def summary(self, name: str) -> str:
        """The first line of the component's docstring."""
        return (inspect.getdoc(self.get(name)) or "").partition("\n")[0]

    def arguments(self, name: str) -> dict[str, str]:
        """What a spec may say in brackets: each argument with its default, as it is written; empty where it must be."""
        component = self.get(name)
        return {
            parameter.name.rstrip("_"): "" if parameter.default is parameter.empty else _written(parameter.default)
            for parameter in (inspect.signature(component).parameters | _shared_parameters(component)).values()
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        }

    def choices(self, name: str) -> dict[str, tuple[str, ...]]:
        """What a spec may give to each argument that takes only a few values, as it is written."""
        options = {
            argument.rstrip("_"): tuple(_options(hint)) for argument, hint in _argument_types(self.get(name)).items()
        }
        return {argument: values for argument, values in options.items() if values}


def _options(hint: Any) -> Iterator[str]:
    """The values of a literal type, a flag, or a union of them; nothing for a type that has more."""
    if hint is bool:
        yield from ("true", "false")
    elif get_origin(hint) is Literal:
        yield from map(print_value, get_args(hint))
    elif get_origin(hint) in (Union, UnionType):
        parts = [["none"] if part is NoneType else list(_options(part)) for part in get_args(hint)]
        yield from chain.from_iterable(parts) if all(parts) else ()


def _owner(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def _written(default: Any) -> str:
    """A default as a spec writes it; what no spec can write, as Python shows it."""
    if isinstance(default, tuple):
        default = list(default)
    writable = isinstance(default, bool | int | float | str | list | ComponentSpec | None)
    return print_value(default) if writable else str(default)


_entry_points, _distributions = cache(entry_points), cache(packages_distributions)
"""Both look at every package that is installed."""


def origin_of(component: type) -> str:
    """The distribution that a class comes from, with its version; a file that is of none by its content.

    Empty for what dstress brings along.
    """
    module = component.__module__
    package = module.partition(".")[0]
    if package == "dstress":
        return ""
    for owner in _distributions().get(package, ()):
        return f"{owner}-{version(owner)}"
    if is_typed_in(component):
        content = definitions(component).text.encode()
    else:
        source = Path(inspect.getsourcefile(component) or "")
        content = source.read_bytes() if source.is_file() else b""
    return f"{module}-{hashlib.sha256(content).hexdigest()[:8]}"


def _shared_parameters(component: Any) -> dict[str, inspect.Parameter]:
    """What all components of its kind can be told, but for what its own constructor takes."""
    if not hasattr(component, "set_shared"):
        return {}
    own, shared = inspect.signature(component).parameters, inspect.signature(component.set_shared).parameters
    return {name: parameter for name, parameter in shared.items() if name != "self" and name not in own}


def _bind(component: type, spec: ComponentSpec) -> dict[str, Value]:
    """A spec's arguments by the names of the constructor's parameters, as they are written."""
    signature = inspect.signature(component).parameters.values()
    own = {p.name: p for p in signature if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    parameters = own | _shared_parameters(component)
    takes_any = any(p.kind is p.VAR_KEYWORD for p in signature)
    arguments: dict[str, Value] = dict(zip(own, spec.positional, strict=False))
    if not (parameters or takes_any) and (spec.positional or spec.arguments):
        raise SpecError(f"{spec}: {spec.name} takes no arguments")
    if len(spec.positional) > len(own):
        raise SpecError(f"{spec}: {spec.name} takes at most {len(own)} arguments")
    for key, value in spec.arguments.items():
        # A Python keyword cannot name a parameter: `lambda=` reaches `lambda_`.
        name = f"{key}_" if key not in parameters and f"{key}_" in parameters else key
        if name not in parameters and not takes_any:
            raise unknown(f"argument of {spec.name}", key, [parameter.rstrip("_") for parameter in parameters])
        if name in arguments:
            raise SpecError(f"{spec}: the argument {key!r} is given twice")
        arguments[name] = value
    missing = [name for name, p in parameters.items() if p.default is p.empty and name not in arguments]
    if missing:
        raise SpecError(f"{spec}: {spec.name} needs the argument {missing[0].rstrip('_')!r}")
    return arguments


def _convert(component: type, spec: ComponentSpec, arguments: Mapping[str, Value]) -> dict[str, Any]:
    """Each argument as the annotated type."""
    hints = _argument_types(component)
    converted = {}
    for name, value in arguments.items():
        try:
            converted[name] = msgspec.convert(value, hints.get(name, Any), dec_hook=_as_path)
        except msgspec.ValidationError as error:
            raise SpecError(f"{spec}: the argument {name.rstrip('_')!r} does not fit: {error}") from None
    return converted


def _argument_types(component: Any) -> dict[str, Any]:
    """The annotations of the arguments, as far as they can be read."""
    try:
        hints = get_type_hints(inspect.getattr_static(component, "__init__"))
    except NameError:  # names that are imported for type checkers only
        hints = {}
    return get_type_hints(component.set_shared) | hints if hasattr(component, "set_shared") else hints


def _is_default(parameter: inspect.Parameter | None, value: object) -> bool:
    """Whether an argument says what holds without it: a list may stand for a tuple, `templates()` for `templates`."""
    if parameter is None:
        return False
    default = parameter.default
    if isinstance(value, list) and isinstance(default, tuple):
        value = tuple(value)
    if isinstance(value, ComponentSpec) and isinstance(default, str) and not (value.positional or value.arguments):
        value = value.name
    return type(value) is type(default) and value == default


def _as_path(kind: type, value: object) -> object:
    """Paths are written as text; every other class takes only its own objects."""
    if kind is Path and isinstance(value, str):
        return Path(value)
    raise msgspec.ValidationError(f"Expected `{kind.__name__}`, got `{type(value).__name__}`")
