"""Impossible recipes are refused with the line and a valid value; settings without effect have a remark."""

from sluice import *

FOUR = ["mesh.shard=4"]


@test
def reshard_after_forward():
    for after in ("3", "8"):
        expect_refused(gpt2_tiny(), FOUR + [f"sharding.reshard_after_forward={after}"],
                       f"--set sharding.reshard_after_forward={after}: value of 'sharding.reshard_after_forward' for unit 'root', "
                       f"expected a divisor of 'mesh.shard' (1, 2, 4) but got {after}")
    expect_refused(gpt2_tiny(), ["mesh.shard=12", 'sharding.reshard_after_forward={root=4, "h.*"=6}'],
                   "expected a number that divides or is divided by 4 of another unit but got 6")
    expect_refused(gpt2_tiny(), FOUR + ["sharding.strategy=no_shard", "sharding.reshard_after_forward=2"],
                   "a number of ranks cannot be combined with 'sharding.strategy' = \"no_shard\"")
    expect_refused(gpt2_tiny(), FOUR + ["sharding.unshard_in_backward=false"], "--set sharding.unshard_in_backward=false: value of "
                   "'sharding.unshard_in_backward' for unit '", "expected true for a unit whose parameters the backward reads but got false")


@test
def updates_in_the_backward():
    for setting, key in (("gradient.clip_norm=1", "gradient.clip_norm"), ("precision.loss_scale=dynamic", "precision.loss_scale"),
                         ("loss.mean=tokens", "loss.mean"), ('memory.offload=["optimizer"]', "memory.offload")):
        expect_refused(gpt2_tiny(), ["optimizer.in_backward=true", setting], f"--set {setting}: '{key}' = ", "cannot be combined with 'optimizer.in_backward'")


@test
def tied_parameters_across_units():
    expect_refused(zoo("transformer"), FOUR + ['sharding.units={a=["tok_embeddings*"], b=["output*"]}'],
                   "--set sharding.units=", "parameter 'tok_embeddings.weight' is in two units, 'a' and 'b'")


@test
def units_and_globs():
    expect_refused(gpt2_tiny(), FOUR + ['sharding.units={a=["x"]}'], "glob 'x' of unit 'a' matches no block or parameter")
    expect_refused(gpt2_tiny(), FOUR + ['sharding.units={a=["h.0"], b=["h.0"]}'], "is in two units, 'a' and 'b'")
    expect_refused(gpt2_tiny(), FOUR + ['gradient.divide={"x*"=2}'], "'x*' in 'gradient.divide' matches no unit")
    expect_refused(gpt2_tiny(), FOUR + ['sharding.reshard_after_forward={"h.*"=true, "*.0"=false}'], "is ambiguous: globs give")
    for key in ("sharding.replicated", "parameters.frozen", "optimizer.no_decay"):
        expect_remark(gpt2_tiny(), FOUR + [f'{key}=["x*", "wpe.*"]'], "warning: ")
        expect_remark(gpt2_tiny(), FOUR + [f'{key}=["x*", "wpe.*"]'], f"'{key}' matches no parameter")
    for key in ("forward", "backward"):
        expect_refused(gpt2_tiny(), FOUR + [f'schedule.{key}_prefetch={{root=["x"]}}'], "expected one of the plan's but got 'x'")


@test
def numbers_out_of_range():
    for setting, text in (("gradient.divide=0", "'gradient.divide'"), ("gradient.divide=nan", "'gradient.divide'"),
                          ("gradient.divide={root=0}", "'gradient.divide'"), ("gradient.microbatches=0", "'gradient.microbatches'"),
                          ("mesh.shard=0", "'mesh.shard'"), ("gradient.clip_type=0.5", "'gradient.clip_type'"),
                          ("gradient.clip_norm=-1", "'gradient.clip_norm'"), ("sharding.dim=-1", "'sharding.dim'"),
                          ("schedule.forward_prefetch=-1", "'schedule.forward_prefetch'"), ("schedule.reduce_buffers=0", "'schedule.reduce_buffers'")):
        expect_refused(gpt2_tiny(), FOUR + [setting], f"--set {setting}: value of {text}", ", expected ", "but got ")


