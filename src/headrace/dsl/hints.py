"""What a callback's annotations say about its result. A lambda says nothing; a class makes itself."""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from headrace.processor import Processor


def result(function: Callable[..., Any]) -> Any:
    """The annotated result type, or None where it is not said.

    >>> def double(n: int) -> int:
    ...     return 2 * n
    >>> result(double), result(lambda n: n), result(float)
    (<class 'int'>, None, <class 'float'>)
    """
    while isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, type):
        return function
    if not inspect.isroutine(function):
        function = type(function).__call__
    try:
        hint = typing.get_type_hints(function).get("return")
    except (NameError, TypeError, AttributeError):
        # A name that only a type checker can see: as good as no annotation.
        return None
    return None if _says_nothing(hint) else hint


def pair(hint: Any) -> tuple[Any, Any]:
    """The key's and the value's type of `tuple[K, V]`.

    >>> pair(tuple[str, int])
    (<class 'str'>, <class 'int'>)
    """
    hint = _without_none(hint)
    parts = typing.get_args(hint)
    if typing.get_origin(hint) is not tuple or len(parts) != 2 or parts[1] is Ellipsis:
        return None, None
    key, value = (None if _says_nothing(part) else part for part in parts)
    return key, value


def element(hint: Any) -> Any:
    """The element's type of `list[T]`, `Iterable[T]`, `Iterator[T]`, …

    >>> element(list[str])
    <class 'str'>
    """
    parts = typing.get_args(_without_none(hint))
    # A generator says more (what it takes and returns), a mapping would be iterated over its keys.
    return None if not parts or _says_nothing(parts[0]) else parts[0]


def awaited(hint: Any) -> Any:
    """What comes of waiting: the annotation of an `async def` says it at once, `Awaitable[T]` inside.

    >>> from collections.abc import Awaitable
    >>> awaited(Awaitable[int]), awaited(str)
    (<class 'int'>, <class 'str'>)
    """
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if isinstance(origin, type) and issubclass(origin, Awaitable) and parts:
        hint = parts[-1]
    return None if _says_nothing(hint) else hint


def processor_output(supplier: Callable[[], Any]) -> tuple[Any, Any]:
    """What a processor forwards, read from its class: `class Mine(Processor[str, int, str, Order])`."""
    made = result(supplier)
    for base in getattr(made, "__orig_bases__", ()):
        parts = typing.get_args(base)
        if typing.get_origin(base) is Processor and len(parts) == 4:
            key, value = (None if _says_nothing(part) else part for part in parts[2:])
            return key, value
    return None, None


def _without_none(hint: Any) -> Any:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        rest = [part for part in typing.get_args(hint) if part is not types.NoneType]
        return rest[0] if len(rest) == 1 else hint
    return hint


def _says_nothing(hint: Any) -> bool:
    return hint in (None, Any, object, types.NoneType) or isinstance(hint, TypeVar)
