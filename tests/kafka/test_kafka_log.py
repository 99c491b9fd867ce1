"""The log on a real broker keeps what every topic log promises."""

from __future__ import annotations

from log_contract import TopicLogContract


class TestContract(TopicLogContract):
    pass
