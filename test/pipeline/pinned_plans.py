"""Compares what compiled plans print with committed digests, so that an unintended change of plans is detected.

usage, with PYTHONPATH=test/python:
       pinned_plans.py check FOLDER          compiles every case into FOLDER and compares
       pinned_plans.py check FOLDER NAME...  only these cases
       pinned_plans.py update FOLDER [NAME...]    also writes their digests (after a change that is meant to change plans)

Per case FOLDER gets NAME.mlir, NAME.plan, NAME.print and NAME.describe.json: `sluice-plan print` and `describe --json`,
normalised by normalise() below. To find a difference, check with two builds into two folders and diff the texts.
"""

import concurrent.futures
import hashlib

from sluice import *

# Eleven digests are newer than the others: gpt2-{one-rank,tensor-uneven,tensor-table,cuda-bf16,avx512,wsd}, {llama,qwen2}-tensor*,
# zoo-{transformer-tensor,mlp-stack-sequence,moe-four}. No collective reduces the loss of these plans, and it is copied to the host
# before the updates instead of after them.
# All digests of describe, and those of plans whose evaluation counts its targets, are newer: eval_step has the output `counted`.
# All digests of describe are newer: the program of a plan is larger since the guard reads four numbers, and the predicted code of the
# runtime is larger (predicted_process).
# So are those of zoo plans in f32 whose loss is a sum: products of its gradient, which is broadcast by strides of 0, have workspace for panels.
# Those of print of the plans for CUDA are newer: embedding_grad and reduce_sum have workspace.
# Those of plans in bf16 are newer, because the gradient of a parameter has no cast to precision.reduce, and so are those of plans in which
# products of the backward add up (Llama, Mistral, Qwen, several zoo models): a product adds the cotangents before it.
# Those of gpt2-block-recompute, llama-cuda and qwen2-tensor are newer: their arenas are smaller.
# Those of plans with norms are newer: the gradient of a norm adds the cotangent of the residual stream. So are those with micro-batches,
# of which a product adds the gradient of a weight to the sum of the micro-batches before it, and those of plans in bf16 or with rope: the
# casts of a unit's parameters are one launch, and the rotations of queries and keys another.
# The one of gpt2-cuda-bf16 is newer: cuDNN computes attention on sm_90, and the plan says so; and that of llama-cuda (describe): the
# predicted code of oneDNN's products in bf16 is larger.
# Those of describe of the plans for CUDA are newer: the memory of a GPU's libraries in the process is not predicted.
# Those of gpt2-cuda, gpt2-cuda-bf16, gpt2-cuda-offload and llama-cuda are newer: a launch computes the loss and its gradient.
# Those of plans with micro-batches are newer: the kernels of the gradients of biases, norms and embeddings add to the sum of the
# micro-batches before, in place of a launch that adds each of them.
# Those of qwen2-tensor (print) and qwen3-tensor are newer: the placement by pressure keeps buffers that outlive its groups in place as long
# as it can. The arena of qwen2-tensor has as many bytes as before, that of qwen3-tensor fewer.
# Those of plans in which a parameter has two gradients (GPT-2's tied embedding, models with two forwards) are newer: the launch that
# computes the later one adds it to the first, in place of a launch that adds both.
# Those of GPT-2's plans for CUDA are newer: the gradient of a layer norm also sums dx over rows, in place of a launch that sums it.
# Those of gpt2-tensor-uneven are newer: a sweep from the last instant to the first places its buffers, and the arena has 1,792 bytes fewer.
# That of zoo-vision (describe) is newer: the predicted process has the packing of products whose operands repeat elements.
# Those of zoo-moe, zoo-moe-tensor, zoo-moe-flat and zoo-moe-four are newer: ranks exchange shards of gates and of their gradients, in place of
# gathers of which each rank keeps a slice.
DIGESTS = ROOT / "test" / "pipeline" / "Inputs" / "pinned-plans.json"

# Words of the texts that were renamed or added since the digests were written: pattern of the new word, old word.
RENAMED = {
    r", packed = 0\b": "",
    r"\blr_schedule\.name\b": "schedule.lr",
    r"\blr_schedule\.": "schedule.",
    r" invocation(?= \d)": " pass",
    r'"invocation"(?=: \d)': '"pass"',
    r"\breserved_from(?= \d)": "ahead",
    r": slice\(": ": piece(",
    r'"state": "replicated"': '"state": "whole"',
    r'"state": "resharded"': '"state": "piece"',
}

