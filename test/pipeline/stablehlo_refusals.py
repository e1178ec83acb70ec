"""What `sluice-import stablehlo` refuses: each text is an error with its reason, the user's line and a remedy, and nothing is written."""

import random

from sluice import *

GOOD = '"stablehlo.multiply"(%y, %y) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>'
OF_TWO = "(tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>"
OF_ONE = "(tensor<4x2xf32>) -> tensor<4x2xf32>"
ZERO = '%zero = "stablehlo.constant"() <{value = dense<0.0> : tensor<f32>}> : () -> tensor<f32>'
ONE = '%one = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>'


def text_of(op=GOOD, before="", functions="", names='[{sluice.input = "x"}, {sluice.parameter = "w"}]', types=("tensor<4x3xf32>", "tensor<3x2xf32>"),
            marker='{sluice.jax = "0.10.2"}'):
    """The loss is the sum of %z, the result of `op`; %y is x w. Of `types` that are not floats only x may be one."""
    attributes = f"arg_attrs = {names}, " if names else ""
    return f'''"builtin.module"() ({{
  "func.func"() <{{{attributes}function_type = ({", ".join(types)}) -> tensor<f32>, sym_name = "main"}}> ({{
  ^bb0(%x: {types[0]}, %w: {types[1]}):
    {ZERO}
    {ONE}
    %y = "stablehlo.dot_general"(%x, %w) <{{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}}> : ({types[0]}, {types[1]}) -> tensor<4x2xf32>
    {before}
    %z = {op} loc("loss/layer/op"("model.py":7:0))
    %s = "stablehlo.reduce"(%z, %zero) <{{dimensions = array<i64: 0, 1>}}> ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %t = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%t) : (tensor<f32>) -> ()
    }}) : (tensor<4x2xf32>, tensor<f32>) -> tensor<f32>
    "func.return"(%s) : (tensor<f32>) -> ()
  }}) : () -> ()
  {functions}
}}) {marker} : () -> ()
'''


def try_text(text, *options):
    path, model = SCRATCH / "text.mlir", SCRATCH / "model.mlir"
    path.write_text(text)
    model.unlink(missing_ok=True)
    return try_run("sluice-import", "stablehlo", path, "-o", model, *options), model


def refuse(text, *texts, options=(), code=1):
    done, model = try_text(text, *options)
    for each in texts:
        expect(done.returncode == code and each in done.stderr, f"expected exit code {code} and '{each}' but got {done.returncode} and {done.stderr}")
    expect(not model.exists(), f"{texts}: a file was written")


def refuse_op(op, *texts, before="", functions=""):
    """The message has the user's line and scope."""
    refuse(text_of(op, before, functions), f"model.py:7: '", "in 'loss.layer'", *texts)


@test
def accepts_the_text_that_the_tests_change():
    done, _ = try_text(text_of())
    expect_equal((done.returncode, done.stderr), (0, ""), "import")


@test
def text_that_the_helper_did_not_write():
    refuse(text_of(marker=""), "text.mlir: the text is not of sluice.jax.export, so its gradients may be wrong: StableHLO has no stop_gradient, custom_jvp and custom_vjp",
           "export with sluice.jax.export(loss, params, *inputs, path=...)", "--gradients-as-written imports it, with the gradients of the ops in the text")
    done, _ = try_text(text_of(marker=""), "--gradients-as-written")
    expect_equal(done.returncode, 0, done.stderr)


@test
def names_of_arguments():
    refuse(text_of(names=""), "argument 0 of @main has no name", '--parameters reads the names of parameters and inputs from a JSON file')
    refuse(text_of(names='[{sluice.input = "w"}, {sluice.parameter = "w"}]'), "'w' is the name of several arguments, or empty")
    refuse(text_of(names='[{sluice.input = "x"}, {sluice.parameter = ""}]'), "'' is the name of several arguments, or empty")
    side = SCRATCH / "side.json"
    plain = text_of(names="")
    side.write_text('{"parameters": ["a", "b", "c"], "inputs": []}')
    refuse(plain, "@main has 2 arguments, but the file of --parameters has 3 names", options=("--parameters", side))
    for wrong in ("[", "[]", '{"parameters": ["w"]}', '{"parameters": [1], "inputs": []}', "[" * 100000):
        side.write_text(wrong)
        refuse(plain, "side.json: expected a JSON object with 'parameters' and 'inputs', two lists of names", options=("--parameters", side))
    side.write_text('{"parameters": ["first", "second"], "inputs": []}')
    done, model = try_text(plain, "--parameters", side)
    expect(done.returncode == 0 and "model.parameter @first" in model.read_text(), done.stderr)


