# SPDX-License-Identifier: Apache-2.0
"""
Calls of the library that Ctrl-C stops at once.

A call runs in another thread while the caller waits: signals reach the main thread only, and
Python acts on them between two bytecodes, of which the library executes none.  The caller raises
KeyboardInterrupt without delay; a search notices within about a tenth of a second, and ends in the
background.  No signal handler is set.
"""

from __future__ import annotations

import atexit
import os
import queue
import sys
import threading
from typing import Any, Callable, Generic, List, Optional, Set, Tuple, TypeVar

T = TypeVar("T")

_POLL_S = 0.05  # between two looks at the main thread
_GRACE_S = 0.1  # for the library to stop before the caller goes on
_EXIT_S = 2.0  # likewise, before the interpreter ends

_calls: "Set[Call[Any]]" = set()
_idle: "List[queue.SimpleQueue[Call[Any]]]" = []  # of threads that wait for a call

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # a child has none of the threads


def _interrupt_of_main() -> Optional[BaseException]:
    """The KeyboardInterrupt that the main thread handles now, or which ended it."""
    main = threading.main_thread()
    if not main.is_alive():
        last = getattr(sys, "last_value", None)
        return last if isinstance(last, KeyboardInterrupt) else None
    handled: Any = getattr(sys, "_current_exceptions", dict)()
    handled = handled.get(main.ident)
    value = handled[1] if isinstance(handled, tuple) else handled  # a tuple before Python 3.12
    return value if isinstance(value, KeyboardInterrupt) else None


class Call(Generic[T]):
    """
    Runs `work(report)` in a thread, and `progress` with what it reports in the caller's.  Once
    `report` has returned False, the work is expected to stop.
    """

    def __init__(
        self,
        work: "Callable[[Callable[..., bool]], T]",
        progress: Optional[Callable[..., None]],
    ) -> None:
        self._work, self._progress = work, progress
        self._events: "queue.SimpleQueue[Tuple[str, Any]]" = queue.SimpleQueue()
        self._running = threading.Lock()  # held until the work has ended
        self._stopped = self._interrupted = False

    def _report(self, *values: Any) -> bool:
        if self._progress:
            self._events.put(("progress", values))
        return not self._stopped

    def _run(self) -> None:
        end: "Tuple[str, Any]"
        try:
            end = ("answer", self._work(self._report))
        except BaseException as exception:
            end = ("raise", exception)
        _calls.discard(self)
        self._running.release()
        self._events.put(end)

    def _wait(self) -> T:
        on_main = threading.current_thread() is threading.main_thread()
        before = None if on_main else _interrupt_of_main()
        while True:
            interrupt = None if on_main else _interrupt_of_main()
            if self._interrupted or (interrupt is not None and interrupt is not before):
                raise KeyboardInterrupt
            try:
                kind, value = self._events.get(timeout=_POLL_S)
            except queue.Empty:
                continue
            if kind == "answer":
                answer: T = value
                return answer
            if kind == "raise" and self._interrupted:
                raise KeyboardInterrupt from value  # the error of work that was stopped
            if kind == "raise":
                raise value
            assert self._progress
            self._progress(*value)

    def stop(self, wait_s: float) -> None:
        """Asks the work to stop, and waits for that a little."""
        self._stopped = True
        if self._running.acquire(timeout=wait_s):
            self._running.release()

    def _start(self) -> None:
        """Hands the call to a thread that has nothing to do, or to a new one."""
        try:
            _idle.pop().put(self)
        except IndexError:
            given: "queue.SimpleQueue[Call[Any]]" = queue.SimpleQueue()
            given.put(self)
            try:
                threading.Thread(target=_serve, args=(given,), name="reckon", daemon=True).start()
            except BaseException:
                _calls.discard(self)  # it never started
                self._running.release()
                raise

    def run(self) -> T:
        """The result of the work."""
        _calls.add(self)
        self._running.acquire()
        try:
            self._start()
            return self._wait()
        except KeyboardInterrupt:
            if threading.current_thread() is threading.main_thread():
                for call in list(_calls):
                    call._interrupted = call._stopped = True  # in this order
            raise
        finally:
            self.stop(_GRACE_S)


def _serve(given: "queue.SimpleQueue[Call[Any]]") -> None:
    """A thread that makes one call after another."""
    while True:
        given.get()._run()
        _idle.append(given)


@atexit.register
def _stop_all() -> None:
    """Threads that are in the library while the interpreter ends are lost; let them finish."""
    for call in list(_calls):
        call._stopped = True
    for call in list(_calls):
        call.stop(_EXIT_S)
