"""Random models of the zoo and of the families with random settings of all kinds, by number. Some settings do not fit the model or each other."""

import random

import pinned_plans

ZOO = (
    ("mlp", "dim=9"), ("mlp-sequence", "dim=5"), ("linear-mlps", "dim=8"), ("mlp-stack", "dim=8"), ("mlp-stack", "dim=5", "batch=3"), ("norm-mlps", "dim=6"),
    ("norm-linear", "dim=12"), ("double-linear", "dim=7"), ("linear-relu-linear", "in=7", "hidden=15", "out=3"), ("linear-relu-linear", "out=8"),
    ("multi-forward",), ("shared-linear", "dim=6"), ("unused-linear", "dim=8"), ("reduce-model", "dim=5"), ("two-losses", "dim=7"), ("encoder-decoder",),
    ("transformer", "vocab=11"), ("transformer", "dropout=0", "tied=false", "dim=12", "heads=3"), ("transformer", "loss=cross-entropy", "vocab=9"),
    ("transformer", "loss=cross-entropy", "dropout=0"), ("nested-recompute", "layers=2", "dim=8"), ("two-forwards", "layers=2", "vocab=11"), ("vision",),
    ("conv", "stem=4", "hidden=6", "height=16", "width=16"), ("conv", "stem=4", "hidden=8", "height=16", "width=20", "marked=false"), ("moe", "batch=4"),
    ("moe", "batch=4", "gating=best", "dim=6"), ("moe", "batch=4", "experts=8", "layers=1"),
)
# A setting, or several that are used together.
GROUPS = (
    ["gradient.microbatches=2", "gradient.microbatches=3", "gradient.microbatches=5"],
    ["gradient.microbatches=2 gradient.sync=every", "gradient.microbatches=3 gradient.sync=reduce_scatter_only",
     "gradient.microbatches=3 gradient.sync=[false,true,true]", "gradient.microbatches=2 gradient.sync={'*'='every'}"],
    ["gradient.clip_norm=0.5", "gradient.clip_norm=1.0 gradient.clip_type=inf", "gradient.clip_norm=1.0 gradient.clip_type=1",
     "gradient.clip_norm=2.0 gradient.clip_type=3"],
    ["gradient.force_sum=true", "gradient.divide=3", "gradient.divide={'*'=5}", "gradient.force_sum=true gradient.divide=2"],
    ["gradient.reduce_per_pass=true", "gradient.reduce_per_pass=true gradient.microbatches=2"],
    ["sharding.strategy=shard_grad_op", "sharding.strategy=no_shard", "sharding.strategy=hybrid_shard mesh.replicate=2",
     "sharding.strategy=hybrid_shard_grad_op mesh.replicate=2"],
    ["sharding.reshard_after_forward=false", "sharding.reshard_after_forward=true", "sharding.reshard_after_forward=2",
     "sharding.reshard_after_forward={'*'=false}", "sharding.reshard_after_forward=false sharding.reshard_before_backward=true",
     "sharding.reshard_after_forward=false sharding.reshard_after_backward=last gradient.microbatches=2"],
    ["sharding.reshard_after_forward=auto recompute.policy=budget memory.budget=64MiB", "recompute.policy=budget memory.budget=32MiB"],
    ["recompute.policy=block", "recompute.policy=marked", "recompute.policy=selective", "recompute.policy=selective recompute.save=['matmul*']",
     "recompute.policy=selective recompute.save=['attention','*norm']", "recompute.policy={'*'='selective'} recompute.save={'*'=['matmul*']}",
     "recompute.policy={'*1*'='block'}"],
    ["sharding.units=root", "sharding.units=bytes:2000", "sharding.units=bytes:20000"],
    ["sharding.dim=largest", "sharding.dim=flat", "sharding.dim=1", "sharding.dim={'*weight'='largest'}", "sharding.dim={'*bias'='flat'}"],
    ["sharding.replicated=['*.bias']", "sharding.replicated=['*norm*']", "parameters.frozen=['*.bias']", "parameters.frozen=['*embed*','*wte*','*0*']"],
    ["precision.compute=bf16", "precision.compute=bf16 precision.reduce=bf16", "precision.compute=f16 precision.loss_scale=dynamic",
     "precision.compute=f16 precision.loss_scale=128 precision.reduce=f16", "precision.compute=f64 precision.parameter=f64",
     "precision.compute={'*'='bf16','root'='f32'}", "precision.compute={'*1*'='bf16'} precision.output={'*1*'='f32'}",
     "precision.reduce={'*'='bf16'}", "precision.output=bf16 precision.compute=bf16"],
    ["memory.offload=['parameters','optimizer']", "memory.offload=['optimizer']", "memory.offload=['parameters']",
     "memory.offload=['activations']", "memory.offload=['parameters','optimizer','activations']"],
    ["optimizer.name=sgd", "optimizer.name=sgd optimizer.momentum=0.9", "optimizer.name=sgd optimizer.momentum=0.9 optimizer.nesterov=true",
     "optimizer.name=adam optimizer.weight_decay=0.1", "optimizer.no_decay=norms-and-biases", "optimizer.no_decay=['*bias']"],
    ["optimizer.in_backward=true", "optimizer.in_backward=true gradient.microbatches=2"],
    ["loss.mean=tokens", "loss.chunk_rows=4", "loss.chunk_rows=8 loss.mean=tokens", "loss.per_rank=true", "loss.chunk_rows=5 gradient.microbatches=2",
     "loss.mean=tokens gradient.microbatches=3"],
    ["statistics.sync=last", "statistics.sync=last gradient.microbatches=2"],
    ["target.device=cuda", "target.device=cuda precision.compute=bf16"],
    ["schedule.forward_prefetch=3 schedule.backward_prefetch=post", "schedule.reduce_buffers=2", "schedule.overlap_steps=false",
     "schedule.forward_prefetch=0 schedule.backward_prefetch=none"],
)
# Axes, and the shardings by parameter that they need.
MLP_SPLIT = "sharding.tensor={'*in_proj*'='column','*out_proj*'='row'}"
ATTENTION_SPLIT = "sharding.tensor={'*.wq.weight'='column','*.wk.weight'='column','*.wv.weight'='column','*.wo.weight'='row'}"
FFN_SPLIT = "sharding.tensor={'*.w1.weight'='column','*.w2.weight'='row'}"
SPLITS = {
    "transformer": [ATTENTION_SPLIT, FFN_SPLIT], "two-forwards": [ATTENTION_SPLIT, FFN_SPLIT], "nested-recompute": [FFN_SPLIT],
    "linear-relu-linear": ["sharding.tensor={'0.*'='column','2.weight'='row'}"],
    **dict.fromkeys(("mlp", "mlp-sequence", "linear-mlps", "mlp-stack", "norm-mlps", "reduce-model", "moe"), [MLP_SPLIT]),
}
EXPERT = "sharding.expert=['*.experts.*']"