# Lines of keys that were added to the recipe since, where they have their defaults.
ADDED = (r"""^(?:recipe | *")(?:collective\.(?:max_ctas = 0|copy_engines = false)|loss\.per_rank = false|gradient\.reduce_per_pass = false|lr_schedule\.decay_steps = (?:none|20)|"""
         r"""optimizer\.in_backward = false|kernels\.attention = \\?"auto\\?")"?,?\n""")

GPT2 = ["hf", ROOT / "test/reference/gpt2-tiny/config.json", "--batch", "2", "--sequence", "16"]
LLAMA = ["hf", ROOT / "test/reference/llama-tiny/config.json", "--batch", "2", "--sequence", "16"]


@functools.cache
def families():
    return sorted(folder.name for folder in (ROOT / "test/reference/families").iterdir() if (folder / "config.json").exists())


def family(name):
    return ["hf", ROOT / f"test/reference/families/{name}/config.json", "--batch", "2", "--sequence", "16"]


def zoo(name, *settings):
    return ["zoo", name, *set_options(settings)]


EXPERT = ["mesh.expert=2", "sharding.expert=['*.experts.*']"]
EXPERT_TENSOR = ["mesh.tensor=2", "sharding.tensor={'*.in_proj.*' = 'column', '*.out_proj.*' = 'row'}"]
SGD = "optimizer.name=sgd"
SMALL_CONV = zoo("conv", "stem=4", "hidden=8", "height=24", "width=20")

