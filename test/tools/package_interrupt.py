"""package_interrupt.py PLAN FOLDER: as one process per rank, a run that only rank 1 interrupts. It waits for no other process and writes no checkpoint."""

from package import *

plan, folder = sys.argv[1:]
try:
    with sluice.Trainer(plan, checkpoint=folder, every=100) as trainer:
        here = trainer.description["ranks"]
        trainer.step(rows(2 * len(here)))
        if here == [1]:
            raise KeyboardInterrupt
except KeyboardInterrupt:
    print("interrupted")
