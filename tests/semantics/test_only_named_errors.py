"""Whatever is built and whatever comes in: only errors of Headrace's own leave the library.

The topologies are those of `programs.generate`, and such with mistakes: operations on what does not fit, names twice,
durations that make no sense, callbacks that fail or give values of another type. The inputs are bytes of any kind.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from semantics.programs import functions
from semantics.programs.build import build
from semantics.programs.generate import generate

from headrace import HeadraceError, StreamsBuilder, StreamsConfig, Topology, log_and_continue
from headrace.testing import TopologyTestDriver

TEXTS = st.one_of(
    st.none(),
    st.binary(max_size=9),
    st.sampled_from([b"A", b"B", b"C", b"a1", b"x7", b"12345678", b"\xff\xfe"]),
)
TIMES = st.one_of(
    st.integers(-2, 300), st.sampled_from([2**31, 2**62, 2**63 - 1]), st.integers(-(2**63), 2**63 - 1)
)
STEPS = st.lists(st.tuples(st.integers(0, 9), TEXTS, TEXTS, TIMES), max_size=25)
HANDLERS = {
    "deserialization_handler": log_and_continue,
    "processing_handler": log_and_continue,
    "production_handler": log_and_continue,
}
SETTINGS = st.fixed_dictionaries({}, optional={name: st.just(handler) for name, handler in HANDLERS.items()})


@pytest.fixture(autouse=True, scope="module")
def quiet() -> Iterator[None]:
    """What is skipped is logged, and much is skipped here."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def run(program: dict[str, Any], steps: list[tuple[int, Any, Any, int]], config: StreamsConfig) -> None:
    """Build and run it; errors of Headrace's own are what may come of it."""
    try:
        topology = built(program)
    except HeadraceError:
        return
    topics = list(program["inputs"])
    try:
        with TopologyTestDriver(topology, config, initial_wall_clock_time=0) as driver:
            for number, key, value, time in steps:
                try:
                    driver.pipe_bytes(topics[number % len(topics)], key, value, time)
                except HeadraceError:
                    # A driver goes on after a record that has failed.
                    continue
            for name in driver.get_all_state_stores():
                driver.get_state_store(name)
    except HeadraceError:
        return


def built(program: dict[str, Any]) -> Topology:
    builder = StreamsBuilder()
    build(program, builder)
    return builder.build()


@settings(max_examples=120, deadline=None)
@given(seed=st.integers(0, 10**6), steps=STEPS, handlers=SETTINGS)
def test_whatever_comes_in(
    seed: int, steps: list[tuple[int, Any, Any, int]], handlers: dict[str, Any]
) -> None:
    config = StreamsConfig(application_id="named", default_value=str, **handlers)
    run(generate(seed, "named", size=7), steps, config)


def _twice(program: dict[str, Any], random: Random) -> None:
    program["ops"].append(dict(random.choice(program["ops"])))


def _another_input(program: dict[str, Any], random: Random) -> None:
    """Methods are called on what has them, but get anything."""
    ops = program["ops"]
    place = random.choice([number for number, op in enumerate(ops) if "in" in op])
    before = [op["id"] for op in ops[:place] if "id" in op]
    op = ops[place]
    if isinstance(op["in"], str):
        op["in"] = random.choice([name for name in before if name[0] == op["in"][0]] or [op["in"]])
    elif op["op"] != "cogroup":
        op["in"] = [op["in"][0], *random.choices(before, k=len(op["in"]) - 1)]


def _another_number(program: dict[str, Any], random: Random) -> None:
    op = random.choice(program["ops"])
    numbers = [name for name, value in op.items() if isinstance(value, int) and not isinstance(value, bool)]
    for name in numbers:
        op[name] = random.choice([-1, 0, 1, 10**15])
    if "windows" in op:
        op["windows"] = [op["windows"][0], *(random.choice([-1, 0, 1, 7]) for _ in op["windows"][1:])]


def _another_name(program: dict[str, Any], random: Random) -> None:
    for op in random.sample(program["ops"], k=min(3, len(program["ops"]))):
        for name in ("store", "name", "topic", "prefix"):
            if name in op and (name != "topic" or op["op"] == "to"):
                # What is written where it was read goes round for ever, in the original's driver too.
                taken = program["inputs"] if name == "topic" else ()
                names = ["", "one", "a", "b c", "-", "../x"]
                op[name] = random.choice([given for given in names if given not in taken])


MISTAKES = [_twice, _another_input, _another_number, _another_name]


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**6), steps=STEPS, handlers=SETTINGS)
def test_whatever_is_built(
    seed: int, steps: list[tuple[int, Any, Any, int]], handlers: dict[str, Any]
) -> None:
    program, random = generate(seed, "named", size=7), Random(seed)
    for mistake in random.sample(MISTAKES, k=random.randint(1, 2)):
        mistake(program, random)
    run(program, steps, StreamsConfig(application_id="named", default_value=str, **handlers))


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    steps=STEPS,
    handlers=SETTINGS,
    wrong=st.sampled_from([ValueError("mine"), KeyError(3), 5, 2.5, b"\xff", [], object(), "\ud800", 2**70]),
)
def test_whatever_a_callback_does(
    seed: int, steps: list[tuple[int, Any, Any, int]], handlers: dict[str, Any], wrong: Any
) -> None:
    random = Random(seed)

    def odd(value: Any) -> str:
        # The names of all callbacks lead here: each of them sometimes fails, or gives something else.
        if random.random() < 0.1:
            if isinstance(wrong, Exception):
                raise wrong
            return wrong  # type: ignore[no-any-return]
        return text(value)

    text = functions.text
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(functions, "text", odd)
        patch.setattr(functions, "tail", lambda value: value[-12:] if isinstance(value, str) else value)
        config = StreamsConfig(application_id="named", default_value=str, **handlers)
        run(generate(seed, "named", size=7), steps, config)
