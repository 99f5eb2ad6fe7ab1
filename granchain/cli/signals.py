"""Signals that come together are one: a batch system sends SIGTERM to the group, a terminal SIGINT, and a user presses twice."""

from __future__ import annotations

import math
import time

# A signal that comes sooner after another than this is an echo of it [s].
TOGETHER = 0.5


class Heard:
    """When the last signal was heard that was no echo [s of time.monotonic()]."""

    at = -math.inf


def is_echo() -> bool:
    """Whether the signal that is being handled came together with one that was heard; where it did not, it is heard now."""
    now = time.monotonic()
    if now - Heard.at < TOGETHER:
        return True
    Heard.at = now
    return False
