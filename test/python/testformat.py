"""lit's format of Sluice's tests: shell tests, and each @test function of a Python script (functions.py) as a separate test.

`pipeline/names.py/any_order` is the test of the function any_order. lit runs it as `names.py FOLDER any_order`, in an empty folder that
is removed if the test passes. A script with a line `# ONE TEST: ...` is the test `pipeline/names.py`.

With a time limit for all tests, those that have not ended by then fail with "not finished within ..."; lit reports all others. lit's own
limits do not suffice: --max-time loses results of tests that have finished, and --timeout requires psutil.
"""

import math
import os
import shutil
import signal
import subprocess
import threading
import time

import lit.Test
from functions import Script
from lit.formats import ShTest


def end_descendants(pid):
    """Kills the processes that a process has started, and theirs."""
    children = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat") as file:
                parent = file.read().rpartition(")")[2].split()[1]
        except OSError:
            continue
        children.setdefault(int(parent), []).append(int(entry))
    pending = [pid]
    while pending:
        for child in children.get(pending.pop(), ()):
            pending.append(child)
            try:
                os.kill(child, signal.SIGKILL)
            except ProcessLookupError:
                pass


class TestFormat(ShTest):
    """`limit` is the number of seconds until all tests must have ended, from now on; None without a limit."""

    def __init__(self, limit=None):
        super().__init__(execute_external=False)
        self.limit, self.deadline = limit, time.time() + float(limit or math.inf)

    def getTestsForPath(self, suite, path_in_suite, lit_config, config):
        if not path_in_suite[-1].endswith(".py") or path_in_suite[-1] in config.excludes:
            yield from super().getTestsForPath(suite, path_in_suite, lit_config, config)
            return
        path = suite.getSourcePath(path_in_suite)
        script = Script(path)
        for name in script.tests():
            test = lit.Test.Test(suite, path_in_suite + ((name,) if name else ()), config, file_path=path)
            test.requires = list(script.requires)
            yield test

    def execute(self, test, lit_config):
        if time.time() >= self.deadline:
            return lit.Test.Result(lit.Test.TIMEOUT, f"not finished within {self.limit} s: not started")
        ended, killed = threading.Event(), threading.Event()
        watch = threading.Thread(target=self.end_at_deadline, args=(ended, killed), daemon=True)
        watch.start()
        try:
            is_script = test.getFilePath().endswith(".py")
            result = self.run_script(test, lit_config) if is_script else super().execute(test, lit_config)
        finally:
            ended.set()
            watch.join()
        if killed.is_set() and result.code is lit.Test.FAIL:
            return lit.Test.Result(lit.Test.TIMEOUT, f"not finished within {self.limit} s\n{result.output}")
        return result

    def end_at_deadline(self, ended, killed):
        # A test may start another process while the first ones end.
        while not ended.wait(max(0.2, min(self.deadline - time.time(), 3600))):
            if time.time() >= self.deadline:
                killed.set()
                end_descendants(os.getpid())

    def run_script(self, test, lit_config):
        if test.getMissingRequiredFeatures():
            return lit.Test.Result(lit.Test.UNSUPPORTED)
        if lit_config.noExecute:
            return lit.Test.Result(lit.Test.PASS)
        path = test.getFilePath()
        name = [] if test.path_in_suite[-1] == os.path.basename(path) else [test.path_in_suite[-1]]
        folder = test.getExecPath()
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        command = ["python3", path, folder, *name]
        done = subprocess.run(command, cwd=folder, env=test.config.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace")
        if done.returncode == 0:
            shutil.rmtree(folder, ignore_errors=True)
            return lit.Test.Result(lit.Test.PASS)
        modules = test.config.environment["PYTHONPATH"]
        return lit.Test.Result(lit.Test.FAIL, f"PYTHONPATH={modules} {' '.join(command)}\nexit code {done.returncode}\n{done.stdout}")
