"""Exports a function of JAX for `sluice-import stablehlo`.

StableHLO has no stop_gradient, no custom derivatives and no keys of random numbers, and Sluice differentiates the forward function. `export` traces the
function again from its jaxpr, which has them: they become markers, `stablehlo.custom_call @sluice.*`. A function whose derivative would be lost is an
error. This file needs JAX, and no other part of the package.
"""

import dataclasses
import inspect
import json
import os
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import source_info_util
from jax.interpreters import partial_eval

# No frame of this file is a place of the user.
source_info_util.register_exclusion(__file__)

__all__ = ["Export", "export", "restore"]

# The names of scopes of scanned layers whose parameters have no common path.
LAYERS = "layers"
# Custom derivatives of JAX that equal those of the ops, and those that are an op of Sluice.
KNOWN_DERIVATIVES = {"logaddexp"}
KNOWN_OPS = {"relu": "sluice.relu"}
# Ops that do nothing on one device.
IDENTITIES = {"copy", "copy_p", "pvary", "sharding_constraint", "layout_constraint", "optimization_barrier"}
CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr", "remat2": "jaxpr", "checkpoint": "jaxpr", "remat": "jaxpr"}
STORED = {"float32": "F32", "float64": "F64", "float16": "F16", "bfloat16": "BF16", "int32": "I32", "int64": "I64", "uint8": "U8", "bool": "BOOL"}


@dataclasses.dataclass
class Export:
    """The files and names of an export. `weights` is None where the parameters have no values; `layers` has the paths of stacked parameters, with the names of their layers."""

    text: pathlib.Path
    weights: pathlib.Path | None
    parameters: list
    inputs: list
    outputs: list
    layers: dict


class Stacked:
    """A parameter whose first dim is the layers of a scan: the values of the layers, in order."""

    def __init__(self, values):
        self.values = list(values)


def export(loss, params, *inputs, path):
    """Writes `loss(params, *inputs)` to `path` and the values of `params` to the file with the suffix `.safetensors`.

    `loss` returns a scalar, a dict with it as "loss", or a tuple that begins with it. `params` and `inputs` are trees of arrays, or of
    `jax.ShapeDtypeStruct`; then no values are written. The first dim of each input is the rows of the micro-batch of one rank. Keys of `jax.random` among
    the inputs are not inputs of the model. An array that only `jax.lax.scan` reads, as its `xs`, is one parameter for each step, with the number of the
    step in its name. ValueError: the function has something that Sluice would compute in another way; the message begins with the line.
    """
    path = pathlib.Path(path)
    if path.suffix == ".safetensors":
        raise ValueError(f"{path}: the text cannot have the name of the weights; use the suffix .mlir")
    closed, result = jax.make_jaxpr(loss, return_shape=True)(params, *inputs)
    outputs = _names_of_outputs(result)
    jaxpr, used = partial_eval.dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars))
    leaves = jax.tree_util.tree_flatten_with_path(params)[0]
    names = [_join(keys) for keys, _ in leaves]
    _check_unique(names, "parameters")
    input_names = _names_of_inputs(loss, inputs)
    _check_unique(input_names + names, "parameters and inputs")

    variables = iter(jaxpr.invars)
    parameters = []  # The name, the leaf, its variable and the name of its layers, or None.
    for name, (_, leaf), is_used in zip(names, leaves, used):
        if is_used:
            parameters.append([name, leaf, next(variables), None])
    input_leaves = jax.tree_util.tree_leaves(inputs)
    read_inputs = [(name, leaf) for name, leaf, is_used in zip(input_names, input_leaves, used[len(leaves):]) if is_used]
    scans = _scans_of(jaxpr, {parameter[2]: parameter[0] for parameter in parameters})
    _name_layers(parameters, scans)

    flat_names, flat_types = [], []
    layers = {}
    for name, leaf, _, each in parameters:
        if each is None:
            flat_names.append(name)
            flat_types.append(jax.ShapeDtypeStruct(leaf.shape, leaf.dtype))
        else:
            layers[name] = each
            flat_names += each
            flat_types += [jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype)] * len(each)
    _check_unique(flat_names + input_names, "parameters and inputs")
    count = len(flat_names)
    prefixes = {scan: prefix for scan, (_, _, prefix) in scans.items()}

    def traced(*flat):
        values = iter(flat)
        arguments = []
        for _, _, _, each in parameters:
            arguments.append(next(values) if each is None else Stacked([next(values) for _ in each]))
        return _Interpreter(prefixes).run(jaxpr, closed.consts, [*arguments, *values])

    again = jax.make_jaxpr(traced)(*flat_types, *[leaf for _, leaf in read_inputs])
    # The keys of random numbers, and the values that depend on them alone, are not read any more.
    final, is_read = partial_eval.dce_jaxpr(again.jaxpr, [True] * len(again.jaxpr.outvars))
    all_names = [("sluice.parameter", name) for name in flat_names] + [("sluice.input", name) for name, _ in read_inputs]
    read = [entry for entry, kept in zip(all_names, is_read) if kept]
    types = [jax.ShapeDtypeStruct(variable.aval.shape, variable.aval.dtype) for variable in final.invars]
    _write_text(path, final, again.consts, types, read, outputs)

    kept_parameters = [name for kind, name in read if kind == "sluice.parameter"]
    weights = None
    if all(isinstance(leaf, (jax.Array, np.ndarray)) for _, leaf, _, _ in parameters):
        weights = path.with_suffix(".safetensors")
        stored = {}
        for name, leaf, _, each in parameters:
            value = np.asarray(leaf)
            stored.update({name: value} if each is None else dict(zip(each, value)))
        _write_safetensors(weights, {name: stored[name] for name in kept_parameters})
    return Export(path, weights, kept_parameters, [name for kind, name in read if kind == "sluice.input"], outputs, layers)


