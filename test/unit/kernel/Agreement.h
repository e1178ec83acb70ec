//===- Agreement.h - the fast kernels against their references ----------------===//
//
// Every kernel that has a fast form, over odd sizes, layouts, types and thread counts. Inputs are rounded to the type
// first, so that both compute from the same numbers; the reference computes in f64 and rounds once.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_KERNEL_AGREEMENT_H
#define SLUICE_TEST_UNIT_KERNEL_AGREEMENT_H

#include "Harness.h"

namespace sluice::test {

/// Relative and absolute tolerance of a type for sums of `depth` terms.
struct Tolerance {
  double relative, absolute;
  Tolerance(DType dtype, double size, double depth = 1) {
    double unit = dtype == DType::bf16  ? 0x1p-8
                  : dtype == DType::f16 ? 0x1p-11
                  : dtype == DType::f32 ? 0x1p-23
                                        : 0x1p-50;
    // The result is rounded once to the type; intermediate values are f32.
    double inside = dtype == DType::f64 ? 0x1p-50 : 0x1p-23;
    relative = unit * 2;
    absolute = inside * size * (2 + std::sqrt(depth));
  }
};

inline constexpr DType floats[] = {DType::f32, DType::bf16, DType::f16, DType::f64};

/// Runs both flavours and compares every output. `sizes` gives the size of the terms of an output if they cancel, so
/// that the result does not show it.
inline void compare(Run run, const std::vector<Tensor> &inputs, const std::vector<Tensor> &outputs, double depth,
                    const std::string &what, const std::vector<double> &sizes = {}) {
  std::vector<Tensor> want = outputsOf(run, KernelFlavour::reference, 1, inputs, outputs),
                      got = outputsOf(run, KernelFlavour::fast, 1, inputs, outputs);
  for (std::size_t i = 0; i < want.size(); ++i) {
    auto values = want[i].values();
    // Values computed from f32 have the precision of f32, whatever type they are stored in.
    DType stored = outputs[i].operand.dtype;
    bool lesser = stored == DType::f64 && !inputs.empty() && inputs[0].operand.dtype != DType::f64;
    double size = std::max(magnitude(values), i < sizes.size() ? sizes[i] : 0);
    Tolerance tolerance(lesser ? DType::f32 : stored, size == 0 ? 1 : size, depth);
    expectNear(got[i], values, tolerance.relative, tolerance.absolute,
               run.kernel + " " + what + " output " + std::to_string(i));
  }
  // The same bits on a different number of threads.
  std::vector<Tensor> parallel = outputsOf(run, KernelFlavour::fast, 2, inputs, outputs);
  for (std::size_t i = 0; i < want.size(); ++i)
    if (run.kernel != "matmul") {
      EXPECT_EQ(parallel[i].memory, got[i].memory) << run.kernel << " " << what << " differs on two threads";
    }
}

inline std::vector<Tensor *> pointers(std::vector<Tensor> &tensors) {
  std::vector<Tensor *> all;
  for (Tensor &tensor : tensors)
    all.push_back(&tensor);
  return all;
}

inline std::string label(DType dtype, const Shape &shape, Layout layout) {
  std::string text(dtypeName(dtype));
  for (std::int64_t extent : shape)
    text.append(" ").append(std::to_string(extent));
  return text + (layout == Layout::padded ? " padded" : layout == Layout::permuted ? " permuted" : "");
}

template <typename Body> void forCases(const std::vector<Shape> &shapes, Body body) {
  for (DType dtype : floats)
    for (Layout layout : {Layout::dense, Layout::padded, Layout::permuted})
      for (const Shape &shape : shapes)
        body(dtype, shape, layout, label(dtype, shape, layout));
}

inline const std::vector<Shape> rowShapes = {{1},     {7},         {3, 5, 17}, {2, 8}, {5, 1},
                                             {4, 65}, {2, 3, 129}, {1, 2500},  {0, 4}};

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_KERNEL_AGREEMENT_H
