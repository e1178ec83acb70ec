// RUN: sluice-opt %s -spmd-localize=axis=tensor -verify-diagnostics

// Tests that an op whose kernel reads a position is refused where it is sharded along two axes: a view has one position.

#rows = #spmd.sharding<[{}, {"tensor", chunk = 2, total = 4}]>
module attributes {model.recipe = {mesh.tensor = 2 : i64, sharding.tensor = {"w" = "column"}}, spmd.local_axes = ["expert"]} {
  model.parameter @w : tensor<2x4xf32> zeros {spmd.sharding = #rows}
  func.func @two_axes(%x: tensor<2x4xf32>, %seed: tensor<i64>) attributes {model.entry = #model.entry<forward>} {
    %w = model.read @w {spmd.shardings = [#rows]} : tensor<2x4xf32>
    // expected-error @below {{recipe: 'sharding.tensor' shards 'model.dropout' along 'tensor', but its kernel reads a position along another axis}}
    // expected-note @below {{its sharding rule is}}
    %0 = model.dropout %w, %seed, %seed, %seed {key = 1 : i64, rate = 0.5 : f64, spmd.shardings = [#rows], spmd.local_shardings = [#spmd.sharding<[{"expert", chunk = 2, total = 4}, {}]>, #spmd.sharding<[]>, #spmd.sharding<[]>, #spmd.sharding<[]>, #spmd.sharding<[{"expert", chunk = 2, total = 4}, {}]>]} : (tensor<2x4xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<2x4xf32>
    return
  }
}
