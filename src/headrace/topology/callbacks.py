"""What a user hands over to be called: looked at when the topology is built, so that a slip is found before any record.

A callback's arity is never used to guess what it wants, only to say that it does not fit.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from typing import Any

from headrace.errors import InvalidArgumentError
from headrace.origin import Origin, caller

MAY_GENERATE = frozenset({"flat_map", "flat_map_values"})
"""Operations whose function may yield its results."""
RESULTS = {
    "map": ("a pair (key, value)", "use `map_values`, or return the pair"),
    "flat_map": ("a list of pairs", "use `map_values`, or return a list of pairs"),
    "flat_map_values": ("a list", "use `map_values`, or return a list with it"),
}
"""Operations whose function must not return a text: Python would take its letters."""
MAY_AWAIT = frozenset({"map_values_async"})


def check_callable(function: object, what: str, takes: str, *, node: str | None = None) -> None:
    """Refuse what cannot be called with the arguments it would get, and results that nobody would wait for."""
    origin = caller()
    if not callable(function):
        wanted, fix = f"a function of {takes}", ""
        if takes == "()":
            wanted, fix = "a function that makes the first value", f": write `lambda: {function!r}`"
        raise InvalidArgumentError(
            f"`{what}` takes {wanted}, got {function!r}{fix}", node=node, origin=origin
        )
    if inspect.iscoroutinefunction(_called(function)) and what not in MAY_AWAIT:
        fix = "use `map_values_async`" if what == "map_values" else "make it a plain one"
        raise InvalidArgumentError(
            f"`{what}` does not wait for {_named(function)}, which is async: {fix}", node=node, origin=origin
        )
    if inspect.isgeneratorfunction(_called(function)) and what not in MAY_GENERATE:
        raise InvalidArgumentError(
            f"`{what}` takes a function that returns its result, and {_named(function)} is a generator: return instead "
            "of `yield`, or use `flat_map` or `flat_map_values`",
            node=node,
            origin=origin,
        )
    _check_arguments(function, what, takes, node, origin)
    if what in RESULTS and _says_text(function):
        wanted, fix = RESULTS[what]
        raise InvalidArgumentError(
            f"`{what}` takes a function that returns {wanted}, and {_named(function)} says that it returns a text, "
            f"whose letters would be taken: {fix}",
            node=node,
            origin=origin,
        )


def check_optional(function: object, what: str, takes: str) -> None:
    """`check_callable`, unless there is none."""
    if function is not None:
        check_callable(function, what, takes)


def check_supplied(supplier: object, kind: type[Any], what: str, node: str | None, origin: Origin) -> None:
    """A supplier is called without arguments; a class must be of the right kind and not async."""
    if isinstance(supplier, kind) or not callable(supplier):
        raise InvalidArgumentError(
            f"a {what} is made anew for each task: pass its class or a function that returns one, got {supplier!r}",
            node=node,
            origin=origin,
        )
    if isinstance(supplier, type):
        if not issubclass(supplier, kind):
            raise InvalidArgumentError(
                f"a {what} is a `{kind.__name__}`, and `{supplier.__name__}` is none: derive it from "
                f"`headrace.{kind.__name__}`",
                node=node,
                origin=origin,
            )
        for method in ("init", "process", "transform", "close"):
            if inspect.iscoroutinefunction(getattr(supplier, method, None)):
                raise InvalidArgumentError(
                    f"nobody waits for `{supplier.__name__}.{method}`, which is async: make it a plain method",
                    node=node,
                    origin=origin,
                )
    missing = _misfit(supplier, 0)
    if missing is not None:
        raise InvalidArgumentError(
            f"a supplier is called without arguments, and {_named(supplier)} takes {missing}: bind them first, for "
            "example with `functools.partial`",
            node=node,
            origin=origin,
        )


def _check_arguments(
    function: Callable[..., Any], what: str, takes: str, node: str | None, origin: Origin
) -> None:
    names = re.match(r"\(([^)]*)\)", takes)
    assert names is not None
    count = len([name for name in names[1].split(",") if name.strip()])
    signature = _misfit(function, count)
    if signature is None:
        return
    hint = ""
    if not names[1].startswith("key") and _misfit(function, count + 1) is None:
        hint = ": `with_key=True` adds the key" if what in _WITH_KEY else ""
    given = names[0] if count else "no arguments"
    raise InvalidArgumentError(
        f"`{what}` calls its function with {given}, and {_named(function)} takes {signature}{hint}",
        node=node,
        origin=origin,
    )


_WITH_KEY = frozenset({"map_values", "flat_map_values", "join", "map_values_async"})


def _misfit(function: Callable[..., Any], count: int) -> str | None:
    """The parameters of a function that cannot be called with so many arguments; None if it can, or nobody knows."""
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):
        return None  # many of Python's own
    try:
        signature.bind(*range(count))
    except TypeError:
        plain = [parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()]
        return str(inspect.Signature(plain))
    return None


def _called(function: Any) -> Any:
    """What runs in the end: below partials, and the `__call__` of an object."""
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function) or isinstance(function, type):
        return function
    return type(function).__call__


def _says_text(function: Any) -> bool:
    """Whether a function returns a text by its own account."""
    called = _called(function)
    said = called if isinstance(called, type) else getattr(called, "__annotations__", {}).get("return")
    return said in (str, bytes, "str", "bytes")


def _named(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", None)
    if name is None:
        return f"the `{type(function).__name__}`"
    return "the lambda" if name == "<lambda>" else f"`{name}`"
