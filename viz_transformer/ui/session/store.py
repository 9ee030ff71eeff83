"""Loaded models, finished runs and opened traces, shared by all sessions, within a bound on their memory."""

from __future__ import annotations

import ctypes
import os
import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Protocol, cast, runtime_checkable
from weakref import WeakValueDictionary

from viz_transformer.model.hooked_model import NUMBER_BYTES

if TYPE_CHECKING:
    from viz_transformer.checkpoint import Checkpoint
    from viz_transformer.running.decoding import Run
    from viz_transformer.running.trace import Trace

GIB = 2**30
MAX_MODELS, MAX_RUNS, MAX_TRACES = 4, 24, 8


@runtime_checkable
class _Joinable(Protocol):
    def join_all(self) -> None: ...


@dataclass(frozen=True)
class _Entry:
    value: Checkpoint | Run | Trace
    size: int
    """Bytes."""
    weights_sha256: str
    """The hash of the model itself, or of the one that made the run."""
    max_alike: int
    """How many of its kind are kept."""
    leaves_with_model: bool = False


class Store:
    """What was used last: MAX_MODELS, MAX_RUNS, MAX_TRACES, and at most `max_bytes` of all. The newest always stays.

    A run that is recorded anew on demand refers to its model, and leaves with it. Several threads may use
    a store.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()  # the one used last stands last
        self._lock = Lock()
        self._loading: WeakValueDictionary[Hashable, Lock] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def bytes(self) -> int:
        """What all of it takes together."""
        with self._lock:
            return self._total()

    def model(self, key: Hashable, load: Callable[[], Checkpoint]) -> Checkpoint:
        """The model of this key, loaded if it is not there, and only once if several threads ask for it."""
        with self._lock:
            loading = self._loading.setdefault(key, Lock())
        with loading:
            if (found := self._get(key)) is None:
                found = load()
                self._put(key, _Entry(found, _model_bytes(found), found.weights_sha256, MAX_MODELS))
        return cast("Checkpoint", found)

    def loaded(self, key: Hashable) -> Checkpoint | None:
        """The model of this key; None if it is not there."""
        return cast("Checkpoint | None", self._get(key))

    def run(self, key: Hashable) -> Run | None:
        """The run of this key; None if it is not there."""
        return cast("Run | None", self._get(key))

    def put_run(self, key: Hashable, run: Run) -> None:
        """Keep a run, and let others make way for it."""
        size, needs_model = _trace_bytes(run.trace, written=bool(run.steps)), not run.trace.is_kept_whole
        self._put(key, _Entry(run, size, run.trace.weights_sha256, MAX_RUNS, needs_model))

    def trace(self, key: Hashable) -> Trace | None:
        """The trace of this key; None if it is not there."""
        return cast("Trace | None", self._get(key))

    def put_trace(self, key: Hashable, trace: Trace) -> None:
        """Keep a trace that is no run's, and let others make way for it."""
        size = _trace_bytes(trace, written=False)
        self._put(key, _Entry(trace, size, trace.weights_sha256, MAX_TRACES, not trace.is_kept_whole))

    def join_steps(self) -> None:
        """Put what the steps of each run recorded together, so that there are fewer objects to search for garbage."""
        with self._lock:
            traces = [getattr(entry.value, "trace", None) for entry in self._entries.values()]
        for trace in traces:
            if trace is not None and isinstance(trace.values, _Joinable):
                trace.values.join_all()

    def clear(self) -> None:
        """Forget all of it."""
        with self._lock:
            self._entries.clear()

    def _get(self, key: Hashable) -> Checkpoint | Run | Trace | None:
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key].value

    def _put(self, key: Hashable, new: _Entry) -> None:
        with self._lock:
            self._entries[key] = new
            self._entries.move_to_end(key)
            alike = [each for each, entry in self._entries.items() if type(entry.value) is type(new.value)]
            for old in alike[: -new.max_alike]:
                self._drop(old)
            while len(self._entries) > 1 and self._total() > self.max_bytes:
                self._drop(next(iter(self._entries)))

    def _total(self) -> int:
        return sum(entry.size for entry in self._entries.values())

    def _drop(self, key: Hashable) -> None:
        """Forget a model or a run; with a model also the runs that would keep it in memory."""
        dropped = self._entries.pop(key)
        is_model = dropped.max_alike == MAX_MODELS
        for other, entry in [*self._entries.items()]:
            if entry.leaves_with_model and entry.weights_sha256 == dropped.weights_sha256 and is_model:
                del self._entries[other]


def _trace_bytes(trace: Trace, *, written: bool) -> int:
    return trace.spec.recorded_bytes(source=len(trace.src), target=len(trace.tgt), written=written)


def _model_bytes(ckpt: Checkpoint) -> int:
    return ckpt.parameter_count * NUMBER_BYTES[ckpt.spec.precision]


def default_max_bytes() -> int:
    """An eighth of this machine's memory, at most 2 GiB."""
    return min(2 * GIB, machine_bytes() // 8)


def machine_bytes() -> int:
    """The memory of this machine; the limit of the container where there is a lower one. Raises OSError if unknown."""
    if sys.platform == "win32":
        return _windows_bytes()
    found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(limit, encoding="ascii") as file:
                found = min(found, int(file.read()))
        except (OSError, ValueError):  # no such file, or "max"
            continue
    return found


def _windows_bytes() -> int:
    """GetPhysicallyInstalledSystemMemory, which counts in KiB."""
    kib = ctypes.c_ulonglong()
    if not ctypes.WinDLL("kernel32").GetPhysicallyInstalledSystemMemory(ctypes.byref(kib)):  # type: ignore[attr-defined]
        raise OSError("the memory of this machine is not known")
    return kib.value * 1024