@test
def command_line():
    done = try_run("sluice-import", "stablehlo")
    expect(done.returncode == 2 and "missing text, expected the .mlir file of sluice.jax.export" in done.stderr, done.stderr)
    listed = run("sluice-import", "stablehlo", "--list").stdout
    expect("`dot_general`" in listed and "`@sluice.relu`" in listed, "the list of ops lacks some")
    done, _ = try_text(text_of(), "--blocks", "nothing.*")
    expect("--blocks nothing.* matches no module" in done.stderr, done.stderr)


@test
def parameter_that_is_not_read():
    done, _ = try_text(text_of(GOOD.replace("%y", "%v"), f'%v = "stablehlo.slice"(%x) <{{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 4, 2>, strides = array<i64: 1, 1>}}> : (tensor<4x3xf32>) -> tensor<4x2xf32>'))
    expect_equal(done.returncode, 0, done.stderr)
    expect("parameter 'w' is not used by the loss: it is left out" in done.stderr, done.stderr)


@test
def types_of_arguments():
    refuse(text_of(types=("tensor<4x3xf32>", "tensor<3x2xbf16>")), "parameter 'w' has the type bfloat16, expected float32", "cast the parameters to float32 before the export, and set precision.compute")
    refuse(text_of(types=("tensor<?x3xf32>", "tensor<3x2xf32>")), "argument 'x': it has a tensor with a dynamic dim")
    refuse(text_of(types=("tensor<4x3xcomplex<f32>>", "tensor<3x2xf32>")), "argument 'x': it has a tensor of the type complex<f32>")
    refuse(text_of(types=("tuple<>", "tensor<3x2xf32>")), "argument 'x': it has a value that is no tensor")
    refuse(text_of(types=("tensor<4294967296x4294967296xf32>", "tensor<3x2xf32>")), "argument 'x': it has a tensor of more than 2^48 elements")


@test
def text_that_does_not_parse():
    refuse("not MLIR", "text.mlir:1:", "the text is StableHLO in MLIR's generic form, as sluice.jax.export writes it")
    refuse('"builtin.module"() ({\n^bb0:\n}) {sluice.jax = "1"} : () -> ()', "module without a function @main of one block")
    refuse("module @jit_f {\n  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n    %y = stablehlo.add %x, %x : tensor<2xf32>\n    return %y : tensor<2xf32>\n  }\n}\n", "text.mlir:3:")


@test
def unknown_ops():
    refuse_op(f'"stablehlo.fft"(%y) : {OF_ONE}', "'stablehlo.fft': it is not supported")
    refuse_op(f'"stablehlo.rng"(%y) : {OF_ONE}', "random numbers are those of jax.random.bernoulli, in a program of sluice.jax.export")
    refuse_op(f'"stablehlo.custom_call"(%y) <{{call_target_name = "mine"}}> : {OF_ONE}', "'@mine': it is not supported")
    refuse(text_of(GOOD.replace("%y", "%v"), before=f'%v = "stablehlo.fft"(%y) : {OF_ONE} loc("a/b"("first.py":3:0))'), "first.py:3: 'stablehlo.fft': it is not supported")
    refuse_op('"stablehlo.convert"(%v) : (tensor<4x2xui32>) -> tensor<4x2xf32>', "it has a tensor of the type ui32",
              before=f'%v = "stablehlo.convert"(%y) : (tensor<4x2xf32>) -> tensor<4x2xui32> loc("loss/layer/op"("model.py":7:0))')


