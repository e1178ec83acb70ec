// RUN: sluice-opt %s -split-input-file -verify-diagnostics
// Tests the verifiers' errors for invalid meshes, units, sections and accumulations. Labels are those of docs/spec/spmd.md.

// mesh_c1: fewer sizes than axes
// expected-error @below {{'spmd.mesh' op sizes, expected 2 but got 1}}
"spmd.mesh"() {name = "mesh", axes = ["replicate", "shard"], roles = [#spmd.role<replicate>, #spmd.role<shard>], sizes = array<i64: 2>} : () -> ()

// -----

// mesh_c1: fewer roles than axes
// expected-error @below {{'spmd.mesh' op roles, expected 2 but got 1}}
"spmd.mesh"() {name = "mesh", axes = ["replicate", "shard"], roles = [#spmd.role<replicate>], sizes = array<i64: 2, 2>} : () -> ()

// -----

// An axis whose name implies no role.
// expected-error @below {{the name 'rows' implies no role; write it in parentheses after the name}}
spmd.mesh @mesh <rows = 2>

// -----

// expected-error @below {{unknown role 'row'}}
spmd.mesh @mesh <rows(row) = 2>

// -----

// mesh_c2: no ranks along an axis
// expected-error @below {{'spmd.mesh' op attribute 'sizes' failed to satisfy constraint: i64 dense array attribute whose value is positive}}
spmd.mesh @mesh <replicate = 1, shard = 0>

// -----

// mesh_c2: more ranks than can be counted
// expected-error @below {{'spmd.mesh' op number of ranks exceeds 63 bits}}
spmd.mesh @mesh <replicate = 4611686018427387904, shard = 4>

// -----

// mesh_c3: an axis twice
// expected-error @below {{'spmd.mesh' op axis "shard" occurs twice}}
spmd.mesh @mesh <shard = 2, shard = 2>

// -----

// mesh_c4: a second mesh
spmd.mesh @mesh <shard = 2>
// expected-error @below {{'spmd.mesh' op is the second mesh of the module}}
spmd.mesh @other <shard = 2>

// -----

// unit_c1: a parameter that is not a symbol
// expected-error @below {{'spmd.unit' op attribute 'parameters' failed to satisfy constraint: flat symbol ref array attribute}}
spmd.unit @h.0 ["w"]

// -----

// unit_c1: a parameter twice
// expected-error @below {{'spmd.unit' op parameter @w occurs twice}}
spmd.unit @h.0 [@w, @w]

// -----

// section_c1: no repetition
func.func @f() {
  // expected-error @below {{'spmd.section' op attribute 'repeat' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  spmd.section "s" repeat 0 {
  }
  return
}

// -----

// section_c2: results with other types than the yielded values
func.func @f(%x: tensor<2xf32>) {
  // expected-error @below {{'spmd.section' op results, expected types ('tensor<2xf32>') but got ('tensor<3xf32>')}}
  %r = spmd.section "s" repeat 1 -> tensor<3xf32> {
    spmd.yield %x : tensor<2xf32>
  }
  return
}

// -----

// section_c3: all repetitions
func.func @f(%x: tensor<2xf32>) {
  spmd.section "s" repeat 2 {
    // expected-error @below {{'spmd.accumulate' op 'spmd.when', expected first, not_first, last, not_last or repetitions but got #spmd.when<all>}}
    %0 = spmd.accumulate %x {spmd.when = #spmd.when<all>} : tensor<2xf32> -> tensor<2xf32>
  }
  return
}

// -----

// section_c4: a section in a section
func.func @f() {
  spmd.section "s" repeat 1 {
    // expected-error @below {{'spmd.section' op is inside another section}}
    spmd.section "t" repeat 1 {
    }
  }
  return
}

// -----

// accumulate_c1: a narrower sum
func.func @f(%x: tensor<2xf32>) {
  spmd.section "s" repeat 2 {
    // expected-error @below {{'spmd.accumulate' op sum, expected element type 'f32' or f32 but got 'bf16'}}
    %0 = spmd.accumulate %x : tensor<2xf32> -> tensor<2xbf16>
  }
  return
}

// -----

// accumulate_c2: outside sections
func.func @f(%x: tensor<2xf32>) {
  // expected-error @below {{'spmd.accumulate' op expects parent op 'spmd.section'}}
  %0 = spmd.accumulate %x : tensor<2xf32> -> tensor<2xf32>
  return
}

// -----

// unit_c2
module {
  // expected-error @below {{'spmd.unit' op 'kept_axes' requires 'reshard_after_forward'}}
  spmd.unit @h.0 [@h.0.w] {kept_axes = ["shard.1"]}
}

// -----

// unit_c3
module {
  // expected-error @below {{'spmd.unit' op 'sync' cannot be combined with 'sync_in'}}
  spmd.unit @h.0 [@h.0.w] {sync = #spmd.sync<every>, sync_in = #spmd.when<[0, 2]>}
}

// -----

// unit_c5: the name `root` implies the role.
module {
  spmd.unit @root [@w]
  // expected-error @below {{'spmd.unit' op is the second root unit, expected at most one}}
  spmd.unit @other(root) [@v]
}

// -----

// unit_c4: a unit may have the name of the mesh and of a function, and not of another unit.
module {
  spmd.mesh @mesh <replicate = 1, shard = 2>
  spmd.unit @mesh [@w]
  func.func private @mesh()
  // expected-error @below {{'spmd.unit' op has the name of another unit: 'mesh'}}
  spmd.unit @mesh [@v]
}

// -----

// accumulate_c3
func.func @f(%x: tensor<4xf32>) {
  spmd.section "s" repeat 3 {
    // expected-error @below {{expected a repetition of at least 3 but got 1}}
    %0 = spmd.accumulate %x {starts = #spmd.when<[2, 1]>} : tensor<4xf32> -> tensor<4xf32>
  }
  return
}
