# SPDX-License-Identifier: Apache-2.0
"""
Calls of the library that Ctrl-C stops at once.

A call runs in a thread of its own while the caller waits: signals reach the main thread only, and
Python acts on them between two bytecodes, of which the library executes none.  The caller raises
KeyboardInterrupt without delay; a search notices within about a tenth of a second, and ends in the
background.  No signal handler is set.
"""

from __future__ import annotations

import atexit
import queue
import sys
import threading
from typing import Any, Callable, Generic, Optional, Set, Tuple, TypeVar

T = TypeVar("T")

_POLL_S = 0.05  # between two looks at the main thread
_GRACE_S = 0.1  # for the library to stop before the caller goes on
_EXIT_S = 2.0  # likewise, before the interpreter ends

_calls: "Set[Call[Any]]" = set()


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
        self._thread = threading.Thread(target=self._run, name="reckon", daemon=True)
        self._stopped = self._interrupted = False

    def _report(self, *values: Any) -> bool:
        if self._progress:
            self._events.put(("progress", values))
        return not self._stopped

    def _run(self) -> None:
        try:
            self._events.put(("answer", self._work(self._report)))
        except BaseException as exception:
            self._events.put(("raise", exception))
        finally:
            _calls.discard(self)

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
            if kind == "raise":
                raise value
            assert self._progress
            self._progress(*value)

    def stop(self, wait_s: float) -> None:
        """Asks the work to stop, and waits for that a little."""
        self._stopped = True
        if self._thread.is_alive():
            self._thread.join(wait_s)

    def run(self) -> T:
        """The result of the work."""
        _calls.add(self)
        try:
            self._thread.start()
            return self._wait()
        except KeyboardInterrupt:
            if threading.current_thread() is threading.main_thread():
                for call in list(_calls):
                    call._stopped = call._interrupted = True
            raise
        finally:
            self.stop(_GRACE_S)
            if not self._thread.is_alive():
                _calls.discard(self)  # it never started


@atexit.register
def _stop_all() -> None:
    """Threads that are in the library while the interpreter ends are lost; let them finish."""
    for call in list(_calls):
        call._stopped = True
    for call in list(_calls):
        call.stop(_EXIT_S)
