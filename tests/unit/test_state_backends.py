"""A store in memory and one on LMDB are the same to whoever reads them, over commits, rollbacks and reopening."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from state_cases import no_changelog

from headrace.errors import StoreError
from headrace.serdes import serde_for
from headrace.state import MemoryBackend
from headrace.state.local import Accepted, LocalReader, LocalState, Stamp
from headrace.topology.stores import StoreSpec

SPEC = StoreSpec("s", "key_value", serde_for(bytes), serde_for(bytes))

short = st.binary(max_size=3)
# Around the limits of LMDB's keys, with prefixes that many share.
long = st.builds(
    lambda head, size, tail: (head * size)[:size] + tail,
    st.sampled_from([b"a", b"ab", b"\0", b"\xff"]),
    st.sampled_from([0, 1, 400, 499, 500, 501, 502, 510, 511, 512, 1000, 2000]),
    st.binary(max_size=2),
)
keys = st.one_of(short, long)
values = st.one_of(st.binary(max_size=8), st.sampled_from([b"x" * 5000, b"y" * 70_000]))


class Backends(RuleBasedStateMachine):
    """The same calls on both; the model of what is committed is a dict."""

    @initialize()
    def start(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)
        self.state = LocalState(self.path, [SPEC])
        self.accepted = Accepted()
        self.commits = 0
        self.committed: dict[bytes, bytes] = {}
        self.pending: dict[bytes, bytes] = {}
        self.prepare()

    def prepare(self) -> None:
        self.state.prepare(self.accepted, no_changelog)
        self.lmdb = self.state.backend("s")

    @rule(key=keys, value=values)
    def put(self, key: bytes, value: bytes) -> None:
        self.lmdb.put(key, value)
        self.pending[key] = value

    @rule(key=keys)
    def delete(self, key: bytes) -> None:
        self.lmdb.delete(key)
        self.pending.pop(key, None)

    @rule(key=keys)
    def get(self, key: bytes) -> None:
        assert self.lmdb.get(key) == self.pending.get(key)

    @rule(low=st.none() | keys, high=st.none() | keys, reverse=st.booleans())
    def range(self, low: bytes | None, high: bytes | None, reverse: bool) -> None:
        memory = MemoryBackend()
        for key, value in self.pending.items():
            memory.put(key, value)
        assert list(self.lmdb.range(low, high, reverse)) == list(memory.range(low, high, reverse))

    def commit(self) -> None:
        self.commits += 1
        stamp = Stamp("i", self.commits, "a")
        if self.state.commit(stamp, self.accepted):
            self.base, self.accepted = self.accepted, Accepted(stamp, {})
        else:
            self.base = self.accepted

    @rule()
    def commit_and_go_on(self) -> None:
        self.commit()
        self.committed = dict(self.pending)
        self.prepare()

    @rule()
    def commit_that_is_never_accepted(self) -> None:
        self.commit()
        self.accepted = self.base
        self.pending = dict(self.committed)
        self.prepare()

    @rule()
    def rollback(self) -> None:
        self.state.rollback()
        self.pending = dict(self.committed)

    @rule()
    def reopen(self) -> None:
        self.state.close()
        self.state = LocalState(self.path, [SPEC])
        self.pending = dict(self.committed)
        self.prepare()

    @invariant()
    def all_the_same(self) -> None:
        assert dict(self.lmdb.range(None, None)) == self.pending
        reader = LocalReader(self.path, [SPEC])
        assert dict(reader.backend("s").range(None, None)) == self.committed
        reader.close()

    def teardown(self) -> None:
        if hasattr(self, "state"):
            self.state.close()
            self.folder.cleanup()


def test_lmdb_agrees_with_memory() -> None:
    run_state_machine_as_test(
        Backends,
        settings=settings(
            max_examples=60, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


@pytest.mark.parametrize("size", [400, 499, 500, 501, 502, 511, 512, 1000, 2000])
def test_long_keys_keep_their_order(tmp_path: Path, size: int) -> None:
    """Keys that differ only behind the limit, at it and before it; in the overlay and on disk."""
    wanted = {
        (b"k" * size)[: size - cut] + tail for cut in range(4) for tail in (b"", b"\0", b"a", b"zz", b"\xff")
    }
    state = LocalState(tmp_path, [SPEC])
    state.prepare(Accepted(), no_changelog)
    backend = state.backend("s")
    for key in wanted:
        backend.put(key, b"v" + key[-3:])
    in_order = [(key, b"v" + key[-3:]) for key in sorted(wanted)]
    assert list(backend.range(None, None)) == in_order
    state.commit(Stamp("i", 1, "a"), Accepted())
    assert list(backend.range(None, None)) == in_order
    assert list(backend.range(None, None, reverse=True)) == in_order[::-1]
    for at, (key, value) in enumerate(in_order):
        assert backend.get(key) == value
        assert list(backend.range(key, None)) == in_order[at:]
        assert list(backend.range(None, key, reverse=True)) == in_order[:at][::-1]
    state.close()


def test_an_iterator_shows_the_store_as_it_was_when_it_was_made(tmp_path: Path) -> None:
    state = LocalState(tmp_path, [SPEC])
    state.prepare(Accepted(), no_changelog)
    for backend in (MemoryBackend(), state.backend("s")):
        backend.put(b"a", b"1")
        backend.put(b"b", b"2")
        entries = backend.range(None, None)
        backend.put(b"a", b"9")
        backend.delete(b"b")
        backend.put(b"c", b"3")
        assert list(entries) == [(b"a", b"1"), (b"b", b"2")]
        assert list(backend.range(None, None)) == [(b"a", b"9"), (b"c", b"3")]
    state.close()


def test_an_iterator_that_outlives_its_batch_says_so(tmp_path: Path) -> None:
    state = LocalState(tmp_path, [SPEC])
    state.prepare(Accepted(), no_changelog)
    for number in range(10):
        state.backend("s").put(b"%d" % number, b"v")
    state.commit(Stamp("i", 1, "a"), Accepted())
    entries = state.backend("s").range(None, None)
    next(entries)
    state.prepare(Accepted(Stamp("i", 1, "a"), {}), no_changelog)
    with pytest.raises(StoreError, match="used after its batch"):
        next(entries)
    state.close()


def test_the_count_is_exact_for_keys_of_usual_length(tmp_path: Path) -> None:
    state = LocalState(tmp_path, [SPEC])
    state.prepare(Accepted(), no_changelog)
    backend = state.backend("s")
    for number in range(10):
        backend.put(b"%d" % number, b"v")
    assert backend.count() == 10
    state.commit(Stamp("i", 1, "a"), Accepted())
    backend.delete(b"3")
    backend.delete(b"33")
    backend.put(b"4", b"w")
    backend.put(b"new", b"w")
    assert backend.count() == 10
    state.close()