@test
def strategies():
    for strategy in ("hybrid_shard", "hybrid_shard_grad_op"):
        expect_refused(gpt2_tiny(), FOUR + [f"sharding.strategy={strategy}"], f"--set sharding.strategy={strategy}: ", "mesh.replicate")


@test
def lines_of_recipe_files():
    # Every phase of the compiler reports the line of the recipe file.
    path = SCRATCH / "wrong.toml"
    for line, text in (("sharding.reshard_after_forward = 3", "value of 'sharding.reshard_after_forward' for unit 'root', expected a divisor"),
                       ("sharding.unshard_in_backward = false", "value of 'sharding.unshard_in_backward' for unit '"),
                       ("gradient.divide = {nobody = 2}", "'nobody' in 'gradient.divide' matches no unit"),
                       ('sharding.units = {a = ["nothing"]}', "glob 'nothing' of unit 'a' matches no block or parameter"),
                       ("sharding.dim = 1", "value of 'sharding.dim' for parameter '"),
                       ("gradient.microbatches = 0", "value of 'gradient.microbatches', expected")):
        path.write_text(f"# A recipe.\nmesh.shard = 4\n\n{line}\n")
        done = try_compile(gpt2_tiny(), [], "--recipe", path)
        expect(done.returncode == 1 and f"wrong.toml:4: {text}" in done.stderr, f"{line}: expected exit code 1 and 'wrong.toml:4: {text}' but got {done.stderr}")


@test
def unsupported_values():
    for setting in ("mesh.context=2", "mesh.pipeline=2"):
        key = setting.split("=")[0]
        expect_refused(gpt2_tiny(), FOUR + [setting], f"--set {setting}: value of '{key}' that this version does not support, expected ")


@test
def settings_without_effect():
    for settings, text in (
            (FOUR + ["gradient.sync=every"], "'gradient.sync' has no effect with one micro-batch"),
            (FOUR + ["sharding.reshard_after_forward=false", "sharding.reshard_after_backward=last"],
             "'sharding.reshard_after_backward' has no effect with one micro-batch"),
            (FOUR + ["gradient.microbatches=2", "gradient.sync=reduce_scatter_only"],
             "'gradient.sync' has no effect beyond \"every\" with one replica"),
            (["sharding.reshard_after_forward=true"], "'sharding.reshard_after_forward' has no effect where nothing is sharded"),
            (["sharding.reshard_before_backward=true"], "'sharding.reshard_before_backward' has no effect where nothing is sharded"),
            (["sharding.dim=flat"], "'sharding.dim' has no effect where nothing is sharded"),
            (['sharding.replicated=["*"]'], "'sharding.replicated' has no effect where nothing is sharded"),
            (["mesh.shard=4", "sharding.strategy=no_shard", "schedule.forward_prefetch=2"],
             "'schedule.forward_prefetch' has no effect where nothing is gathered"),
            (["schedule.backward_prefetch=none"], "'schedule.backward_prefetch' has no effect where nothing is gathered"),
            (FOUR + ["sharding.reshard_after_forward=true", "sharding.reshard_before_backward=true"],
             "'sharding.reshard_before_backward' has no effect where everything is released after the forward"),
            (["gradient.clip_type=3"], "'gradient.clip_type' has no effect without 'gradient.clip_norm'"),
            (["gradient.force_sum=true"], "'gradient.force_sum' has no effect on one rank"),
            (["schedule.reduce_buffers=2"], "'schedule.reduce_buffers' has no effect on one rank"),
            (["statistics.sync=last"], "'statistics.sync' has no effect on one rank"),
            (["sharding.units=root"], "'sharding.units' has no effect on one rank"),
            (["loss.mean=tokens"], "'loss.mean' has no effect on one rank with one micro-batch"),
            (FOUR + ["statistics.sync=last"], "'statistics.sync' has no effect on a model without running statistics"),
            (["sharding.strategy=shard_grad_op"], "'sharding.strategy' has no effect where nothing is sharded"),
            (["mesh.replicate=2", "sharding.strategy=no_shard"], "'sharding.strategy' has no effect where nothing is sharded")):
        expect_remark(gpt2_tiny(), settings, f"--set {settings[-1]}: {text}")
    done = try_compile(gpt2_tiny(), FOUR)
    expect("has no effect" not in done.stderr, f"expected no remark but got {done.stderr}")


main(no_empty_loops=True)