@test
def control_flow():
    def loop(condition, init="%one", body='"stablehlo.add"(%i, %i) : (tensor<i32>, tensor<i32>) -> tensor<i32>'):
        return (f'"stablehlo.while"(%y, {init}) ({{\n^bb0(%v: tensor<4x2xf32>, %i: tensor<i32>):\n{condition}\n"stablehlo.return"(%c) : (tensor<i1>) -> ()\n}}, '
                f'{{\n^bb0(%v: tensor<4x2xf32>, %i: tensor<i32>):\n%j = {body}\n"stablehlo.return"(%v, %j) : (tensor<4x2xf32>, tensor<i32>) -> ()\n}})'
                ' : (tensor<4x2xf32>, tensor<i32>) -> (tensor<4x2xf32>, tensor<i32>) loc("loss/layer/op"("model.py":7:0))')

    less = '%c = "stablehlo.compare"(%i, %n) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>'
    constant = lambda value: f'%n = "stablehlo.constant"() <{{value = dense<{value}> : tensor<i32>}}> : () -> tensor<i32>'
    run_of = lambda *given: f"%l:2 = {loop(*given)}"
    multiply = GOOD.replace("%y", "%l#0")
    done, _ = try_text(text_of(multiply, before=f"{constant(100)}\n{run_of(less)}"))
    expect_equal((done.returncode, done.stderr), (0, ""), "a loop of a known number of steps")
    refuse(text_of(multiply, before=f"{constant(100)}\n{run_of(less, '%one', GOOD.replace('%y', '%i').replace('4x2xf32', 'i32'))}"), "a loop of more than 512 steps", "use jax.lax.scan with fewer steps")
    data = '%k = "stablehlo.convert"(%v) : (tensor<4x2xf32>) -> tensor<4x2xi32>\n%q = "stablehlo.slice"(%k) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 1, 1>, strides = array<i64: 1, 1>}> : (tensor<4x2xi32>) -> tensor<1x1xi32>\n%n = "stablehlo.reshape"(%q) : (tensor<1x1xi32>) -> tensor<i32>\n'
    refuse(text_of(multiply, before=run_of(data + less)), "a loop whose number of steps depends on data")
    branch = '({"stablehlo.return"(%y) : (tensor<4x2xf32>) -> ()}, {"stablehlo.return"(%zero) : (tensor<f32>) -> ()})'
    refuse_op(f'"stablehlo.case"(%n) {branch} : (tensor<i32>) -> tensor<4x2xf32>', "control flow that depends on data", "compute all branches and choose with jnp.where",
              before=data.replace("%v", "%y"))
    done, _ = try_text(text_of(f'"stablehlo.case"(%k) {branch} : (tensor<i32>) -> tensor<4x2xf32>', before=constant(0).replace("%n", "%k")))
    expect_equal(done.returncode, 0, done.stderr)
    refuse(text_of(f'"stablehlo.while"(%y) : {OF_ONE}'), "a loop without its two regions")
    refuse(text_of(multiply, before=f"{constant(100)}\n{run_of(less)}".replace('"stablehlo.return"(%v, %j) : (tensor<4x2xf32>, tensor<i32>)', '"stablehlo.return"(%v) : (tensor<4x2xf32>)')),
           "a loop whose body returns another number of values than it reads")


@test
def calls():
    function = lambda name, body, count=1: f'''"func.func"() <{{function_type = ({", ".join(["tensor<4x2xf32>"] * count)}) -> tensor<4x2xf32>, sym_name = "{name}"}}> ({{
    ^bb0({", ".join(f"%a{i}: tensor<4x2xf32>" for i in range(count))}):
      {body}
    }}) : () -> ()'''
    call = lambda name, value="%y": f'"func.call"({value}) <{{callee = @{name}}}> : {OF_ONE}'
    square = GOOD.replace("%y", "%a0")
    done, _ = try_text(text_of(call("f"), functions=function("f", f'%r = {square}\n"func.return"(%r) : (tensor<4x2xf32>) -> ()')))
    expect_equal((done.returncode, done.stderr), (0, ""), "a call")
    refuse(text_of(call("f"), functions=function("f", f'%r = {call("f", "%a0")}\n"func.return"(%r) : (tensor<4x2xf32>) -> ()')), "calls nest deeper than 64")
    refuse(text_of('"stablehlo.composite"(%y) <{decomposition = @missing}> : ' + OF_ONE), "'stablehlo.composite' of a function that the module does not define")
    refuse(text_of(f'"stablehlo.composite"(%y) <{{decomposition = @f}}> : {OF_ONE}', functions=function("f", '"func.return"(%a0) : (tensor<4x2xf32>) -> ()', 2)),
           "a region or function has another number of arguments than its op has operands")
    doubling = "".join(function(f"f{i}", f'%r = {call(f"f{i + 1}", "%a0")}\n%q = {call(f"f{i + 1}", "%r")}\n"func.return"(%q) : (tensor<4x2xf32>) -> ()') for i in range(25))
    refuse(text_of(call("f0"), functions=doubling + function("f25", f'%r = {square}\n"func.return"(%r) : (tensor<4x2xf32>) -> ()')), "more than 1048576 ops after calls are inlined and loops are unrolled")
    # Functions without ops are calls too.
    doubling = "".join(function(f"f{i}", f'%r = {call(f"f{i + 1}", "%a0")}\n%q = {call(f"f{i + 1}", "%r")}\n"func.return"(%q) : (tensor<4x2xf32>) -> ()') for i in range(60))
    refuse(text_of(call("f0"), functions=doubling + function("f60", '"func.return"(%a0) : (tensor<4x2xf32>) -> ()')), "more than 1048576 ops after calls are inlined and loops are unrolled")


