"""Errors: those of the tools, with the same codes and texts."""

from typing import Iterable, Tuple


class Error(Exception):
    """A call that failed. `code` is the exit code of the tools: 1 invalid input, 2 usage, 3 memory budget, 4 refused plan or weights, 5 failed
    run, 70 a bug. `notes` are remedies. As text: the message, and a line for each note, as the tools print them after `error: `."""

    def __init__(self, code: int, message: str, notes: Iterable[str] = ()):
        self.code = code
        self.message = message
        self.notes: Tuple[str, ...] = tuple(notes)
        super().__init__(code, message, self.notes)

    def __str__(self) -> str:
        return "\n".join([self.message, *(f"note: {note}" for note in self.notes)])
