"""Archives of PyTorch modules with what torch.export leaves out. Only `export` needs torch."""

import contextlib
import functools
import inspect
import json
import os
import sys
import tempfile
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Set, Tuple, Union

from .errors import Error
from .model import Model, PathLike, load


def export(module: Any, args: Sequence[Any], kwargs: Optional[Mapping[str, Any]] = None, *, loss: Union[None, str, Callable[..., Any]] = None,
           targets: Sequence[Any] = (), weights: bool = True, path: Optional[PathLike] = None, dynamic_batch: bool = True, eval: bool = False,
           decompose: Sequence[str] = (), **options: Any) -> Model:
    """Writes the archive of a module, and reads it as `sluice.load(path, **options)`.

    module: in training mode, with parameters in float32; its forward is called with `args` and `kwargs`.
    loss: a function of the module's output and `targets`; the name of the output that is the loss; without it the output "loss", or the only scalar.
    weights: False leaves out the bytes of parameters; modules on the device `meta` have none.
    path: of the archive; without it the archive is a temporary file that exists as long as the model, at `model.source`.
    dynamic_batch: the first dim of each tensor may differ from that of the examples where the module permits it (`batch=`).
    eval: also writes the program in eval mode, for modules that compute something else than without dropout and with running statistics.
    decompose: ops that Sluice does not read, such as "aten.absolute.default"; PyTorch replaces them by others. Results of no-grad regions stay detached.

    The archive's `extra/sluice.json` has ties, modules under torch.utils.checkpoint (recomputed under recompute.policy = "marked"), and the rows of the examples.
    Raises Error; errors of torch.export itself are torch's."""
    import torch

    _check(torch, module)
    inputs = tuple(args)
    marks: Set[str] = set()
    with _with_loss(module, loss, len(inputs)) if callable(loss) else contextlib.nullcontext(), _marking(torch, module, marks):
        if callable(loss):
            inputs += tuple(targets)
        program = _export(torch, module, inputs, kwargs, dynamic_batch)
        programs = {"model": _decompose(torch, program, decompose)}
        if eval:
            module.eval()
            try:
                programs["eval"] = _decompose(torch, _export(torch, module, inputs, kwargs, dynamic_batch), decompose)
            finally:
                module.train()
    # From the module and not from the archive: tensors on the device `meta` have no bytes to compare.
    additions: Dict[str, Any] = {"version": 1, "ties": _ties(module), "checkpoints": sorted(marks), "detached": bool(decompose)}
    rows = _rows(torch, program)
    if rows is not None:
        additions["batch"] = rows
    if not weights:
        for each in programs.values():
            _leave_out(torch, each, [name for name, _ in module.named_parameters(remove_duplicate=False)])
    folder = tempfile.TemporaryDirectory(prefix="sluice-") if path is None else None
    target = os.path.join(folder.name, "model.pt2") if folder else os.fspath(path)  # type: ignore[arg-type]
    extra = {"sluice.json": json.dumps(additions)}
    if len(programs) == 1:
        torch.export.save(program if not decompose else programs["model"], target, extra_files=extra)
    else:
        from torch.export.pt2_archive._package import package_pt2
        package_pt2(target, exported_programs=programs, extra_files=extra)
    if isinstance(loss, str):
        options["loss"] = loss
    model = load(target, "export", **options)
    model._folder = folder  # type: ignore[attr-defined]  # Removed with the model.
    return model


def _check(torch: Any, module: Any) -> None:
    if not isinstance(module, torch.nn.Module):
        raise Error(1, f"'{type(module).__name__}' is no torch.nn.Module")
    if not module.training:
        raise Error(1, "the module is in eval mode: dropout would be off, and batch norm would read its running statistics",
                    ["call module.train() before the export; eval=True also writes the program in eval mode"])
    for name, parameter in module.named_parameters():
        if parameter.is_floating_point() and parameter.dtype not in (torch.float32, torch.float64):
            raise Error(1, f"parameter '{name}' has the type {parameter.dtype}, expected torch.float32",
                        ["call module.float() before the export, and set precision.compute in the recipe"])


@contextlib.contextmanager
def _with_loss(module: Any, loss: Callable[..., Any], count: int) -> Iterator[None]:
    """The module's forward returns its loss, and its output as "output". A wrapper would change the names of parameters."""
    forward = module.forward

    @functools.wraps(forward)
    def with_loss(*args: Any, **kwargs: Any) -> Any:
        output = forward(*args[:count], **kwargs)
        value = loss(output, *args[count:])
        return {"loss": value, "output": output} if _is_tensor(output) else {"loss": value}

    names = [name for name, each in inspect.signature(forward).parameters.items() if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    given = [name for name in inspect.signature(loss).parameters][1:]
    with_loss.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, positional) for name in [*names[:count], *(name if name not in names else f"target_{name}" for name in given)]])
    module.forward = with_loss
    try:
        yield
    finally:
        del module.forward


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "__dlpack__")


