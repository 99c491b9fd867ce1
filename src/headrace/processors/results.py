"""What a user's function returned, when it cannot be used."""

from __future__ import annotations

from headrace.errors import InvalidArgumentError


def not_a_pair(what: str, got: object) -> InvalidArgumentError:
    """For functions that give a new key and value."""
    return InvalidArgumentError(
        f"the function of `{what}` must return a pair (key, value), got {_short(got)}"
    )


def not_iterable(what: str, got: object) -> InvalidArgumentError:
    """For functions that give any number of results."""
    return InvalidArgumentError(
        f"the function of `{what}` must return a list, or yield, got {_short(got)}: an empty list is no result"
    )


def _short(got: object) -> str:
    text = repr(got)
    return text if len(text) <= 60 else f"{text[:60]}…"
