"""How a key or value is written, as far as is known while the topology is built."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from headrace.errors import MissingSerdeError
from headrace.serdes import Serde, TaggedSerde, serde_for

T = TypeVar("T")

As: TypeAlias = type[T] | Serde[T]
"""What `key=` and `value=` take: a type or a serde."""


@dataclass(frozen=True, slots=True)
class Form:
    """A serde, or why there is none: the configuration's default, or a change that nobody put a type to."""

    serde: Serde[Any] | None = None
    changed: bool = False

    @property
    def internal(self) -> Serde[Any] | None:
        """For a value in a store or a repartition topic: one of no known type is written with its type's name."""
        return TaggedSerde() if self.changed else self.serde

    def otherwise(self, other: Form) -> Form:
        """The form itself, or the other where nothing is known here."""
        return other if self.serde is None else self


DEFAULT = Form()
UNKNOWN = Form(changed=True)


def form(given: Any, otherwise: Form = DEFAULT) -> Form:
    """The form that a user's `key=` or `value=` says."""
    return otherwise if given is None else Form(serde_for(given))


def hinted(annotation: Any, otherwise: Form = UNKNOWN) -> Form:
    """The form that an annotation says; one that cannot be written is no mistake until something has to be."""
    if annotation is None:
        return otherwise
    try:
        return Form(serde_for(annotation))
    except MissingSerdeError:
        return otherwise


def common(one: Form, other: Form) -> Form:
    """The form of what comes from two streams."""
    return one if one == other else UNKNOWN