@contextlib.contextmanager
def _marking(torch: Any, module: Any, marks: Set[str]) -> Iterator[None]:
    """Adds the paths of modules that torch.utils.checkpoint calls. torch.export runs them without a mark."""
    names = {id(each): name for name, each in module.named_modules()}
    checkpoint, calls = torch.utils.checkpoint.__file__, torch.nn.modules.module.__file__

    def enter(called: Any, _: Any) -> None:
        # A frame of the checkpoint between the calls of this module and of the one that contains it.
        frame, seen = sys._getframe(1), 0
        while frame is not None and seen < 2:
            code = frame.f_code
            seen += code.co_filename == calls and code.co_name == "_call_impl"
            if seen == 1 and code.co_filename == checkpoint and id(called) in names:
                marks.add(names[id(called)])
            frame = frame.f_back  # type: ignore[assignment]

    def apply(function: Any, _: Any, *args: Any) -> Any:
        with torch.set_grad_enabled(torch.is_grad_enabled() and any(isinstance(each, torch.Tensor) and each.requires_grad for each in args)):
            return function(*args)

    # The reentrant form runs its function without gradients, which torch.export would write. It has gradients if an argument has.
    module_of, kept = torch.utils.checkpoint, torch.utils.checkpoint.CheckpointFunction
    hook = torch.nn.modules.module.register_module_forward_pre_hook(enter)
    module_of.CheckpointFunction = type("Called", (), {"apply": staticmethod(apply)})
    try:
        yield
    finally:
        module_of.CheckpointFunction = kept
        hook.remove()


def _rows(torch: Any, program: Any) -> Optional[int]:
    """The example's rows, where the program has any number of them."""
    values = [node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"]
    sizes = {value.shape[0].node.hint for value in values if isinstance(value, torch.Tensor) and value.dim() > 0 and isinstance(value.shape[0], torch.SymInt)}
    return sizes.pop() if len(sizes) == 1 else None


def _export(torch: Any, module: Any, inputs: Tuple[Any, ...], kwargs: Optional[Mapping[str, Any]], dynamic: bool) -> Any:
    named = dict(kwargs or {})
    shapes = torch.export.ShapesCollection()
    for leaf in torch.utils._pytree.tree_leaves((inputs, named)):
        if isinstance(leaf, torch.Tensor) and leaf.dim() > 0:
            # AUTO: a module that needs one number of rows gets it.
            shapes[leaf] = {0: torch.export.Dim.AUTO}
    rows = shapes.dynamic_shapes(module, inputs, named) if dynamic else None
    return torch.export.export(module, inputs, named, dynamic_shapes=rows, strict=False)


def _ties(module: Any) -> List[List[str]]:
    """Names of each parameter that has several."""
    names: Dict[int, List[str]] = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    return [each for each in names.values() if len(each) > 1]


def _leave_out(torch: Any, program: Any, names: Sequence[str]) -> None:
    for name in set(names) & set(program.state_dict):
        given = program.state_dict[name]
        program.state_dict[name] = torch.nn.Parameter(given.detach().to("meta"), requires_grad=given.requires_grad)


def _decompose(torch: Any, program: Any, ops: Sequence[str]) -> Any:
    """The program with these ops decomposed. That inlines no-grad regions: their results are detached first."""
    if not ops:
        return program
    known = torch.export.default_decompositions()
    table = {op: known[op] for op in known if str(op) in ops or str(op).rpartition(".")[0] in ops}
    missing = [name for name in ops if not any(name in (str(op), str(op).rpartition(".")[0]) for op in table)]
    if missing:
        raise Error(1, f"PyTorch has no decomposition of {', '.join(missing)}", ["names are those of the message, such as aten.absolute.default"])
    for graph_module in program.graph_module.modules():
        if isinstance(graph_module, torch.fx.GraphModule):
            _detach_regions(torch, graph_module.graph)
            graph_module.recompile()
    return program.run_decompositions(table)


def _detach_regions(torch: Any, graph: Any) -> None:
    for node in list(graph.nodes):
        if node.op != "call_function" or "set_grad_enabled" not in str(node.target) or node.args[0] is not False:
            continue
        for result in [user for user in node.users if "getitem" in str(user.target)]:
            with graph.inserting_after(result):
                detached = graph.call_function(torch.ops.aten.detach.default, (result,))
            detached.meta = dict(result.meta)
            result.replace_all_uses_with(detached, delete_user_cb=lambda user, own=detached: user is not own)