# name: (arguments of sluice-import, settings of sluice-compile)
CASES = {
    "gpt2-one-rank": (GPT2, []),
    "gpt2-full-shard": (GPT2, ["mesh.shard=4"]),
    "gpt2-full-shard-uneven": (GPT2, ["mesh.shard=3", "gradient.clip_norm=1.0", "gradient.microbatches=2"]),
    "gpt2-shard-grad-op": (GPT2, ["mesh.shard=4", "sharding.strategy=shard_grad_op", "gradient.microbatches=3"]),
    "gpt2-no-shard": (GPT2, ["mesh.shard=4", "sharding.strategy=no_shard", "gradient.clip_norm=1.0"]),
    "gpt2-hybrid": (GPT2, ["mesh.shard=2", "mesh.replicate=2", "sharding.strategy=hybrid_shard"]),
    "gpt2-hybrid-grad-op": (GPT2, ["mesh.shard=2", "mesh.replicate=2", "sharding.strategy=hybrid_shard_grad_op",
                                   "gradient.microbatches=4", "gradient.sync=reduce_scatter_only"]),
    "gpt2-integer-reshard": (GPT2, ["mesh.shard=8", "sharding.reshard_after_forward=2"]),
    "gpt2-reshard-table": (GPT2, ["mesh.shard=4", "sharding.reshard_after_forward={'h.0' = false, 'h.1' = 2}",
                                  "sharding.reshard_before_backward=true"]),
    "gpt2-keep-gathered": (GPT2, ["mesh.shard=4", "gradient.microbatches=4", "sharding.reshard_after_backward=last",
                                  "gradient.sync=every", "sharding.reshard_after_forward=false"]),
    "gpt2-sync-list": (GPT2, ["mesh.shard=2", "gradient.microbatches=4", "gradient.sync=[false, true, false, true]"]),
    "gpt2-block-recompute": (GPT2, ["mesh.shard=4", "recompute.policy=block", "precision.compute=bf16"]),
    "gpt2-f16": (GPT2, ["mesh.shard=2", "precision.compute=f16", "precision.loss_scale=dynamic", "precision.reduce=f16"]),
    "gpt2-f64": (GPT2, ["mesh.shard=2", "precision.compute=f64", "precision.parameter=f64"]),
    "gpt2-chunked-loss": (GPT2, ["mesh.shard=2", "loss.chunk_rows=8", "loss.mean=tokens", "gradient.microbatches=2"]),
    "gpt2-flat": (GPT2, ["mesh.shard=5", "sharding.dim=flat"]),
    "gpt2-largest-dim": (GPT2, ["mesh.shard=4", "sharding.dim=largest"]),
    "gpt2-root-unit": (GPT2, ["mesh.shard=4", "sharding.units=root"]),
    "gpt2-units-by-bytes": (GPT2, ["mesh.shard=4", "sharding.units=bytes:65536"]),
    "gpt2-frozen-replicated": (GPT2, ["mesh.shard=4", "parameters.frozen=['wpe.weight']", "sharding.replicated=['*.bias']"]),
    "gpt2-force-sum": (GPT2, ["mesh.shard=4", "gradient.force_sum=true", "gradient.divide=3.0", "gradient.clip_norm=1.0",
                              "gradient.clip_type=inf"]),
    "gpt2-prefetch": (GPT2, ["mesh.shard=4", "schedule.forward_prefetch=3", "schedule.backward_prefetch=post",
                             "schedule.reduce_buffers=2", "schedule.overlap_steps=false"]),
    "gpt2-offload": (GPT2, ["mesh.shard=2", "memory.offload=['parameters', 'optimizer']"]),
    "gpt2-offload-optimizer": (GPT2, ["mesh.shard=2", "memory.offload=['optimizer']", "gradient.microbatches=2",
                                      "gradient.sync=every", "gradient.clip_norm=1.0"]),
    "gpt2-offload-parameters": (GPT2, ["mesh.shard=4", "memory.offload=['parameters']", "memory.pinned=false"]),
    "gpt2-offload-activations": (GPT2, ["mesh.shard=2", "memory.offload=['activations']", "gradient.microbatches=2"]),
    "gpt2-tensor": (GPT2, ["mesh.tensor=2", "mesh.shard=2", "sharding.tensor=megatron"]),
    "gpt2-tensor-uneven": (GPT2, ["mesh.tensor=3", "sharding.tensor=megatron", "gradient.clip_norm=1.0"]),
    "gpt2-sequence": (GPT2, ["mesh.tensor=2", "mesh.replicate=2", "sharding.tensor=megatron", "sharding.sequence=true",
                             "precision.compute=bf16"]),
    "gpt2-sequence-uneven": (GPT2, ["mesh.tensor=3", "sharding.tensor=megatron", "sharding.sequence=true",
                                    "recompute.policy=block", "loss.mean=tokens"]),
    "gpt2-tensor-chunked-loss": (GPT2, ["mesh.tensor=2", "mesh.shard=2", "sharding.tensor=megatron", "loss.chunk_rows=8"]),
    "gpt2-tensor-table": (GPT2, ["mesh.tensor=4", "sharding.tensor={'*.mlp.c_fc.*' = 'column', '*.mlp.c_proj.*' = 'row'}",
                                 "optimizer.name=sgd", "optimizer.momentum=0.9"]),
    "gpt2-adam": (GPT2, ["optimizer.name=adam", "optimizer.no_decay=['*.bias']", "optimizer.weight_decay=0.1", "mesh.shard=2"]),
    "gpt2-sgd": (GPT2, [SGD, "mesh.shard=2", "optimizer.momentum=0.9", "optimizer.nesterov=true"]),
    "gpt2-dropout": ([*GPT2, "--dropout", "0.1"], ["mesh.shard=2", "mesh.tensor=2", "sharding.tensor=megatron"]),
    "gpt2-budget": (GPT2, ["mesh.shard=2", "memory.budget=64MiB"]),
    "gpt2-cuda": (GPT2, ["target.device=cuda", "mesh.shard=2"]),
    "gpt2-cuda-bf16": (GPT2, ["target.device=cuda", "precision.compute=bf16", "recompute.policy=block", "target.arch=sm_90"]),
    "gpt2-cuda-tensor": (GPT2, ["target.device=cuda", "mesh.tensor=2", "mesh.shard=2", "sharding.tensor=megatron",
                                "collective.register=false"]),
    "gpt2-cuda-offload": (GPT2, ["target.device=cuda", "mesh.shard=2", "memory.offload=['parameters', 'optimizer']"]),
    "gpt2-avx512": (GPT2, ["target.isa=avx512", "target.threads=2", "precision.compute=bf16"]),
    "gpt2-wsd": (GPT2, ["lr_schedule.name=wsd", "lr_schedule.warmup_steps=10", "lr_schedule.total_steps=100", "lr_schedule.min_lr=0.0001"]),
    "llama-full-shard": (LLAMA, ["mesh.shard=4", "gradient.clip_norm=1.0"]),
    "llama-hybrid-bf16": (LLAMA, ["mesh.shard=2", "mesh.replicate=2", "precision.compute=bf16", "recompute.policy=block"]),
    "llama-tensor": (LLAMA, ["mesh.tensor=2", "mesh.shard=2", "sharding.tensor=megatron", "gradient.microbatches=2"]),
    "llama-tensor-uneven": (LLAMA, ["mesh.tensor=3", "sharding.tensor=megatron", "sharding.sequence=true"]),
    "llama-shared-heads": (LLAMA, ["mesh.tensor=4", "sharding.tensor=megatron", "loss.mean=tokens"]),
    "llama-cuda": (LLAMA, ["target.device=cuda", "mesh.shard=4", "precision.compute=bf16"]),
    "mistral-shard": (family("mistral"), ["mesh.shard=3"]),
    "qwen2-tensor": (family("qwen2"), ["mesh.tensor=2", "sharding.tensor=megatron"]),
    "qwen3-tensor": (family("qwen3"), ["mesh.tensor=2", "mesh.shard=2", "sharding.tensor=megatron", "sharding.sequence=true"]),
    "zoo-transformer": (zoo("transformer"), ["mesh.shard=4", "gradient.microbatches=2"]),
    "zoo-transformer-tensor": (zoo("transformer", "loss=cross-entropy"),
                               ["mesh.tensor=2", "sharding.tensor={'*.w1.weight' = 'column', '*.w2.weight' = 'row'}"]),
    "zoo-mlp-stack": (zoo("mlp-stack"), ["mesh.shard=2", "mesh.tensor=2",
                                         "sharding.tensor={'*.in_proj.*' = 'column', '*.out_proj.*' = 'row'}"]),
    "zoo-mlp-stack-sequence": (zoo("mlp-stack"), ["mesh.tensor=2", "sharding.sequence=true",
                                                  "sharding.tensor={'*.in_proj.*' = 'column', '*.out_proj.*' = 'row'}"]),
    "zoo-mlp-sequence": (zoo("mlp-sequence"), ["mesh.shard=3", SGD]),
    "zoo-linear-mlps": (zoo("linear-mlps"), ["mesh.shard=2", "gradient.microbatches=4",
                                             "sharding.units={a = ['1', '2'], b = '3'}"]),
    "zoo-norm-mlps": (zoo("norm-mlps"), ["mesh.replicate=2", "mesh.shard=2"]),
    "zoo-norm-linear": (zoo("norm-linear"), ["mesh.shard=2", "sharding.units={a = ['norm1', 'output1'], b = ['norm2', 'output2']}"]),
    "zoo-double-linear": (zoo("double-linear"), ["mesh.shard=2"]),
    "zoo-multi-forward": (zoo("multi-forward"), ["mesh.shard=2"]),
    "zoo-multi-forward-integer-reshard": (zoo("multi-forward"), ["mesh.shard=4", "sharding.reshard_after_forward=2"]),
    "zoo-two-forwards-integer-reshard": (zoo("two-forwards"), ["mesh.shard=4", "sharding.reshard_after_forward=2",
                                                               "schedule.forward_prefetch=0"]),
    "zoo-shared-linear": (zoo("shared-linear"), ["mesh.shard=2", SGD]),
    "zoo-unused-linear": (zoo("unused-linear"), ["mesh.shard=2"]),
    "zoo-two-forwards": (zoo("two-forwards"), ["mesh.shard=2"]),
    "zoo-two-losses": (zoo("two-losses"), ["mesh.shard=2"]),
    "zoo-reduce-model": (zoo("reduce-model"), ["mesh.shard=2"]),
    "zoo-encoder-decoder": (zoo("encoder-decoder"), ["mesh.shard=2", "gradient.microbatches=2"]),
    "zoo-nested-recompute": (zoo("nested-recompute"), ["mesh.shard=2", "recompute.policy=marked"]),
    "zoo-vision": (zoo("vision"), ["mesh.shard=2"]),
    "zoo-conv": (SMALL_CONV, ["mesh.shard=2", SGD, "optimizer.momentum=0.9", "recompute.policy=marked", "statistics.sync=last"]),
    "zoo-conv-cuda": (SMALL_CONV, ["mesh.shard=2", SGD, "target.device=cuda"]),
    "zoo-moe": (zoo("moe", "batch=4"), [*EXPERT, "mesh.shard=2"]),
    "zoo-moe-tensor": (zoo("moe", "batch=4", "gating=best"), [*EXPERT, *EXPERT_TENSOR, "mesh.shard=2", "mesh.replicate=2"]),
    "zoo-moe-flat": (zoo("moe", "batch=4", "dim=6"), [*EXPERT, "mesh.shard=2", "sharding.dim=flat", "gradient.clip_norm=1.0"]),
    "zoo-moe-four": (zoo("moe", "batch=4", "experts=8"), ["mesh.expert=4", EXPERT[1], "recompute.policy=block",
                                                          "sharding.strategy=no_shard"]),
    "gpt2-expert-rows": (GPT2, ["mesh.expert=2", "mesh.shard=2", "sharding.expert=[]"]),
    "zoo-memory-transformer": (zoo("memory-transformer"), ["mesh.shard=2", "recompute.policy=block"]),
}


