"""mpi.py MPIRUN PROGRAM [--gtest_...]: runs a GoogleTest program as five processes of mpirun.

Only rank 0 writes a report; a failure of another rank is the exit code and the output.
"""

import subprocess
import sys

mpirun, program, *options = sys.argv[1:]
shared = [option for option in options if not option.startswith("--gtest_output")]
launch = [mpirun, "--allow-run-as-root", "--oversubscribe", "--tag-output"]
tests = "--gtest_filter=*Backends/*Suite*mpi*"
sys.exit(subprocess.run(launch + ["-n", "1", program, tests, *options, ":", "-n", "4", program, tests, *shared],
                        stdin=subprocess.DEVNULL, timeout=300).returncode)
