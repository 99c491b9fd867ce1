"""Holding a table's updates back."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from headrace.dsl.graph import LogicalNode, Operation
from headrace.dsl.old_values import send_old_values
from headrace.dsl.table_handle import OptionalStore, TableHandle
from headrace.dsl.versioned import is_versioned
from headrace.errors import InvalidArgumentError
from headrace.origin import caller
from headrace.serdes import SessionWindowedSerde, TaggedSerde, TimeWindowedSerde
from headrace.suppressed import Suppressed
from headrace.topology.naming import check_name
from headrace.topology.operators import SessionAggregate, SlidingAggregate, Suppress, WindowedAggregate
from headrace.topology.stores import StoreSpec
from headrace.topology.views import SuppressView

if TYPE_CHECKING:
    from headrace.dsl.ktable import KTable

K = TypeVar("K")
V = TypeVar("V")

_PREFIX = "KTABLE-SUPPRESS-"


class TableSuppressOperations(TableHandle[K, V]):
    """What a `KTable` can do with its updates."""

    def suppress(self, until: Suppressed, *, name: str | None = None) -> KTable[K, V]:
        """Hold updates back: until their window is closed (one final result each), or for a time (one of several).

        An update keeps its timestamp and headers. Time moves with the records that get here.

        >>> from datetime import timedelta
        >>> from headrace import BufferConfig, StreamsBuilder, Suppressed, TimeWindows
        >>> clicks = StreamsBuilder().stream("clicks", value=str).group_by_key()
        >>> minutes = clicks.windowed_by(TimeWindows(timedelta(minutes=1), grace=timedelta(seconds=5)))
        >>> minutes.count().suppress(Suppressed.until_window_closes())
        <KTable of `KTABLE-SUPPRESS-0000000003`>
        >>> few = BufferConfig.max_records(1000).emit_early_when_full()
        >>> clicks.count().suppress(Suppressed.until_time_limit(timedelta(seconds=10), few), name="calm")
        <KTable of `calm`>
        """
        origin, blueprint = caller(), self._blueprint
        if not isinstance(until, Suppressed):
            raise InvalidArgumentError(
                f"`suppress` takes a `Suppressed`, got {until!r}: make one with "
                "`Suppressed.until_window_closes(...)` or `Suppressed.until_time_limit(...)`",
                node=self._name,
                origin=origin,
            )
        if is_versioned(blueprint.nodes, self._node):
            raise InvalidArgumentError(
                f"`suppress` holds the latest updates back, and `{self._name}` is versioned: its updates may come in "
                "another order; leave `history_retention` out, or hold back a table made of it",
                node=self._name,
                origin=origin,
            )
        wait_ms = self._grace() if until.until_close else until.wait_ms
        if name is None:
            node_name = blueprint.name(_PREFIX, None)
            store = blueprint.namer.store(_PREFIX)
        else:
            # Unlike elsewhere, a name uses up no number.
            check_name(name, "name", origin)
            node_name, store = name, f"{name}-store"
        # What is sent on later carries the old value of the update itself.
        send_old_values(blueprint, self._node)
        buffer = until.buffer
        spec = StoreSpec(
            store,
            "suppression_buffer",
            self._key.serde,
            self._value.internal,
            logging=buffer.logging,
            log_config=buffer.log_config,
            origin=origin,
        )
        node = Operation(
            name=node_name,
            parents=(self._node,),
            origin=origin,
            operator=Suppress(
                store,
                wait_ms,
                until.until_close,
                buffer.record_limit,
                buffer.byte_limit,
                buffer.emits_early,
                until.idle_ms,
            ),
            stores=(spec,),
            versioned=False,
        )
        kept = OptionalStore(self._key, self._value)
        return self._table(node, kept, SuppressView(self._view, store), self._sources)

    def _grace(self) -> int:
        """How long after its end a window of this table is closed: the longest grace of all windows it is made of."""
        key = self._key.serde
        is_ours = key is not None and type(key).__module__.startswith("headrace.")
        if is_ours and not isinstance(key, TimeWindowedSerde | SessionWindowedSerde | TaggedSerde):
            raise self._without_windows()
        graces: list[int] = []
        waiting, seen = [self._node], {self._node}
        while waiting:
            node = self._blueprint.nodes[waiting.pop()]
            grace = _grace_of(node)
            if grace is not None:
                graces.append(grace)
            elif not node.parents:
                raise self._without_windows()
            else:
                waiting += [parent for parent in node.parents if parent not in seen]
                seen.update(node.parents)
        return max(graces)

    def _without_windows(self) -> InvalidArgumentError:
        return InvalidArgumentError(
            f"`until_window_closes` needs windows, and the keys of `{self._name}` have none: use it right behind an "
            "aggregation with `windowed_by`, or wait for a time with `Suppressed.until_time_limit(...)`",
            node=self._name,
            origin=caller(),
        )


def _grace_of(node: LogicalNode) -> int | None:
    match getattr(node, "operator", None):
        case WindowedAggregate(windows=time) | SlidingAggregate(windows=time):
            return int(time.grace_ms)
        case SessionAggregate(windows=sessions):
            return int(sessions.grace_ms + sessions.gap_ms)
    return None
