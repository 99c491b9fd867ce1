"""The log on Kafka, by confluent-kafka (librdkafka)."""

from __future__ import annotations

from headrace.log.kafka.log import KafkaLog

__all__ = ["KafkaLog"]
