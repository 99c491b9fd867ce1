"""What a Kafka client says, as an error of ours that names the place and the cure."""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import KafkaError, KafkaException

from headrace.errors import BrokerNotReachableError, FencedError, HeadraceError, LogError
from headrace.log.base import LogConfig
from headrace.meant import did_you_mean

_UNREACHABLE = {
    KafkaError._TRANSPORT,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._RESOLVE,
    KafkaError._TIMED_OUT,
    KafkaError._TIMED_OUT_QUEUE,
}
_FENCED = {KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED}
_ABSENT = {
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError.TOPIC_EXCEPTION,
}
# Leaders move, and a new topic has none for a moment: it passes.
_PASSING = {
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.REPLICA_NOT_AVAILABLE,
    *_ABSENT,
}


def reason(error: KafkaException | KafkaError) -> KafkaError:
    """The error inside an exception."""
    return error.args[0] if isinstance(error, KafkaException) else error


def is_fenced(error: KafkaError) -> bool:
    """Whether another producer of the same transactional id has taken over."""
    return error.code() in _FENCED


def is_absent(error: KafkaError) -> bool:
    """Whether the topic or partition does not exist."""
    return error.code() in _ABSENT


def is_unexplained(error: KafkaError) -> bool:
    """Whether a record was given up without a word of why: with its transaction, or after it had waited too long, as it
    does for a partition of which the client has not heard that it is gone.
    """
    return error.code() in (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT, KafkaError._MSG_TIMED_OUT)


def is_passing(error: KafkaError) -> bool:
    """Whether asking again in a moment is likely to help."""
    return error.retriable() or error.code() in _PASSING


def unreachable(config: LogConfig, error: object) -> BrokerNotReachableError:
    """Nobody answers."""
    return BrokerNotReachableError(
        f"no Kafka broker answers at `{config.bootstrap_servers}` ({error}): "
        "check `bootstrap_servers`, and that the broker runs and can be reached from here"
    )


def missing(config: LogConfig, topic: str, others: Iterable[str] = ()) -> LogError:
    """The topic is not there; one of the others may be meant."""
    hint = did_you_mean(topic, others)
    return LogError(
        f"topic `{topic}` does not exist on Kafka at `{config.bootstrap_servers}`: "
        + (f"{hint} Else " if hint else "")
        + "create it with "
        f"`headrace topics create {topic} --bootstrap-servers {config.bootstrap_servers}`"
    )


def translate(error: KafkaException | KafkaError, config: LogConfig, doing: str) -> HeadraceError:
    """Any failure of a client while `doing` something."""
    cause = reason(error)
    if cause.code() in _UNREACHABLE:
        return unreachable(config, cause.str())
    if is_fenced(cause):
        return FencedError(
            f"another process has taken over while {doing} ({cause.str()}): this one must stop"
        )
    return LogError(f"Kafka refused {doing}: {cause.str()}")
