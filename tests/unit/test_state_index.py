"""The index of a dict's keys is what sorting them would give, however they come and go."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.state.backend import after
from headrace.state.index import KeyIndex

keys = st.integers(0, 4000).map(lambda n: b"%d" % n)
bounds = st.none() | keys
steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.lists(keys, max_size=700)),
        st.tuples(st.just("delete"), keys),
        st.tuples(st.just("cut"), keys),
        st.tuples(st.just("slice"), st.tuples(bounds, bounds)),
        st.tuples(st.just("clear"), st.none()),
    ),
    max_size=30,
)


@settings(max_examples=150, deadline=None)
@given(steps)
def test_slices_are_sorted_and_complete(steps: list[tuple[str, object]]) -> None:
    data: dict[bytes, int] = {}
    index = KeyIndex(data)
    for name, argument in [*steps, ("slice", (None, None))]:
        match name, argument:
            case "put", list(new):
                data.update(dict.fromkeys(new, 1))
            case "delete", bytes(key) if key in data:
                index.discard(key)
                del data[key]
            case "cut", bytes(before):
                gone = index.cut(before)
                assert gone == sorted(key for key in data if key < before)
                for key in gone:
                    del data[key]
            case "clear", _:
                data.clear()
                index.clear()
            case "slice", (low, high):
                expected = sorted(
                    key for key in data if (low is None or key >= low) and (high is None or key < high)
                )
                assert index.slice(low, high) == expected


@given(st.binary(max_size=5), st.binary(max_size=8))
def test_after_is_the_end_of_a_prefix(prefix: bytes, key: bytes) -> None:
    end = after(prefix)
    inside = key >= prefix and (end is None or key < end)
    assert inside == key.startswith(prefix)
