"""The @test functions of a Python script, read from its text. lit runs each as a separate test (testformat.py).

Two kinds of lines at the top of a script are read:

    # REQUIRES: a feature of lit.cfg.py, or a Boolean expression of features
    # ONE TEST: the reason why all functions run in one process, as one test
"""

import re

FUNCTION = re.compile(r"^@test\ndef (\w+)\(", re.M)


class Script:
    """The tests of a Python script, without running it. A script without an @test function has none."""

    def __init__(self, path):
        with open(path) as file:
            text = file.read()
        self.functions = FUNCTION.findall(text)
        self.requires = re.findall(r"^# REQUIRES: (.+)$", text, re.M)
        self.is_one_test = bool(self.functions) and re.search(r"^# ONE TEST: .", text, re.M) is not None

    def tests(self):
        """The names of the tests below the script; one empty name if the script is one test."""
        return [""] if self.is_one_test else self.functions
