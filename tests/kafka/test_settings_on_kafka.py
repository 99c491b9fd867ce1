"""Settings of sources on a real broker."""

from __future__ import annotations

from collections.abc import Callable

from tests.spark.harness import Application
from tests.spark.test_settings_on_spark import check_beginnings


def test_sources_begin_where_they_say_or_else_where_the_settings_say(
    application: Callable[..., Application],
) -> None:
    check_beginnings(application)
