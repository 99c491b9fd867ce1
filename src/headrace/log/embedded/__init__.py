"""The embedded log: a directory with an LMDB environment in which each entry is an Arrow record batch."""

from __future__ import annotations

from headrace.log.embedded.log import EmbeddedLog

__all__ = ["EmbeddedLog"]
