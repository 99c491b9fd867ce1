"""What a user's function returned, when it cannot be used."""

from __future__ import annotations

from headrace.errors import InvalidArgumentError

TEXTS = (str, bytes, bytearray)
"""What Python takes apart, letter by letter, though nobody means that."""
NO_PAIRS = (*TEXTS, dict, set, frozenset)
"""What can be unpacked when there are two of something in it, and is no pair all the same."""


def not_a_pair(what: str, got: object) -> InvalidArgumentError:
    """For functions that give a new key and value."""
    return InvalidArgumentError(
        f"the function of `{what}` must return a pair (key, value), got {_short(got)}"
    )


def not_iterable(what: str, got: object) -> InvalidArgumentError:
    """For functions that give any number of results."""
    if isinstance(got, TEXTS):
        return InvalidArgumentError(
            f"the function of `{what}` must return a list, or yield, got {_short(got)}, and each of its letters would "
            "be a result: return a list with it, or split it"
        )
    return InvalidArgumentError(
        f"the function of `{what}` must return a list, or yield, got {_short(got)}: an empty list is no result"
    )


def _short(got: object) -> str:
    text = repr(got)
    return text if len(text) <= 60 else f"{text[:60]}…"
