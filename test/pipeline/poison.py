"""Plans of the CPU benchmarks (test/bench), at their depths and shapes: overwriting bytes after their lifespan changes no bit.

numeric/LifespansTest.cpp compares plans of the model zoo, and numeric/ReferenceCasesTest.cpp those of the reference cases.
"""

from sluice import *

BENCH = ROOT / "test" / "bench"
# The bytes are NaN in the first step and random in the second.
STEPS = 2


def expect_unchanged(plan, what):
    expect_same_bits(train(plan, "--poison", steps=STEPS), train(plan, steps=STEPS), what)


@test
def language_models_of_step_sh():
    recipe = ["--recipe", str(BENCH / "step" / "recipe.toml")]
    for config in ("config.json", "llama.json"):
        model = hugging_face(json.loads((BENCH / "step" / config).read_text()), 4, 256)
        for precision, scale in (("f32", "none"), ("bf16", "none"), ("f16", "1024.0")):
            expect_unchanged(Plan(model, [f"precision.compute={precision}", f"precision.loss_scale={scale}"], *recipe), f"{config} in {precision}")


@test
def convolutions_of_conv_sh():
    sgd = ["optimizer.name=sgd", "optimizer.lr=1e-4", "optimizer.momentum=0.9"]
    expect_unchanged(Plan(zoo("conv", "hidden=32", "marked=false", "loss=first-row-square"), ["target.threads=2"] + sgd), "conv")


@test
def demo_of_start_sh():
    recipe = ROOT / "docs" / "examples" / "gpt2-small-demo" / "recipe.toml"
    expect_unchanged(Plan(hugging_face(demo_config(), 4, 64), ["lr_schedule.total_steps=300"], "--recipe", str(recipe)), "demo")


main()
