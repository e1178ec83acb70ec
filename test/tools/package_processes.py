"""package_processes.py PLAN OUT: a run of the Python package that prints its losses and saves the weights: the same text, as one process or as one process per rank.

In step i the session gets rows i of each micro-batch; a process gives those of its data-parallel ranks."""

from package import *

plan, folder = sys.argv[1:]
with sluice.Trainer(plan) as trainer:
    here, world = trainer.description["ranks"], trainer.description["world"]
    for step in range(3):
        everything = rows(2 * world, seed=step)
        inputs = {name: tensor([n for rank in here for row in view.tolist()[2 * rank:2 * rank + 2] for n in row], (2 * len(here), SEQUENCE))
                  for name, view in everything.items()}
        loss = trainer.step(inputs)
        if 0 in here:
            print(f"step {trainer.last.step} {loss} {trainer.last.grad_norm}")
    parameter = trainer.parameter("wte.weight").tolist()
    held_out = trainer.run("eval_step", inputs).loss
    if 0 in here:
        print(sum(map(sum, parameter)), held_out)
    trainer.save(folder)