@test
def deep_texts():
    """Nesting does not exhaust the stack."""
    for opening, closing in ("[]", "{}", "()"):
        refuse(text_of(marker=f'{{sluice.jax = "1", sluice.a = {opening * 100000}{closing * 100000}}}'), "text.mlir: brackets nest deeper than 256")
    refuse(text_of(marker=f'{{sluice.jax = "1", sluice.a = {"tuple<" * 100000}{">" * 100000}}}'), "text.mlir: brackets nest deeper than 256")
    done, _ = try_text(text_of(marker=f'{{sluice.jax = "([{{\\"([{{", sluice.a = {"[" * 200}{"]" * 200}}}') + "// " + "(" * 1000)
    expect_equal((done.returncode, done.stderr), (0, ""), "brackets in strings and comments")
    locations = '#l0 = loc("model.py":7:0)\n' + "".join(f'#l{i + 1} = loc("s/op"(#l{i}))\n' for i in range(100000))
    done, _ = try_text(locations + text_of().replace('loc("loss/layer/op"("model.py":7:0))', "loc(#l100000)"))
    expect_equal((done.returncode, done.stderr), (0, ""), "a deep location")


@test
def masks():
    drawn = '%m = "stablehlo.custom_call"() <{call_target_name = "sluice.bernoulli"}> {mhlo.backend_config = {probability = 5.000000e-01 : f64}} : () -> tensor<4x2xi1>\n'
    place = ' loc("loss/layer/op"("model.py":7:0))'
    chosen = '"stablehlo.select"(%n, %y, %y) : (tensor<4x2xi1>, tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>'
    of_masks = "(tensor<4x2xi1>, tensor<4x2xi1>) -> tensor<4x2xi1>"
    done, _ = try_text(text_of(chosen.replace("%n", "%m"), drawn))
    expect_equal((done.returncode, done.stderr), (0, ""), "a choice by a mask")
    for line in (f'"stablehlo.and"(%m, %m) : {of_masks}', '"stablehlo.select"(%m, %m, %m) : (tensor<4x2xi1>, tensor<4x2xi1>, tensor<4x2xi1>) -> tensor<4x2xi1>',
                 f'"stablehlo.compare"(%m, %m) <{{comparison_direction = #stablehlo<comparison_direction EQ>}}> : {of_masks}'):
        refuse_op(chosen, "it reads a mask of jax.random.bernoulli as a truth value", "choose floats by each mask with jnp.where, or multiply them by it", before=f"{drawn}%n = {line}{place}")
    refuse_op('"stablehlo.convert"(%n) : (tensor<4x2xi32>) -> tensor<4x2xf32>', "it reads a mask of jax.random.bernoulli as a truth value",
              before=f'{drawn}%n = "stablehlo.convert"(%m) : (tensor<4x2xi1>) -> tensor<4x2xi32>{place}')


@test
def negative_indices():
    """Only the sum with the size of the indexed dim is left out."""
    def text(size):
        before = (f'%k = "stablehlo.constant"() <{{value = dense<{size}> : tensor<4x3xi32>}}> : () -> tensor<4x3xi32>\n%o = "stablehlo.constant"() <{{value = dense<0> : tensor<4x3xi32>}}> : () -> tensor<4x3xi32>\n'
                  '%n = "stablehlo.compare"(%x, %o) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4x3xi32>, tensor<4x3xi32>) -> tensor<4x3xi1>\n'
                  '%p = "stablehlo.add"(%x, %k) : (tensor<4x3xi32>, tensor<4x3xi32>) -> tensor<4x3xi32>\n%i = "stablehlo.select"(%n, %p, %x) : (tensor<4x3xi1>, tensor<4x3xi32>, tensor<4x3xi32>) -> tensor<4x3xi32>\n'
                  '%g = "stablehlo.gather"(%w, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 2>}> : (tensor<3x2xf32>, tensor<4x3xi32>) -> tensor<4x3x2xf32>')
        op = '"stablehlo.reduce"(%g, %zero) <{dimensions = array<i64: 1>}> ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n%t = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n"stablehlo.return"(%t) : (tensor<f32>) -> ()\n}) : (tensor<4x3x2xf32>, tensor<f32>) -> tensor<4x2xf32>'
        return text_of(op, before, types=("tensor<4x3xi32>", "tensor<3x2xf32>"))

    for size, is_kept in ((3, False), (2, True), (4, True)):
        done, model = try_text(text(size))
        expect_equal((done.returncode, done.stderr), (0, ""), "a gather")
        expect_equal("model.select" in model.read_text(), is_kept, f"a choice with the size {size}")


