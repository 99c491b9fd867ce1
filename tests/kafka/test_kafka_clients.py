"""Producers and consumers on a real broker, with the code of those on the embedded log."""

from __future__ import annotations

import pytest
from clients_contract import ClientsContract, Where, admin

from tests.kafka.broker import Broker

__all__ = ["admin"]


@pytest.fixture
def where(broker: Broker) -> Where:
    return {"bootstrap_servers": broker.bootstrap_servers}


class TestContract(ClientsContract):
    pass
