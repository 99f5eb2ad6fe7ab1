"""Answers that a process remembers: a bounded number of them, of bounded size; the one that was not asked for longest goes first."""

from __future__ import annotations

import math
import threading
from collections.abc import Hashable
from typing import Generic, TypeVar

Answer = TypeVar("Answer")


class Bounded(Generic[Answer]):
    """A mapping that forgets.

    Parameters
    ----------
    number : int
        Most answers that are remembered.
    size : float
        Largest sum of their sizes; an answer that is larger by itself is not remembered.
    """

    def __init__(self, number: int, size: float = math.inf):
        self.number, self.size = number, size
        self._answers: dict[Hashable, tuple[Answer, int]] = {}
        self._held = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._answers)

    @property
    def held(self) -> int:
        """Sum of the sizes."""
        return self._held

    def get(self, key: Hashable) -> Answer | None:
        """What was put under a key; None where it is not there, or forgotten."""
        with self._lock:
            found = self._answers.pop(key, None)
            if found is None:
                return None
            self._answers[key] = found  # the last one to go
            return found[0]

    def put(self, key: Hashable, answer: Answer, size: int = 0) -> None:
        """Remember an answer, and forget others where there is no room for it."""
        with self._lock:
            self._drop(key)
            if size > self.size:
                return
            while len(self._answers) >= self.number or self._held + size > self.size:
                self._drop(next(iter(self._answers)))
            self._answers[key] = (answer, size)
            self._held += size

    def _drop(self, key: Hashable) -> None:
        self._held -= self._answers.pop(key, (None, 0))[1]