@test
def elementwise_ops():
    refuse_op('"stablehlo.add"(%y, %w) : (tensor<4x2xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>', "its shapes do not fit each other")
    refuse_op(f'"stablehlo.add"(%y) : {OF_ONE}', "it has 1 operands")
    refuse_op(f'"stablehlo.compare"(%y, %y) : {OF_TWO}', "attribute 'comparison_direction' is unknown")
    refuse_op(f'"stablehlo.clamp"(%x, %y, %y) : (tensor<4x3xf32>, tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>', "its shapes do not fit each other")
    integers = f'%i = "stablehlo.convert"(%y) : (tensor<4x2xf32>) -> tensor<4x2xi32>\n'
    back = '"stablehlo.convert"(%j) : (tensor<4x2xi32>) -> tensor<4x2xf32>'
    place = ' loc("loss/layer/op"("model.py":7:0))'
    refuse_op(back, "it is of integers", "convert them to float32 before", before=integers + '%j = "stablehlo.tanh"(%i) : (tensor<4x2xi32>) -> tensor<4x2xi32>' + place)
    refuse_op(back, "it is of the bits of integers", before=integers + '%j = "stablehlo.xor"(%i, %i) : (tensor<4x2xi32>, tensor<4x2xi32>) -> tensor<4x2xi32>' + place)


@test
def shapes_and_bounds():
    bounds = "its bounds are outside its operand, or not one for each dim"
    refuse_op(f'"stablehlo.slice"(%y) <{{start_indices = array<i64: 0>, limit_indices = array<i64: 4>, strides = array<i64: 1>}}> : {OF_ONE}', bounds)
    refuse_op(f'"stablehlo.slice"(%y) <{{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 5, 2>, strides = array<i64: 1, 1>}}> : {OF_ONE}', bounds)
    refuse_op(f'"stablehlo.slice"(%y) : {OF_ONE}', "attribute 'start_indices' is missing")
    refuse_op(f'"stablehlo.slice"(%y) <{{start_indices = "a"}}> : {OF_ONE}', "expected a list of integers in attribute 'start_indices'")
    refuse_op(f'"stablehlo.reverse"(%y) <{{dimensions = array<i64: 2>}}> : {OF_ONE}', "[2] are no dims of a tensor of rank 2")
    refuse_op(f'"stablehlo.reverse"(%y) <{{dimensions = array<i64: 0, 0>}}> : {OF_ONE}', "[0, 0] are no dims of a tensor of rank 2")
    refuse_op(f'"stablehlo.concatenate"(%y, %y) <{{dimension = "a"}}> : {OF_TWO}', "attribute 'dimension' is no integer")
    refuse_op('"stablehlo.constant"() <{value = dense<1.0> : tensor<3xf32>}> : () -> tensor<4x2xf32>', "expected 'value' as 'dense' in the shape of the result")
    for amounts in ("edge_padding_low = array<i64: 0, 0>, edge_padding_high = array<i64: 0, 0>, interior_padding = array<i64: 4611686018427387904, 0>",
                    "edge_padding_low = array<i64: 9223372036854775807, 0>, edge_padding_high = array<i64: 9223372036854775807, 0>, interior_padding = array<i64: 0, 0>"):
        refuse_op(f'"stablehlo.pad"(%y, %zero) <{{{amounts}}}> : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x2xf32>', bounds)
    refuse_op('"stablehlo.pad"(%y, %v) <{edge_padding_low = array<i64: 0, 0>, edge_padding_high = array<i64: 0, 0>, interior_padding = array<i64: 0, 0>}> : (tensor<4x2xf32>, tensor<f32>) -> tensor<4x2xf32>',
              "its padding value depends on data", before='%q = "stablehlo.slice"(%y) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 1, 1>, strides = array<i64: 1, 1>}> : (tensor<4x2xf32>) -> tensor<1x1xf32>\n%v = "stablehlo.reshape"(%q) : (tensor<1x1xf32>) -> tensor<f32>')
    refuse_op('"stablehlo.slice"(%k) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 4, 2>, strides = array<i64: 1, 1>}> : (tensor<2097152x8xf32>) -> tensor<4x2xf32>', "a constant of 16777216 elements", "make it a parameter",
              before='%k = "stablehlo.constant"() <{value = dense<"0x' + "0000803F00000040" * 8388608 + '"> : tensor<2097152x8xf32>}> : () -> tensor<2097152x8xf32> loc("loss/layer/op"("model.py":7:0))')