def normalise(text):
    """Replaces digests of bytes, the version of plan.fbs and renamed words by what they were when the digests were written, and removes
    keys of the recipe that were added since. Recipe keys are sorted by their old names."""
    text = re.sub(r"\b[0-9a-f]{64}\b", "<digest>", text)
    text = re.sub(r"""(?<=version )3\.1(?= catalogue)|(?<="version": ")3\.1(?=")""", "1.1", text)
    text = re.sub(ADDED, "", text, flags=re.M)
    # The guard also reads the clip coefficient and the learning rate since.
    text = re.sub(r"(?<=all_finite\()(%\S+, %\S+), %\S+, %\S+(?=\) ->)", r"\1", text)
    # Keys and words that were added since.
    text = re.sub(r"^(variable .*) averaged$", r"\1", text, flags=re.M)
    text = re.sub(r',\n *"by_unit": \{[^}]*\}', "", text)
    text = re.sub(r'(?<="points": \[\n)(?:.*\n)*?(?= *\])', lambda points: re.sub(r',\n *"by_class": \{[^}]*\}', "", points[0]), text)
    for pattern, old in RENAMED.items():
        text = re.sub(pattern, old, text)
    text = re.sub(r"(?:^recipe .*\n)+", lambda lines: "".join(sorted(lines[0].splitlines(True))), text, flags=re.M)
    return re.sub(r'(?<="recipe": \[\n)(?:.*\n)*?(?= *\])', sorted_items, text)


