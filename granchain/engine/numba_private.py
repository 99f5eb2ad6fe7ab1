"""What the engine uses of Numba that Numba does not promise to keep."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
from collections.abc import Callable, Iterator
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

from granchain.engine.saved_loops import DamagedLoop, content_of, discard, say, sealed


class SealedFiles(IndexDataCacheFile):
    """Numba's two files of a loop, an index and the code, sealed."""

    def save(self, key: Any, data: Any) -> None:
        # the code carries its key: of two processes that write an index at once, one's may stand with the other's code
        super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        found = super().load(key)
        return found[1] if found is not None and found[0] == key else None

    def _load_index(self) -> dict[Any, str]:
        content = self._checked(self._index_path)
        if content is None:
            return {}
        file = io.BytesIO(content)
        if pickle.load(file) != self._version:
            return {}
        stamp, overloads = pickle.load(file)
        return overloads if stamp == self._source_stamp else {}

    def _load_data(self, name: str) -> Any:
        content = self._checked(self._data_path(name))
        return None if content is None else pickle.loads(content)

    def _checked(self, path: str) -> bytes | None:
        try:
            return content_of(path)
        except FileNotFoundError:
            return None
        except DamagedLoop as damage:
            discard(path, str(damage))
            return None

    @contextlib.contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[io.BytesIO]:
        content = io.BytesIO()
        yield content
        with super()._open_for_write(filepath) as file:
            file.write(sealed(os.path.basename(filepath), content.getvalue()))


class LoopCache(FunctionCache):
    """Numba's cache of one loop, under the hash of all that the loop reaches; no fault of it stops a run.

    Numba's own key is the bytecode and the pickled closure. A pickled function stands for what is found under its name, and a compiled
    one for a number that each process draws anew.
    """

    def __init__(self, function: Callable, key: str):
        super().__init__(function)
        self._key = key
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file: Any = SealedFiles(self._cache_path, self._impl.filename_base, stamp)

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return sig, codegen.magic_tuple(), self._key

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # of files that are as they were written, by another build of Numba or Python
            for path in (self._cache_file._index_path, self._cache_file._data_path(self._cache_file._data_name(1))):
                discard(path, f"cannot be loaded ({type(error).__name__}: {error})")
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:
            say(f"a compiled loop is not saved: {error}. The next process compiles it again; make room, or set NUMBA_CACHE_DIR")