@test
def reductions():
    def reduce(body, operands="%y, %zero", types="(tensor<4x2xf32>, tensor<f32>) -> tensor<4xf32>"):
        return (f'%v = "stablehlo.reduce"({operands}) <{{dimensions = array<i64: 1>}}> ({{\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n{body}\n}}) : {types} loc("loss/layer/op"("model.py":7:0))\n')

    back = '"stablehlo.broadcast_in_dim"(%v) <{broadcast_dimensions = array<i64: 0>}> : (tensor<4xf32>) -> tensor<4x2xf32>'
    combine = lambda op: f'%t = "stablehlo.{op}"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n"stablehlo.return"(%t) : (tensor<f32>) -> ()'
    refuse_op(back, "it combines elements by 'atan2'", before=reduce(combine("atan2")))
    refuse_op(back, "it combines elements by several ops", before=reduce('%u = "stablehlo.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n%t = "stablehlo.add"(%u, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n"stablehlo.return"(%t) : (tensor<f32>) -> ()'))
    data = '%q = "stablehlo.slice"(%y) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 1, 1>, strides = array<i64: 1, 1>}> : (tensor<4x2xf32>) -> tensor<1x1xf32>\n%k = "stablehlo.reshape"(%q) : (tensor<1x1xf32>) -> tensor<f32>\n'
    refuse_op(back, "its initial value depends on data", before=data + reduce(combine("add"), "%y, %k"))
    two = reduce(combine("add"), types="(tensor<4x2xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)").replace("%v =", "%v2:2 =")
    refuse_op(back.replace("%v", "%v2#0"), "it has several results", "export with sluice.jax.export, which marks argmax and argmin", before=two)


@test
def windows():
    def window(op="maximum", neutral="0xFF800000", settings="", shape="4x1x2", size=2):
        kept = shape.replace("4x1x2", "4x1x1")
        rank = shape.count("x") + 1
        sizes = ", ".join(["1"] * (rank - 1) + [str(size)])
        return (f'%n = "stablehlo.constant"() <{{value = dense<{neutral}> : tensor<f32>}}> : () -> tensor<f32>\n%i = "stablehlo.reshape"(%y) : (tensor<4x2xf32>) -> tensor<{shape}xf32>\n'
                f'%v = "stablehlo.reduce_window"(%i, %n) <{{window_dimensions = array<i64: {sizes}>{settings}}}> ({{\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n'
                f'%t = "stablehlo.{op}"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n"stablehlo.return"(%t) : (tensor<f32>) -> ()\n}}) : (tensor<{shape}xf32>, tensor<f32>) -> tensor<{kept}xf32> loc("loss/layer/op"("model.py":7:0))\n'
                f'%q = "stablehlo.reshape"(%v) : (tensor<{kept}xf32>) -> tensor<4x1xf32>')

    back = '"stablehlo.broadcast_in_dim"(%q) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<4x1xf32>) -> tensor<4x2xf32>'
    done, _ = try_text(text_of(back, window()))
    expect_equal((done.returncode, done.stderr), (0, ""), "a window")
    refuse_op(back, "windows of other ops than sum, maximum and minimum of floats, or with an initial value", before=window("multiply"))
    refuse_op(back, "windows of other ops than sum, maximum and minimum of floats, or with an initial value", before=window(neutral="0.0"))
    for settings in ("window_dilations = array<i64: 1, 1, 2>", "window_strides = array<i64: 1>", "padding = dense<[[0, 0], [0, 0], [-1, 1]]> : tensor<3x2xi64>"):
        refuse_op(back, "windows with negative padding or with dilation", before=window(settings=", " + settings))
    refuse_op(back, "a window longer than its dim", before=window(size=4611686018427387904))
    for settings in ("padding = dense<[[0, 0], [0, 0], [4611686018427387904, 4611686018427387904]]> : tensor<3x2xi64>", "base_dilations = array<i64: 1, 1, 4611686018427387904>"):
        refuse_op(back, "its bounds are outside its operand, or not one for each dim", before=window(settings=", " + settings))
    refuse_op(back, "windows over more than two dims", before=window(settings=", window_strides = array<i64: 2, 2, 2>"))