def restore(params, weights, exported):
    """`params` with the values of a file of weights, such as `trained/model.safetensors`; layers become stacked arrays again.

    Parameters and layers that the loss does not read keep their values. ValueError: the file lacks a parameter of the model, or has it in another shape.
    """
    tensors, read = _read_safetensors(weights), set(exported.parameters)

    def value_of(name, shape, initial):
        if name not in read:
            return initial()
        if name not in tensors:
            raise ValueError(f"{weights}: missing '{name}', a parameter of {exported.text}; use the weights that a plan of this model saved")
        if tensors[name].shape != shape:
            raise ValueError(f"{weights}: expected the shape {shape} of '{name}' but got {tensors[name].shape}; use the weights that a plan of this model saved")
        return tensors[name]

    leaves, tree = jax.tree_util.tree_flatten_with_path(params)
    values = []
    for keys, leaf in leaves:
        name = _join(keys)
        names = exported.layers.get(name, [name])
        if not read.intersection(names):
            values.append(leaf)
        elif name in exported.layers:
            values.append(jnp.asarray(np.stack([value_of(each, leaf.shape[1:], lambda: np.asarray(leaf)[i]) for i, each in enumerate(names)]), leaf.dtype))
        else:
            values.append(jnp.asarray(value_of(name, leaf.shape, lambda: leaf), leaf.dtype))
    return jax.tree_util.tree_unflatten(tree, values)


# ---------------------------------------------------------------------------------------------------------------------------------------------------------
# Names
# ---------------------------------------------------------------------------------------------------------------------------------------------------------


def _join(keys):
    parts = []
    for key in keys:
        for attribute in ("key", "idx", "name"):
            if hasattr(key, attribute):
                parts.append(str(getattr(key, attribute)))
                break
        else:
            parts.append(str(key))
    return ".".join(parts)


def _check_unique(names, what):
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"'{name}' is the name of several {what}; rename one of them")