class AnyCase:
    def __init__(self, number):
        r = random.Random(f"any {number}")
        self.is_family = r.random() < 0.5
        if self.is_family:
            self.name = (r.choice(pinned_plans.families()),)
            self.arguments = [*pinned_plans.family(self.name[0])[:2], "--batch", r.choice(["1", "2"]), "--sequence", r.choice(["7", "8", "16"]),
                                    "--allow-longer", *r.choice([[], [], ["--dropout", "0.1"]])]
        else:
            self.name = r.choice(ZOO)
            self.arguments = pinned_plans.zoo(*self.name)
        self.settings = {}
        mesh = r.choice([[], [2], [2], [3], [4], [2, 2], [1, 2], [6], [3, 2]])
        for axis, size in zip(("mesh.shard", "mesh.replicate"), mesh):
            self.settings[axis] = str(size)
        self.add_model_parallel(r)
        for group in r.sample(GROUPS, r.choice([1, 2, 2, 3, 3, 4, 5])):
            self.set(r.choice(group), self.settings)

    def add_model_parallel(self, r):
        """Sometimes ranks that divide ops or experts."""
        draw = r.random()
        if self.name[0] == "moe" and draw < 0.6:
            self.set(f"mesh.expert={r.choice([2, 2, 4])} {EXPERT}")
            if r.random() < 0.4:
                self.set(f"mesh.tensor=2 {MLP_SPLIT}")
        elif self.is_family and draw < 0.5:
            self.set(f"mesh.tensor={r.choice([2, 2, 3, 4])} sharding.tensor=megatron")
            if r.random() < 0.4:
                self.set("sharding.sequence=true")
        elif self.name[0] in SPLITS and draw < 0.5:
            self.set(f"mesh.tensor={r.choice([2, 2, 3])} {r.choice(SPLITS[self.name[0]])}")
            if r.random() < 0.3:
                self.set("sharding.sequence=true")
        elif draw > 0.95:
            self.set("mesh.expert=2")

    def set(self, settings, before={}):
        """Those of `before` take precedence."""
        self.settings |= dict(setting.split("=", 1) for setting in settings.split(" ")) | before

    @property
    def recipe(self):
        return [f"{key}={value}" for key, value in self.settings.items()]
