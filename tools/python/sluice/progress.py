"""A line about a long call on a terminal or in a notebook, and calls that Ctrl-C can end."""

import os
import shutil
import sys
import threading
import time
from typing import Any, Callable, List, Optional, TypeVar

T = TypeVar("T")

# Seconds until a call is long, and between two changes of the line.
BEGIN, INTERVAL = 1.0, 0.5


def is_shown() -> bool:
    """Whether standard error is a terminal or the output of a notebook's cell; $SLUICE_PROGRESS, 0 or 1, overrides it."""
    given = os.environ.get("SLUICE_PROGRESS")
    if given is not None:
        return given != "0"
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())


class Line:
    """One line, which each text replaces."""

    def __init__(self, enabled: Optional[bool] = None):
        self.enabled = is_shown() if enabled is None else enabled
        self._width, self._time = 0, 0.0

    def show(self, text: str, now: bool = False) -> None:
        moment = time.monotonic()
        if not self.enabled or (moment - self._time < INTERVAL and not now):
            return
        text = text[:shutil.get_terminal_size((100, 24)).columns - 1]
        self._write("\r" + text.ljust(self._width))
        self._width, self._time = len(text), moment

    def clear(self) -> None:
        if self._width:
            self._write("\r" + " " * self._width + "\r")
            self._width = 0

    def end(self) -> None:
        """Keeps the last text."""
        if self._width:
            self._write("\n")
            self._width = 0

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError):
            self.enabled = False


class Waiting:
    """`with Waiting("saving"):` shows the text and the seconds of a call that takes longer than a second."""

    def __init__(self, text: str):
        self._text, self._line, self._ended = text, Line(), threading.Event()
        self._thread: Optional[threading.Thread] = None

    def __enter__(self) -> None:
        if self._line.enabled:
            self._thread = threading.Thread(target=self._show, daemon=True)
            self._thread.start()

    def __exit__(self, *_: Any) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._line.clear()

    def _show(self) -> None:
        begin, pause = time.monotonic(), BEGIN
        while not self._ended.wait(pause):
            self._line.show(f"{self._text}: {time.monotonic() - begin:.0f} s", now=True)
            pause = INTERVAL


def interruptible(text: str, function: Callable[[], T]) -> T:
    """The result of the function, which runs in a thread: Ctrl-C raises KeyboardInterrupt at once. The function continues, because native code cannot be
    stopped: its result is dropped when it ends, and an interpreter that ends waits for it."""
    results: List[T] = []
    problems: List[BaseException] = []
    ended = threading.Event()

    def run() -> None:
        try:
            results.append(function())
        except BaseException as problem:
            problems.append(problem)
        ended.set()

    # Not a daemon: a thread within native code while the process frees its memory would crash.
    threading.Thread(target=run).start()
    with Waiting(text):
        # A wait with a limit ends for a signal on every platform.
        while not ended.wait(60):
            pass
    if problems:
        raise problems[0]
    return results[0]
