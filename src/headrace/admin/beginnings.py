"""Where an application is to begin in its inputs after a reset: the ways of `kafka-streams-application-reset`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from headrace.clock import now_ms
from headrace.errors import ConfigError
from headrace.log.base import TopicLog, TopicPartition

_DURATION = re.compile(
    r"P(?:(?P<days>\d+)D)?(?:T(?=\d)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?"
)


@dataclass(frozen=True, slots=True)
class Beginning:
    """One way to begin; at most one of these is given. None at all: as a first start would."""

    earliest: bool = False
    latest: bool = False
    at: datetime | None = None
    back: timedelta | None = None
    offset: int | None = None

    @property
    def words(self) -> str:
        """For messages."""
        if self.earliest:
            return "from the first record that is there"
        if self.latest:
            return "with records that come from now on"
        if self.at is not None:
            return f"with the first record since {self.at.isoformat()}"
        if self.back is not None:
            return f"with the first record of the last {self.back}"
        if self.offset is not None:
            return f"at offset {self.offset}, or the nearest one that is there"
        return "as at a first start"

    @property
    def is_chosen(self) -> bool:
        """Whether it differs from a first start."""
        return self != Beginning()

    def places(self, log: TopicLog, topic: str, partitions: int) -> list[int]:
        """The offsets of a topic to begin at."""
        all_of_it = [TopicPartition(topic, partition) for partition in range(partitions)]
        found = self._places(log, all_of_it)
        return [found[place] for place in all_of_it]

    def _places(self, log: TopicLog, places: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        if self.latest:
            return log.latest(places)
        if self.at is not None:
            return log.offsets_for_times(dict.fromkeys(places, int(self.at.timestamp() * 1000)))
        if self.back is not None:
            since = now_ms() - self.back // timedelta(milliseconds=1)
            return log.offsets_for_times(dict.fromkeys(places, since))
        if self.offset is not None:
            first, last = log.earliest(places), log.latest(places)
            return {place: min(max(self.offset, first[place]), last[place]) for place in places}
        return log.earliest(places)


def to_datetime(text: str) -> datetime:
    """Kafka's `YYYY-MM-DDTHH:mm:SS.sss`; without a zone it is UTC.

    >>> to_datetime("2026-01-31T12:00:00.000").isoformat()
    '2026-01-31T12:00:00+00:00'
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise ConfigError(f"`--to-datetime` takes YYYY-MM-DDTHH:mm:SS.sss, got {text!r}") from error
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found


def to_duration(text: str) -> timedelta:
    """Kafka's `PnDTnHnMnS`.

    >>> to_duration("P1DT2H30M")
    datetime.timedelta(days=1, seconds=9000)
    """
    found = _DURATION.fullmatch(text)
    if found is None or text in ("P", "PT"):
        raise ConfigError(f"`--by-duration` takes PnDTnHnMnS, as in `PT1H30M`, got {text!r}")
    return timedelta(**{unit: float(number) for unit, number in found.groupdict().items() if number})