@test
def writes_by_index():
    def scatter(body='"stablehlo.return"(%b) : (tensor<f32>) -> ()', numbers="#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>", updates="%y", kind="tensor<4x2xf32>"):
        return ('%i = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<4xi32>\n'
                f'%v = "stablehlo.scatter"(%y, %i, {updates}) <{{scatter_dimension_numbers = {numbers}}}> ({{\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n{body}\n}}) : (tensor<4x2xf32>, tensor<4xi32>, {kind}) -> tensor<4x2xf32> loc("loss/layer/op"("model.py":7:0))')

    done, _ = try_text(text_of(GOOD.replace("%y", "%v"), scatter()))
    expect_equal((done.returncode, done.stderr), (0, ""), "a scatter")
    use = GOOD.replace("%y", "%v")
    refuse_op(use, "it combines elements by another op than a sum", before=scatter('%t = "stablehlo.maximum"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n"stablehlo.return"(%t) : (tensor<f32>) -> ()'))
    refuse_op(use, "attribute 'scatter_dimension_numbers' is not as StableHLO prints it", before=scatter(numbers="1"))
    refuse_op(use, "a write with batching dims", "use one index for each dim", before=scatter(numbers="#stablehlo.scatter<input_batching_dims = [0]>"))
    part = '%p = "stablehlo.slice"(%y) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 4, 1>, strides = array<i64: 1, 1>}> : (tensor<4x2xf32>) -> tensor<4x1xf32>\n'
    refuse_op(use, "a write of parts of rows", "write elements or complete rows", before=part + scatter(updates="%p", kind="tensor<4x1xf32>"))


@test
def products():
    dot = lambda attribute, types=OF_TWO: f'"stablehlo.dot_general"(%y, %y) <{{dot_dimension_numbers = {attribute}}}> : {types}'
    for attribute in ("1", "#other.dot<lhs_contracting_dimensions = [0]>", "#stablehlo.dot<lhs_contracting_dimensions = [a]>", "#stablehlo.dot<lhs_contracting_dimensions [0]>",
                      "#stablehlo.dot<lhs_contracting_dimensions = [0 1]>", "#stablehlo.dot<= [0]>", "#stablehlo.dot<lhs_contracting_dimensions = 99999999999999999999>"):
        refuse_op(dot(attribute), "attribute 'dot_dimension_numbers' is not as StableHLO prints it")
    refuse_op(dot("#stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>"), "its shapes do not fit each other")
    kernel = '%i = "stablehlo.reshape"(%y) : (tensor<4x2xf32>) -> tensor<4x1x2xf32>\n%k = "stablehlo.slice"(%i) <{start_indices = array<i64: 0, 0, 0>, limit_indices = array<i64: 1, 1, 2>, strides = array<i64: 1, 1, 1>}> : (tensor<4x1x2xf32>) -> tensor<1x1x2xf32>\n'
    def convolution(settings, dims="[b, 0, f]x[0, o, i]->[b, 0, f]", types="(tensor<4x1x2xf32>, tensor<1x1x2xf32>) -> tensor<4x1x1xf32>"):
        return kernel + f'%v = "stablehlo.convolution"(%i, %k) <{{dimension_numbers = #stablehlo.conv<{dims}>, feature_group_count = 1 : i64{settings}}}> : {types} loc("loss/layer/op"("model.py":7:0))\n%q = "stablehlo.reshape"(%v) : (tensor<4x1x1xf32>) -> tensor<4x1xf32>'
    back = '"stablehlo.broadcast_in_dim"(%q) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<4x1xf32>) -> tensor<4x2xf32>'
    done, _ = try_text(text_of(back, convolution("")))
    expect_equal((done.returncode, done.stderr), (0, ""), "a convolution")
    for dims in ("[b, 0, f]x[0, o, i]", "[b, 0, c]x[0, o, i]->[b, 0, f]", "[b, 1, f]x[0, o, i]->[b, 0, f]", "[b, b, f]x[0, o, i]->[b, 0, f]", "[b, f]x[0, o, i]->[b, 0, f]", "b"):
        refuse_op(back, "attribute 'dimension_numbers' is not as StableHLO prints it", before=convolution("", dims))
    refuse_op(back, "a convolution of another number of spatial dims than 1 or 2", before=convolution("", "[b, f]x[o, i]->[b, f]"))
    refuse_op(back, "a convolution with groups of rows", before=convolution(", batch_group_count = 2 : i64"))
    refuse_op(back, "a convolution with a reversed kernel", "reverse the kernel before", before=convolution(", window_reversal = array<i1: true>"))
    for settings in ("lhs_dilation = array<i64: 4611686018427387904>", "rhs_dilation = array<i64: 4611686018427387904>", "window_strides = array<i64: 0>",
                     "padding = dense<[[0, 4611686018427387904]]> : tensor<1x2xi64>"):
        refuse_op(back, "its bounds are outside its operand, or not one for each dim", before=convolution(", " + settings))
    refuse_op(back, "a convolution with negative padding", before=convolution(", padding = dense<[[-1, 1]]> : tensor<1x2xi64>"))


