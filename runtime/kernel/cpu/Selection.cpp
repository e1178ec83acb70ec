//===- Selection.cpp - compare and select, by rows of the last dim ------------===//
//
// Plain loops that the compiler vectorises for every machine's instruction set: an operand's step along the row is 0 or
// 1 and known to each of them.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/catalogue/Choices.h"
#include "runtime/kernel/cpu/CpuKernels.h"
#include "runtime/kernel/cpu/Parallel.h"

#include <functional>

namespace sluice::cpu {
namespace {

/// Strides along a row of the window over the frame.
std::int64_t stepOf(const Operand &seen) {
  return seen.rank == 0 || seen.extent[seen.rank - 1] <= 1 ? 1 : seen.strides[seen.rank - 1];
}

template <typename T, typename Holds>
void compareRow(const T *a, std::int64_t aStep, const T *b, std::int64_t bStep, std::uint8_t *c, std::int64_t count,
                Holds holds) {
  // Narrow floats are compared as floats.
  using Value = std::conditional_t<std::is_arithmetic_v<T>, T, float>;
  auto value = [](T x) { return static_cast<Value>(x); };
  if (aStep && bStep)
    for (std::int64_t i = 0; i < count; ++i)
      c[i] = holds(value(a[i]), value(b[i]));
  else
    for (std::int64_t i = 0; i < count; ++i)
      c[i] = holds(value(a[i * aStep]), value(b[i * bStep]));
}

template <typename T>
void compareRow(kernel::ComparePredicate predicate, const T *a, std::int64_t aStep, const T *b, std::int64_t bStep,
                std::uint8_t *c, std::int64_t count) {
  switch (predicate) {
  case kernel::ComparePredicate::eq:
    return compareRow(a, aStep, b, bStep, c, count, std::equal_to<>());
  case kernel::ComparePredicate::ne:
    return compareRow(a, aStep, b, bStep, c, count, std::not_equal_to<>());
  case kernel::ComparePredicate::lt:
    return compareRow(a, aStep, b, bStep, c, count, std::less<>());
  case kernel::ComparePredicate::le:
    return compareRow(a, aStep, b, bStep, c, count, std::less_equal<>());
  case kernel::ComparePredicate::gt:
    return compareRow(b, bStep, a, aStep, c, count, std::less<>());
  case kernel::ComparePredicate::ge:
    return compareRow(b, bStep, a, aStep, c, count, std::less_equal<>());
  }
}

template <typename T> Bound compareOf(const KernelRequest &request) {
  const auto predicate = request.attributes->choice<kernel::ComparePredicate>("predicate");
  return makeKernel(request, [predicate](Call &call) {
    const Operand &c = call.outputs[0];
    Operand a = spread(call.inputs[0], c), b = spread(call.inputs[1], c);
    Rows rowsA(a), rowsB(b), rows(c);
    forEach(call.threads, rows.rows, [&](std::int64_t row) {
      compareRow(predicate, rowsA.at<T>(row), stepOf(a), rowsB.at<T>(row), stepOf(b), rows.at<std::uint8_t>(row),
                 rows.columns);
    });
    return Status::ok();
  });
}

/// By words of the type's size.
template <typename Word> Bound selectOf(const KernelRequest &request) {
  return makeKernel(request, [](Call &call) {
    const Operand &c = call.outputs[0];
    Operand condition = spread(call.inputs[0], c), a = spread(call.inputs[1], c), b = spread(call.inputs[2], c);
    Rows rowsCondition(condition), rowsA(a), rowsB(b), rows(c);
    std::int64_t stepCondition = stepOf(condition), stepA = stepOf(a), stepB = stepOf(b);
    forEach(call.threads, rows.rows, [&](std::int64_t row) {
      const std::uint8_t *chosen = rowsCondition.at<std::uint8_t>(row);
      const Word *yes = rowsA.at<Word>(row), *no = rowsB.at<Word>(row);
      Word *to = rows.at<Word>(row);
      if (stepCondition && stepA && stepB)
        for (std::int64_t i = 0; i < rows.columns; ++i) {
          Word first = yes[i], second = no[i];
          to[i] = chosen[i] ? first : second;
        }
      else
        for (std::int64_t i = 0; i < rows.columns; ++i) {
          Word first = yes[i * stepA], second = no[i * stepB];
          to[i] = chosen[i * stepCondition] ? first : second;
        }
    });
    return Status::ok();
  });
}

} // namespace

Bound fast::compare(const KernelRequest &request) {
  const Operand &c = request.outputs[0];
  if (!contiguousRows(c) || !stepsBy01(request.inputs[0], c) || !stepsBy01(request.inputs[1], c))
    return useReference();
  return withType(request.inputs[0].dtype, [&]<typename T>() { return compareOf<T>(request); });
}

Bound fast::select(const KernelRequest &request) {
  const Operand &c = request.outputs[0];
  if (!contiguousRows(c))
    return useReference();
  for (const Operand &input : request.inputs)
    if (!stepsBy01(input, c))
      return useReference();
  return withWord(c.dtype, [&]<typename Word>() { return selectOf<Word>(request); });
}

} // namespace sluice::cpu
