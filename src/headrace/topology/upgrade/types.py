"""Whether JSON that was written as one type can be read as another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.serdes.described import type_text

# What may be read as something wider: the text in JSON is the same, or fits.
_WIDER = {
    ("integer", "number"),
    ("integer", "decimal"),
    ("number", "decimal"),
    ("datetime", "string"),
    ("date", "string"),
    ("time", "string"),
    ("duration", "string"),
    ("uuid", "string"),
    ("bytes", "string"),
    ("decimal", "string"),
}


@dataclass(frozen=True, slots=True)
class TypeChange:
    """A difference between two types, where in them it is, and whether values written before can still be read."""

    path: str
    safe: bool
    message: str
    fix: str | None = None


def type_changes(old: Any, new: Any, path: str = "") -> Iterator[TypeChange]:
    """All differences, from the point of view of a program that reads with the new type what the old one wrote."""
    if old == new:
        return
    match old, new:
        case _, "any":
            yield TypeChange(path, True, f"{type_text(old)} may now be anything")
        case {"record": _}, {"record": _}:
            yield from _record_changes(old, new, path)
        case {"list": one}, {"list": other}:
            yield from type_changes(one, other, f"{path}[]")
        case {"set": one}, ({"set": other} | {"list": other}):
            yield from type_changes(one, other, f"{path}[]")
        case {"dict": [old_key, old_value]}, {"dict": [new_key, new_value]}:
            yield from type_changes(old_key, new_key, f"{path}{{key}}")
            yield from type_changes(old_value, new_value, f"{path}{{}}")
        case {"record": _}, {"dict": [_, "any"]}:
            yield TypeChange(path, True, f"{type_text(old)} may now have any fields")
        case {"tuple": ones}, {"tuple": others} if len(ones) == len(others):
            for number, (one, other) in enumerate(zip(ones, others, strict=True)):
                yield from type_changes(one, other, f"{path}[{number}]")
        case _ if _choices(old) is not None and _choices(new) is not None:
            yield from _choice_changes(old, new, path)
        case _ if "union" in (*_key(old), *_key(new)):
            yield from _union_changes(old, new, path)
        case {"ref": one}, {"ref": other}:
            yield TypeChange(path, True, f"the name of the type was `{one}`, and is `{other}`")
        case _:
            yield _retyped(old, new, path)


def readable(old: Any, new: Any) -> bool:
    """Whether every value of the old type can be read as the new one."""
    return all(change.safe for change in type_changes(old, new))


def _key(data: Any) -> Sequence[str]:
    return list(data)[:1] if isinstance(data, dict) else ()


def _retyped(old: Any, new: Any, path: str) -> TypeChange:
    choices = _choices(old)
    wider = (old, new) in _WIDER if isinstance(old, str) and isinstance(new, str) else False
    if choices is not None and new == "string":
        wider = all(isinstance(choice, str) for choice in choices)
    if choices is not None and new == "integer":
        wider = all(isinstance(choice, int) for choice in choices)
    if wider:
        return TypeChange(path, True, f"{type_text(old)} became {type_text(new)}, which can hold it")
    return TypeChange(
        path,
        False,
        f"{type_text(old)} became {type_text(new)}: what was written before cannot be read",
        "add a field of another name with the new type, and keep this one",
    )


def _choices(data: Any) -> list[Any] | None:
    match data:
        case {"enum": _, "values": values} | {"literal": values}:
            return list(values)
    return None


def _choice_changes(old: Any, new: Any, path: str) -> Iterator[TypeChange]:
    before, now = _choices(old) or [], _choices(new) or []
    gone = [value for value in before if value not in now]
    if gone:
        listed = ", ".join(map(repr, gone))
        yield TypeChange(
            path,
            False,
            f"{listed} can no longer be read as {type_text(new)}",
            "keep the values that were written",
        )
    added = [value for value in now if value not in before]
    if added:
        yield TypeChange(path, True, f"{', '.join(map(repr, added))} may come, too")


def _union_changes(old: Any, new: Any, path: str) -> Iterator[TypeChange]:
    before = old["union"] if "union" in _key(old) else [old]
    now = new["union"] if "union" in _key(new) else [new]
    for one in before:
        near = [other for other in now if one == other] or [
            other for other in now if _key(one) == _key(other) != ()
        ]
        if not near:
            near = [other for other in now if readable(one, other)]
        if near:
            yield from type_changes(one, near[0], path)
        elif one == "null":
            yield TypeChange(
                path, False, "null was written before, and can no longer be read", "keep `| None`"
            )
        else:
            yield _retyped(one, new, path)
    added = [
        other
        for other in now
        if other not in before and not any(_key(other) == _key(one) != () for one in before)
    ]
    if added and not any(not readable(one, new) for one in before if one not in now and len(now) == 1):
        yield TypeChange(path, True, f"{' | '.join(map(type_text, added))} may come, too")


def _record_changes(old: Any, new: Any, path: str) -> Iterator[TypeChange]:
    for rule in ("tag", "by_position"):
        if old.get(rule) != new.get(rule):
            yield TypeChange(
                path, False, f"`{rule}` of {type_text(new)} was {old.get(rule)!r}, and is {new.get(rule)!r}"
            )
    if new.get("by_position"):
        yield from _position_changes(old["fields"], new["fields"], path)
        return
    before = {field["name"]: field for field in old["fields"]}
    now = {field["name"]: field for field in new["fields"]}
    gone = [field for name, field in before.items() if name not in now]
    added = [field for name, field in now.items() if name not in before]
    for field in gone:
        yield _removed(field, added, bool(new.get("strict")), path)
    for field in added:
        yield _added(field, path)
    for name in before.keys() & now.keys():
        yield from type_changes(before[name]["type"], now[name]["type"], _at(path, name))
        if now[name]["required"] and not before[name]["required"]:
            yield TypeChange(
                _at(path, name),
                False,
                "it had a default and has none now: what was written without it cannot be read",
                "keep the default",
            )


def _position_changes(old: list[Any], new: list[Any], path: str) -> Iterator[TypeChange]:
    for before, now in zip(old, new, strict=False):
        yield from type_changes(before["type"], now["type"], _at(path, now["name"]))
    for field in new[len(old) :]:
        yield _added(field, path)
    for field in old[len(new) :]:
        yield _removed(field, [], strict=True, path=path)


def _removed(field: Any, added: list[Any], strict: bool, path: str) -> TypeChange:
    name = field["name"]
    alike = [other["name"] for other in added if other["type"] == field["type"]]
    if len(alike) == 1:
        return TypeChange(
            _at(path, name),
            False,
            f"the field is gone, and `{alike[0]}` has its type: what was written under the old name is not found "
            "under the new one",
            f"keep the name in JSON: `{alike[0]}: ... = msgspec.field(name={name!r})`, or an alias in pydantic",
        )
    lost = (
        "what was written with it is refused"
        if strict
        else "what it held is lost when a value is written again, and others may still need it"
    )
    return TypeChange(_at(path, name), False, f"the field was removed: {lost}", "keep it, with a default")


def _added(field: Any, path: str) -> TypeChange:
    where = _at(path, field["name"])
    if field["required"]:
        return TypeChange(
            where,
            False,
            "the field is new and has no default: what was written before cannot be read",
            "give it a default",
        )
    return TypeChange(where, True, "the field is new, and has a default for what was written before")


def _at(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
