"""Producers, consumers and the making of topics, for programs beside an application: the same code on both logs."""

from __future__ import annotations

from headrace.clients.admin import Admin
from headrace.clients.consumer import Consumer
from headrace.clients.producer import Producer
from headrace.clients.record import ConsumerRecord

__all__ = ["Admin", "Consumer", "ConsumerRecord", "Producer"]