def sorted_items(lines):
    """The lines of a JSON list, sorted; all but the last end with a comma."""
    return ",\n".join(sorted(line.rstrip(",") for line in lines[0].splitlines())) + "\n"


def compile_case(name, folder):
    """Returns the digests of the case's texts, or the error of the tool that failed."""
    try:
        return digests_of_case(name, folder)
    except Failed as failure:
        return str(failure)


def digests_of_case(name, folder):
    model, settings = CASES[name]
    mlir, plan = folder / f"{name}.mlir", folder / f"{name}.plan"
    run("sluice-import", *model, "-o", mlir)
    if not any(setting.startswith("target.isa") for setting in settings):
        # The default is that of the compiling machine; the digests of plans for GPUs were written on one with AVX-512.
        isa = "avx512" if any(setting.startswith("target.") for setting in settings) else "avx2"
        settings = [*settings, f"target.isa={isa}"]
    run("sluice-compile", mlir, *set_options(settings), "-o", plan)
    digests = {}
    for kind, suffix, command in (("print", "print", ["print"]), ("describe", "describe.json", ["describe", "--json"])):
        text = normalise(run("sluice-plan", command[0], plan, *command[1:]).stdout.replace(str(folder) + "/", ""))
        (folder / f"{name}.{suffix}").write_text(text)
        digests[kind] = hashlib.sha256(text.encode()).hexdigest()
    return digests


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("check", "update"):
        print(__doc__)
        return 2
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    names = sys.argv[3:] or list(CASES)
    with concurrent.futures.ThreadPoolExecutor(max_workers=int(os.environ.get("WORKERS", "2"))) as pool:
        results = dict(zip(names, pool.map(lambda name: compile_case(name, folder), names)))
    errors = {name: result for name, result in results.items() if isinstance(result, str)}
    for name, error in errors.items():
        print(f"{name}: does not compile: {error.strip()}")
    expected = json.loads(DIGESTS.read_text())
    if sys.argv[1] == "update":
        if not errors:
            kept = expected if sys.argv[3:] else {}
            DIGESTS.write_text(json.dumps(kept | results, indent=1, sort_keys=True) + "\n")
        return 1 if errors else 0
    different = [f"{name} ({kind})" for name, result in results.items() if name not in errors
                 for kind in result if result[kind] != expected.get(name, {}).get(kind)]
    for each in different:
        print(f"{each}: differs from the committed digest; the text is in {folder}")
    print(f"{len(names)} plans, {len(errors)} do not compile, {len(different)} texts differ")
    return 1 if errors or different else 0


if __name__ == "__main__":
    sys.exit(main())