def _names_of_inputs(loss, inputs):
    try:
        arguments = list(inspect.signature(loss).parameters.values())[1:]
        given = [argument.name for argument in arguments if argument.kind in (argument.POSITIONAL_ONLY, argument.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        given = []
    names = []
    for i, tree in enumerate(inputs):
        name = given[i] if i < len(given) else f"input{i}"
        for keys, _ in jax.tree_util.tree_flatten_with_path(tree)[0]:
            names.append(".".join([name, _join(keys)] if keys else [name]))
    return names


def _names_of_outputs(result):
    leaves = jax.tree_util.tree_flatten_with_path(result)[0]
    names = [_join(keys) for keys, _ in leaves]
    # The first leaf is the loss only if the first element is an array.
    if isinstance(result, tuple) and result and hasattr(result[0], "shape"):
        names = ["loss"] + [f"output{name}" if name.isdigit() else name.split(".", 1)[-1] for name in names[1:]]
    if len(leaves) == 1 and not names[0]:
        names = ["loss"]
    if (isinstance(result, tuple) and names[:1] != ["loss"]) or "loss" not in names or leaves[names.index("loss")][1].shape != ():
        raise ValueError("no output is the loss; return a scalar, {\"loss\": scalar, ...} or (scalar, ...)")
    _check_unique(names, "outputs")
    return names


def _is_of_jax(debug_info):
    """Whether a function of a jaxpr is in the folder of JAX. `func_src_info` is "name at file:line"."""
    return debug_info.func_src_info.rsplit(" at ", 1)[-1].startswith(str(pathlib.Path(jax.__file__).parent) + os.sep)


def _line_of(traceback):
    frame = source_info_util.user_frame(traceback)
    return f"{frame.file_name}:{frame.start_line}" if frame else "unknown line"


def _refuse(traceback, fact, remedy):
    raise ValueError(f"{_line_of(traceback)}: {fact}; {remedy}")


# ---------------------------------------------------------------------------------------------------------------------------------------------------------
# Layers
# ---------------------------------------------------------------------------------------------------------------------------------------------------------


def _inner(eqn):
    """The jaxpr of a call, whose operands are those of the equation."""
    inner = eqn.params[CALLS[eqn.primitive.name]]
    return getattr(inner, "jaxpr", inner)


def _scans_of(jaxpr, names):
    """For the scans: the length, and the parameters that the scan reads as `xs` where each use of them is such a scan.

    The key of a scan has the identities of its equation and of the equations of the calls around it: a jitted function that is called twice is one jaxpr.
    """
    scans, others = {}, set()

    def visit(jaxpr, bound, path):
        others.update(bound[variable] for variable in jaxpr.outvars if not hasattr(variable, "val") and variable in bound)
        for eqn in jaxpr.eqns:
            operands = [bound.get(variable) if not hasattr(variable, "val") else None for variable in eqn.invars]
            if eqn.primitive.name in CALLS:
                visit(_inner(eqn), {variable: name for variable, name in zip(_inner(eqn).invars, operands) if name is not None}, (*path, id(eqn)))
                continue
            first = eqn.params["num_consts"] + eqn.params["num_carry"] if eqn.primitive.name == "scan" else len(operands)
            others.update(name for name in operands[:first] if name is not None)
            stacked = [name for name in operands[first:] if name is not None]
            if stacked:
                scans[*path, id(eqn)] = (eqn.params["length"], stacked)

    visit(jaxpr, dict(names), ())
    return {scan: (length, [name for name in stacked if name not in others], None)
            for scan, (length, stacked) in scans.items() if any(name not in others for name in stacked)}


def _name_layers(parameters, scans):
    """Gives the scans a prefix and the stacked parameters the names of their layers: the number follows the path that they, and no others, have in common."""
    taken = {}
    for scan, (length, stacked, _) in list(scans.items()):
        paths = [name.split(".") for name in stacked]
        prefix = paths[0][:-1]
        for other in paths[1:]:
            prefix = prefix[:next((i for i, (a, b) in enumerate(zip(prefix, other[:-1])) if a != b), min(len(prefix), len(other) - 1))]
        under = [parameter[0] for parameter in parameters if parameter[0].split(".")[:len(prefix)] == prefix]
        if prefix and set(under) == set(stacked):
            shared = ".".join(prefix)
        else:
            # A path that no other stack or parameter has.
            path = ".".join([*prefix, LAYERS])
            others = {parameter[0] for parameter in parameters} - set(stacked)
            is_free = lambda name: taken.get(name, stacked) == stacked and not any((other + ".").startswith(name + ".") for other in others)
            shared = next(name for name in (path, *(f"{path}{i}" for i in range(2, len(scans) + len(others) + 3))) if is_free(name))
        taken[shared] = stacked
        scans[scan] = (length, stacked, shared)
        for parameter in parameters:
            if parameter[0] in stacked and parameter[3] is None:
                rest = ".".join(parameter[0].split(".")[len(prefix):])
                parameter[3] = [f"{shared}.{i}.{rest}" for i in range(length)]


# ---------------------------------------------------------------------------------------------------------------------------------------------------------
# Tracing again
# ---------------------------------------------------------------------------------------------------------------------------------------------------------


def _marker(name, x, shape=None, dtype=None, **attributes):
    return jax.ffi.ffi_call(name, jax.ShapeDtypeStruct(x.shape if shape is None else shape, dtype or x.dtype))(x, **attributes)


class _Interpreter:
    """Evaluates a jaxpr while JAX traces it again. `prefixes` are the scopes of scans over layers, by the keys of _scans_of()."""

    def __init__(self, prefixes):
        self.prefixes = prefixes
        self.path = ()
        self.traceback = None

    def run(self, jaxpr, consts, arguments):
        environment = dict(zip(jaxpr.constvars, consts))
        environment.update(zip(jaxpr.invars, arguments))
        read = lambda variable: variable.val if hasattr(variable, "val") else environment[variable]
        for eqn in jaxpr.eqns:
            stack = source_info_util.current_name_stack() + eqn.source_info.name_stack
            # The ops of a function of JAX have the place of its call.
            call, traceback = self.traceback, eqn.source_info.traceback
            self.traceback = traceback if source_info_util.user_frame(traceback) else call
            with source_info_util.user_context(self.traceback, name_stack=stack), eqn.ctx.manager:
                results = self.equation(eqn, [read(variable) for variable in eqn.invars])
            self.traceback = call
            environment.update(zip(eqn.outvars, results))
        return [read(variable) for variable in jaxpr.outvars]

    def closed(self, closed, arguments):
        return self.run(closed.jaxpr, closed.consts, arguments)

    def call(self, eqn, values):
        path, self.path = self.path, (*self.path, id(eqn))
        results = self.run(_inner(eqn), getattr(eqn.params[CALLS[eqn.primitive.name]], "consts", ()), values)
        self.path = path
        return results

    def equation(self, eqn, values):
        name = eqn.primitive.name
        handler = getattr(self, "on_" + name, None)
        if handler:
            return handler(eqn, values)
        if name in IDENTITIES:
            return values
        if name in CALLS:
            return self.call(eqn, values)
        if any(isinstance(value, Stacked) for value in values):
            raise AssertionError(f"a stacked parameter is read by '{name}'")
        results = eqn.primitive.bind(*values, **eqn.primitive.get_bind_params(eqn.params))
        return results if eqn.primitive.multiple_results else [results]

    # Derivatives

    def on_stop_gradient(self, eqn, values):
        x, = values
        return [_marker("sluice.stop_gradient", x) if jnp.issubdtype(x.dtype, jnp.floating) else x]

    def on_custom_jvp_call(self, eqn, values):
        closed = eqn.params["call_jaxpr"]
        name = closed.jaxpr.debug_info.func_name
        is_of_jax = _is_of_jax(closed.jaxpr.debug_info)
        if is_of_jax and name in KNOWN_OPS:
            return [_marker(KNOWN_OPS[name], *values)]
        if is_of_jax and name in KNOWN_DERIVATIVES:
            return self.closed(closed, values)
        _refuse(self.traceback, f"'{name}' has a custom derivative (jax.custom_jvp), which Sluice does not read", "write the function without it")

    def on_custom_vjp_call(self, eqn, values):
        name = eqn.params["call_jaxpr"].jaxpr.debug_info.func_name
        _refuse(self.traceback, f"'{name}' has a custom derivative (jax.custom_vjp), which Sluice does not read", "write the function without it")

    on_custom_vjp_call_jaxpr = on_custom_vjp_call

    # Random numbers

    def on_jit(self, eqn, values):
        closed = eqn.params["jaxpr"]
        if eqn.params["name"] == "_bernoulli" and _is_of_jax(closed.jaxpr.debug_info):
            aval = eqn.outvars[0].aval
            probability = values[-1]
            if isinstance(probability, jax.core.Tracer):
                _refuse(self.traceback, "the probability of jax.random.bernoulli depends on data", "give it a number")
            if np.ndim(probability) > 0:
                _refuse(self.traceback, "the probability of jax.random.bernoulli is an array", "give it a number")
            # The operand has no influence: a marker without operands would be evaluated once for equal shapes.
            return [jax.ffi.ffi_call("sluice.bernoulli", jax.ShapeDtypeStruct(aval.shape, aval.dtype))(probability=np.float64(np.asarray(probability)))]
        return self.call(eqn, values)

    on_pjit = on_jit

    def on_random_bits(self, eqn, values):
        _refuse(self.traceback, "random numbers other than those of jax.random.bernoulli depend on keys of JAX, which Sluice does not have",
                "make them an input, or write dropout with jax.random.bernoulli")

    # Control flow

    def on_scan(self, eqn, values):
        parameters = eqn.params
        consts, carry = parameters["num_consts"], parameters["num_carry"]
        fixed, state, xs = values[:consts], values[consts:consts + carry], values[consts + carry:]
        closed, length = parameters["jaxpr"], parameters["length"]
        if not any(isinstance(x, Stacked) for x in xs):

            def body(state, x):
                results = self.closed(closed, [*fixed, *state, *x])
                return tuple(results[:carry]), tuple(results[carry:])

            state, ys = jax.lax.scan(body, tuple(state), tuple(xs), length, reverse=parameters["reverse"], unroll=parameters["unroll"])
            return [*state, *ys]
        prefix = self.prefixes[*self.path, id(eqn)]
        steps = [None] * length
        for step in reversed(range(length)) if parameters["reverse"] else range(length):
            with jax.named_scope(f"{prefix}.{step}"):
                now = [x.values[step] if isinstance(x, Stacked) else jax.lax.index_in_dim(x, step, keepdims=False) for x in xs]
                results = self.closed(closed, [*fixed, *state, *now])
            state, steps[step] = results[:carry], results[carry:]
        return [*state, *[jnp.stack(ys) for ys in zip(*steps)]]

    def on_while(self, eqn, values):
        parameters = eqn.params
        first = parameters["cond_nconsts"]
        second = first + parameters["body_nconsts"]
        return jax.lax.while_loop(lambda state: self.closed(parameters["cond_jaxpr"], [*values[:first], *state])[0],
                                  lambda state: tuple(self.closed(parameters["body_jaxpr"], [*values[first:second], *state])), tuple(values[second:]))

    def on_cond(self, eqn, values):
        branches = [lambda *operands, branch=branch: tuple(self.closed(branch, operands)) for branch in eqn.params["branches"]]
        return jax.lax.switch(values[0], branches, *values[1:])

    # Indices, which the trainer checks

    def on_gather(self, eqn, values):
        parameters = dict(eqn.params, mode=jax.lax.GatherScatterMode.PROMISE_IN_BOUNDS, fill_value=None)
        return [eqn.primitive.bind(*values, **parameters)]

    # Ops whose StableHLO is a loop, a window or a reduction of pairs

    def along_axis(self, eqn, values, name, axis):
        aval = eqn.outvars[0].aval
        return [_marker(name, *values, shape=aval.shape, dtype=aval.dtype, axis=np.int64(axis))]

    def on_argmax(self, eqn, values):
        return self.along_axis(eqn, values, "sluice." + eqn.primitive.name, eqn.params["axes"][0])

    on_argmin = on_argmax

    def on_cumsum(self, eqn, values):
        x, = values
        axis = eqn.params["axis"]
        if not eqn.params["reverse"]:
            return self.along_axis(eqn, values, "sluice.cumsum", axis)
        return [jnp.flip(self.along_axis(eqn, [jnp.flip(x, axis)], "sluice.cumsum", axis)[0], axis)]


# ---------------------------------------------------------------------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------------------------------------------------------------------


def _write_text(path, jaxpr, consts, types, arguments, outputs):
    function = lambda *values: jax.core.eval_jaxpr(jaxpr, consts, *values)
    lowered = jax.jit(function, keep_unused=True).lower(*types)
    module = lowered.compiler_ir("stablehlo")
    from jax.extend.mlir import ir  # After the first lowering.

    with module.context:
        names = lambda entries: ir.ArrayAttr.get([ir.DictAttr.get({key: ir.StringAttr.get(name)}) for key, name in entries])
        main = ir.SymbolTable(module.operation)["main"]
        main.attributes["arg_attrs"] = names(arguments)
        main.attributes["res_attrs"] = names([("sluice.output", name) for name in outputs])
        module.operation.attributes["sluice.jax"] = ir.StringAttr.get(jax.__version__)
    path.write_text(module.operation.get_asm(print_generic_op_form=True, enable_debug_info=True))


def _write_safetensors(path, tensors):
    header, parts, at = {}, [], 0
    for name, value in tensors.items():
        data = np.ascontiguousarray(value).tobytes()
        header[name] = {"dtype": STORED[str(value.dtype)], "shape": list(value.shape), "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))


def _read_safetensors(path):
    data = pathlib.Path(path).read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    kinds = {stored: jnp.dtype(name) for name, stored in STORED.items()}
    return {name: np.frombuffer(data[8 + size + entry["data_offsets"][0]:8 + size + entry["data_offsets"][1]], kinds[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in header.items() if name != "__metadata__" and entry["dtype"] in kinds}