@test
def indices():
    gather = lambda attribute: ('%i = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<4xi32>\n'
                                f'%v = "stablehlo.gather"(%y, %i) <{{dimension_numbers = {attribute}, slice_sizes = array<i64: 1, 2>}}> : (tensor<4x2xf32>, tensor<4xi32>) -> tensor<4x2xf32> loc("loss/layer/op"("model.py":7:0))')
    good = "#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>"
    done, _ = try_text(text_of(GOOD.replace("%y", "%v"), gather(good)))
    expect_equal((done.returncode, done.stderr), (0, ""), "a gather")
    refuse_op(GOOD.replace("%y", "%v"), "attribute 'dimension_numbers' is not as StableHLO prints it", before=gather("1"))
    refuse_op(GOOD.replace("%y", "%v"), "its shapes do not fit each other", before=gather(good.replace("[0]", "[1]")))
    for batch in ("operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 0", "operand_batching_dims = [1], start_indices_batching_dims = [0], start_index_map = [0], index_vector_dim = 1"):
        refuse_op(GOOD.replace("%y", "%v"), "its shapes do not fit each other", before=gather(f"#stablehlo.gather<offset_dims = [1], {batch}>"))
    data = '%q = "stablehlo.convert"(%y) : (tensor<4x2xf32>) -> tensor<4x2xi32>\n%p = "stablehlo.slice"(%q) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 1, 1>, strides = array<i64: 1, 1>}> : (tensor<4x2xi32>) -> tensor<1x1xi32>\n%k = "stablehlo.reshape"(%p) : (tensor<1x1xi32>) -> tensor<i32>\n'
    part = '%v = "stablehlo.dynamic_slice"(%y, %k, %k) <{slice_sizes = array<i64: 1, 2>}> : (tensor<4x2xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32> loc("loss/layer/op"("model.py":7:0))\n%u = "stablehlo.broadcast_in_dim"(%v) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<1x2xf32>) -> tensor<4x2xf32>'
    refuse_op(GOOD.replace("%y", "%u"), "its place depends on data", before=data + part)
    update = f'"stablehlo.dynamic_update_slice"(%y, %y, %one, %one) : (tensor<4x2xf32>, tensor<4x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x2xf32>'
    done, _ = try_text(text_of(update))
    expect_equal((done.returncode, done.stderr), (0, ""), "an update as long as its operand")


@test
def markers():
    marker = lambda name, config="{}": f'"stablehlo.custom_call"(%y) <{{call_target_name = "sluice.{name}"}}> {{mhlo.backend_config = {config}}} : {OF_ONE}'
    for name in ("relu", "stop_gradient"):
        done, model = try_text(text_of(marker(name)))
        expect(done.returncode == 0 and f"model.{name}" in model.read_text(), f"{name}: {done.stderr}")
    refuse_op(marker("cumsum"), "its 'mhlo.backend_config' has no 'axis'")
    refuse_op(marker("cumsum", "{axis = 2 : i64}"), "[2] are no dims of a tensor of rank 2")
    refuse_op(marker("unknown"), "'@sluice.unknown': it is not supported")


@test
def values_without_definition():
    """A region of an unregistered op may read a value before it is defined."""
    body = '({\n^bb0(%v: tensor<4x2xf32>):\n%c = "stablehlo.convert"(%d) : (tensor<i1>) -> tensor<i1>\n%d = "stablehlo.convert"(%c) : (tensor<i1>) -> tensor<i1>\n"stablehlo.return"(%c) : (tensor<i1>) -> ()\n}, {\n^bb0(%v: tensor<4x2xf32>):\n"stablehlo.return"(%v) : (tensor<4x2xf32>) -> ()\n})'
    refuse(text_of(f'"stablehlo.while"(%y) {body} : {OF_ONE}'), "'stablehlo.convert' reads a value that no op before has")


@test
def damaged_texts():
    """Texts with changed or missing parts are imported or refused, without a crash."""
    generator = random.Random(7)
    texts = [(REFERENCE / "stablehlo" / name / "model.mlir").read_text() for name in ("mlp", "recurrent", "convolution")]
    tokens = ["0", "-1", "4", "1", "99999999999", "[", "]", "tensor<4xf32>", "tensor<f32>", "tensor<i1>", '"stablehlo.add"', '"stablehlo.gather"', "array<i64: 9>", "%0", "%arg0", ""]
    for _ in range(150):
        text = generator.choice(texts)
        for _ in range(generator.randint(1, 4)):
            found = [match.span() for match in re.finditer(r"-?\d+|tensor<[^>]*>|\"stablehlo\.\w+\"|%\w+|\[[^\]]*\]", text)]
            start, end = generator.choice(found)
            text = text[:start] + generator.choice([*tokens, text[slice(*generator.choice(found))]]) + text[end:]
        done, _ = try_text(text)
        expect(done.returncode in (0, 1), f"exit code {done.returncode} and {done.stderr[-500:]} for\n{text}")


main()
