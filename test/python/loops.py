"""Loops of a script that run for no element: a test that loops over an empty list compares nothing."""

import ast
import sys


class LoopTrace:
    """Records the lines of a script that run inside a `with` statement."""

    def __init__(self, path):
        self.path, self.lines, self.complete = path, set(), set()

    def __enter__(self):
        sys.settrace(self.call)
        return self

    def __exit__(self, *exception):
        sys.settrace(None)

    def call(self, frame, event, argument):
        # A function whose lines have all run is not traced again.
        return self.line if frame.f_code.co_filename == self.path and frame.f_code not in self.complete else None

    def line(self, frame, event, argument):
        self.lines.add(frame.f_lineno)
        if event == "return" and all(line in self.lines for *_, line in frame.f_code.co_lines() if line):
            self.complete.add(frame.f_code)
        return self.line

    def empty(self):
        """The line numbers of the loops that were reached and whose body never ran."""
        with open(self.path) as file:
            loops = [node for node in ast.walk(ast.parse(file.read())) if isinstance(node, ast.For)]
        return [node.lineno for node in loops if node.lineno in self.lines and node.body[0].lineno not in self.lines]
