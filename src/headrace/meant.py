"""What may have been meant by a name that does not exist: the hint in messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str], *, part: bool = False) -> str:
    """The question, or nothing when no name is like it; with `part`, one that is in the other is, too.

    >>> did_you_mean("oders", ["orders", "customers"]), did_you_mean("Orders", ["orders"])
    ('did you mean `orders`?', 'did you mean `orders`?')
    >>> did_you_mean("a", ["orders"]), did_you_mean("order", ["orders-by-customer"], part=True)
    ('', 'did you mean `orders-by-customer`?')
    """
    names = list(known)
    near = [other for other in names if other.lower() == name.lower()]
    near += difflib.get_close_matches(name, names, n=1)
    if part:
        near += [other for other in names if name in other or other in name]
    return f"did you mean `{near[0]}`?" if near else ""
