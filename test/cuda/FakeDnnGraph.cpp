//===- FakeDnnGraph.cpp - computes a graph of cuDNN operations ------------------------------===//
//
// By cuDNN's documentation of each operation: images are N, C, H, W with any strides; a convolution is a cross
// correlation, with groups by the numbers of channels; products broadcast the dims before the last two, and consecutive
// heads read one head of a dim with fewer heads; a window without a number has no maximum.
//
//===----------------------------------------------------------------------===//
#include "test/cuda/FakeDnnGraph.h"
#include "runtime/kernel/cpu/Numbers.h"
#include "test/cuda/FakeDnnOperations.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace sluice::test {
namespace {

using namespace cuda;
bool isOperation(int kind) {
  return kind == dnn::convolutionForward || kind == dnn::convolutionInputGrad || kind == dnn::convolutionWeightGrad ||
         kind == dnn::pointwiseOperation || kind == dnn::reductionOperation || kind == dnn::matmulOperation ||
         kind == dnn::resampleForward || kind == dnn::resampleGrad || kind == dnn::reshapeOperation;
}
/// The attribute with the parameters of an operation; a reshape has none, only its operand.
int modeOf(int kind) {
  switch (kind) {
  case dnn::convolutionForward:
    return dnn::forwardAlpha + 2;
  case dnn::convolutionInputGrad:
    return dnn::inputGradAlpha + 2;
  case dnn::convolutionWeightGrad:
    return dnn::weightGradAlpha + 2;
  case dnn::pointwiseOperation:
    return dnn::pointwiseDescriptor;
  case dnn::reductionOperation:
    return dnn::reductionDescriptor;
  case dnn::matmulOperation:
    return dnn::matmulDescriptor;
  case dnn::resampleForward:
    return dnn::resampleForwardDescriptor;
  case dnn::reshapeOperation:
    return dnn::reshapeX;
  default:
    return dnn::resampleGradDescriptor;
  }
}
/// The result of an operation.
int resultOf(int kind) {
  switch (kind) {
  case dnn::convolutionForward:
    return dnn::forwardAlpha + 5;
  case dnn::convolutionInputGrad:
    return dnn::inputGradAlpha + 4;
  case dnn::convolutionWeightGrad:
    return dnn::weightGradAlpha + 3;
  case dnn::pointwiseOperation:
    return dnn::pointwiseY;
  case dnn::reductionOperation:
    return dnn::reductionY;
  case dnn::matmulOperation:
    return dnn::matmulC;
  case dnn::resampleForward:
    return dnn::resampleForwardY;
  case dnn::reshapeOperation:
    return dnn::reshapeY;
  default:
    return dnn::resampleGradX;
  }
}

DType dnnDType(int type) {
  return type == dnn::f64 ? DType::f64 : type == dnn::f16 ? DType::f16 : type == dnn::bf16 ? DType::bf16 : DType::f32;
}

double rounded(double value, int type) {
  if (type == dnn::i32 || type == dnn::boolean)
    return std::trunc(value);
  double memory = 0;
  cpu::storeNumber(&memory, dnnDType(type), 0, value);
  return cpu::loadNumber(&memory, dnnDType(type), 0);
}

} // namespace

std::string checkFakeGraph(const FakeDescriptor &graph) {
  std::set<std::int64_t> written;
  for (const void *pointer : graph.all<void *>(dnn::graphOperations)) {
    const auto &operation = *static_cast<const FakeDescriptor *>(pointer);
    if (!isOperation(operation.kind) || !operation.has(modeOf(operation.kind)) ||
        !operation.has(resultOf(operation.kind)))
      return "an operation lacks an attribute";
    const FakeDescriptor &result = *operation.descriptor(resultOf(operation.kind)),
                         &mode = *operation.descriptor(modeOf(operation.kind));
    if (!written.insert(result.one<std::int64_t>(dnn::tensorNumber)).second)
      return "a tensor is written twice";
    for (const auto &[attribute, value] : operation.values)
      if (value.type == dnn::descriptorValue && operation.descriptor(attribute)->kind == dnn::tensor &&
          operation.descriptor(attribute)->isSet(dnn::tensorIsVirtual) &&
          !written.contains(operation.descriptor(attribute)->one<std::int64_t>(dnn::tensorNumber)))
        return "what an operation reads is not written before";
    if (operation.kind == dnn::convolutionForward || operation.kind == dnn::convolutionInputGrad ||
        operation.kind == dnn::convolutionWeightGrad) {
      const int first = operation.kind == dnn::convolutionForward     ? 700
                        : operation.kind == dnn::convolutionInputGrad ? 706
                                                                      : 712;
      for (int offset = 0; offset < 6; ++offset)
        if (!operation.has(first + offset))
          return "a convolution lacks an attribute";
      const Longs weight = extentOf(operation, first + 3), x = extentOf(operation, first + 4),
                  y = extentOf(operation, first + 5);
      if (mode.one<std::int64_t>(dnn::convolutionDims) != 2 || x[1] % weight[1] != 0 ||
          weight[0] % (x[1] / weight[1]) != 0 || weight[0] != y[1] || !fitsWindow(windowOf(mode, weight), x, y))
        return "extents of a convolution";
    }
    if (operation.kind == dnn::resampleForward || operation.kind == dnn::resampleGrad) {
      const bool forward = operation.kind == dnn::resampleForward;
      const Longs x = extentOf(operation, forward ? dnn::resampleForwardX : dnn::resampleGradX);
      const Longs y = extentOf(operation, forward ? dnn::resampleForwardY : dnn::resampleGradY);
      if (mode.one<std::int64_t>(dnn::resampleDims) != 2 || x[1] != y[1] || !fitsWindow(windowOf(mode, {}), x, y))
        return "extents of a pooling";
    }
    if (operation.kind == dnn::matmulOperation) {
      const Longs a = extentOf(operation, dnn::matmulA), b = extentOf(operation, dnn::matmulB),
                  c = extentOf(operation, dnn::matmulC);
      const std::size_t last = a.size() - 1;
      if (a[last] != b[last - 1] || c[last - 1] != a[last - 1] || c[last] != b[last])
        return "extents of a product";
    }
  }
  return written.empty() ? "a graph has no operations" : "";
}

std::int64_t FakeTensor::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t e : extent)
    count *= e;
  return count;
}

std::string FakeGraphRun::bind(const FakeDescriptor &graph, const std::vector<std::int64_t> &numbers,
                               const std::vector<void *> &pointers) {
  for (const void *pointer : graph.all<void *>(dnn::graphOperations)) {
    const auto &from = *static_cast<const FakeDescriptor *>(pointer);
    Operation operation{from, *from.descriptor(modeOf(from.kind)), {}};
    for (const auto &[attribute, value] : from.values) {
      if (value.type != dnn::descriptorValue || from.descriptor(attribute)->kind != dnn::tensor)
        continue;
      const FakeDescriptor &d = *from.descriptor(attribute);
      FakeTensor tensor{d.one<std::int64_t>(dnn::tensorNumber),
                        d.one<int>(dnn::tensorType),
                        d.all<std::int64_t>(dnn::tensorExtent),
                        d.all<std::int64_t>(dnn::tensorStrides),
                        d.isSet(dnn::tensorIsVirtual),
                        d.isSet(dnn::tensorIsByValue),
                        nullptr};
      if (!tensor.isVirtual) {
        const auto found = std::ranges::find(numbers, tensor.number);
        if (found == numbers.end())
          return "a pack lacks a tensor";
        tensor.data = pointers[static_cast<std::size_t>(found - numbers.begin())];
        if (!tensor.data)
          return "a pack has no address for a tensor";
        if (!tensor.isByValue &&
            reinterpret_cast<std::uintptr_t>(tensor.data) % d.one<std::uint64_t>(dnn::tensorAlignment) != 0)
          return "an address is not aligned as its tensor says";
        if (tensor.isByValue) {
          std::int32_t integer = 0;
          std::memcpy(&integer, tensor.data, sizeof integer);
          constants[tensor.number] = {tensor.type == dnn::i32 ? integer
                                                              : cpu::loadNumber(tensor.data, dnnDType(tensor.type), 0)};
        }
      }
      operation.tensors[attribute] = tensor.number;
      tensors[tensor.number] = std::move(tensor);
    }
    operations.push_back(std::move(operation));
  }
  return "";
}

std::vector<const void *> FakeGraphRun::addresses() const {
  std::vector<const void *> found;
  for (const auto &[number, tensor] : tensors)
    if (!tensor.isVirtual && !tensor.isByValue)
      found.push_back(tensor.data);
  return found;
}
std::vector<std::uint64_t> FakeGraphRun::extents() const {
  std::vector<std::uint64_t> found;
  for (const auto &[number, tensor] : tensors)
    for (std::size_t d = 0; d < tensor.extent.size(); ++d) {
      found.push_back(static_cast<std::uint64_t>(tensor.extent[d]));
      found.push_back(static_cast<std::uint64_t>(tensor.strides[d]));
    }
  return found;
}

void FakeGraphRun::compute() const {
  std::map<std::int64_t, std::vector<double>> values = constants;
  const auto offsetOf = [](const FakeTensor &tensor, const Longs &at) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < at.size(); ++d)
      offset += at[d] * tensor.strides[d];
    return offset;
  };
  const auto read = [&](const Operation &operation, int attribute) -> const std::vector<double> & {
    const FakeTensor &tensor = tensors.at(operation.tensors.at(attribute));
    const auto [place, isNew] = values.try_emplace(tensor.number);
    if (isNew) {
      place->second.resize(static_cast<std::size_t>(tensor.elements()));
      forElements(tensor.extent, [&](std::int64_t i, const Longs &at) {
        place->second[static_cast<std::size_t>(i)] =
            cpu::loadNumber(tensor.data, dnnDType(tensor.type), offsetOf(tensor, at));
      });
    }
    return place->second;
  };
  for (const Operation &operation : operations) {
    const int kind = operation.own.kind;
    const auto extent = [&](int attribute) -> const Longs & {
      return tensors.at(operation.tensors.at(attribute)).extent;
    };
    const auto has = [&](int attribute) { return operation.tensors.contains(attribute); };
    const FakeTensor &result = tensors.at(operation.tensors.at(resultOf(kind)));
    std::vector<double> out(static_cast<std::size_t>(result.elements()), 0.0);
    const auto in = [](std::int64_t i) { return static_cast<std::size_t>(i); };
    if (kind == dnn::convolutionForward || kind == dnn::convolutionInputGrad || kind == dnn::convolutionWeightGrad) {
      const int first = kind == dnn::convolutionForward ? 700 : kind == dnn::convolutionInputGrad ? 706 : 712;
      const Longs &weight = extent(first + 3), &x = extent(first + 4), &y = extent(first + 5);
      const std::vector<double> none;
      const auto &w = kind == dnn::convolutionWeightGrad ? none : read(operation, first + 3);
      const auto &image = kind == dnn::convolutionInputGrad ? none : read(operation, first + 4);
      const auto &dy = kind == dnn::convolutionForward ? none : read(operation, first + 5);
      const Window window = windowOf(operation.mode, weight);
      const std::int64_t outputsOfGroup = weight[0] / (x[1] / weight[1]);
      forElements(y, [&](std::int64_t i, const Longs &at) {
        forWindow(window, x, at[2], at[3], [&](std::int64_t place, std::int64_t h, std::int64_t v) {
          for (std::int64_t c = 0; c < weight[1]; ++c) {
            const std::int64_t channel = at[1] / outputsOfGroup * weight[1] + c;
            const std::int64_t xAt = (at[0] * x[1] + channel) * x[2] * x[3] + place,
                               wAt = ((at[1] * weight[1] + c) * weight[2] + h) * weight[3] + v;
            if (kind == dnn::convolutionForward)
              out[in(i)] += image[in(xAt)] * w[in(wAt)];
            else if (kind == dnn::convolutionInputGrad)
              out[in(xAt)] += dy[in(i)] * w[in(wAt)];
            else
              out[in(wAt)] += dy[in(i)] * image[in(xAt)];
          }
        });
      });
    } else if (kind == dnn::pointwiseOperation) {
      const int mode = operation.mode.one<int>(dnn::pointwiseMode);
      const std::vector<double> none;
      const auto axis = static_cast<std::size_t>(operation.mode.one<std::int64_t>(dnn::pointwiseAxis));
      const auto &x = mode == dnn::index ? none : read(operation, dnn::pointwiseX);
      const auto &b = has(dnn::pointwiseB) ? read(operation, dnn::pointwiseB) : none;
      const auto &t = has(dnn::pointwiseT) ? read(operation, dnn::pointwiseT) : none;
      forElements(result.extent, [&](std::int64_t i, const Longs &at) {
        const auto value = [&](const std::vector<double> &of, int attribute) {
          return of.empty() ? 0 : of[in(positionOf(extent(attribute), result.extent, at))];
        };
        out[in(i)] = mode == dnn::index
                         ? static_cast<double>(at[axis])
                         : apply(mode, value(x, dnn::pointwiseX), has(dnn::pointwiseB) ? value(b, dnn::pointwiseB) : 0,
                                 has(dnn::pointwiseT) ? value(t, dnn::pointwiseT) : 0, has(dnn::pointwiseT));
      });
    } else if (kind == dnn::reductionOperation) {
      const bool isMaximum = operation.mode.one<int>(dnn::reductionMode) == dnn::reduceMax;
      if (isMaximum)
        std::ranges::fill(out, -std::numeric_limits<double>::infinity());
      const auto &x = read(operation, dnn::reductionX);
      forElements(extent(dnn::reductionX), [&](std::int64_t i, const Longs &at) {
        double &sum = out[in(positionOf(result.extent, extent(dnn::reductionX), at))];
        sum = isMaximum ? std::max(sum, x[in(i)]) : sum + x[in(i)];
      });
    } else if (kind == dnn::matmulOperation) {
      const Longs &a = extent(dnn::matmulA), &b = extent(dnn::matmulB);
      const auto &left = read(operation, dnn::matmulA), &right = read(operation, dnn::matmulB);
      const std::size_t last = a.size() - 1;
      forElements(result.extent, [&](std::int64_t i, const Longs &at) {
        Longs leftFrame = result.extent, rightFrame = result.extent, leftAt = at, rightAt = at;
        leftFrame[last] = a[last], rightFrame[last - 1] = b[last - 1];
        for (std::int64_t k = 0; k < a[last]; ++k) {
          leftAt[last] = rightAt[last - 1] = k;
          out[in(i)] += left[in(positionOf(a, leftFrame, leftAt))] * right[in(positionOf(b, rightFrame, rightAt))];
        }
      });
    } else if (kind == dnn::reshapeOperation) {
      // Elements at the same distance from the first one are equal.
      const FakeTensor &from = tensors.at(operation.tensors.at(dnn::reshapeX));
      const auto &x = read(operation, dnn::reshapeX);
      std::map<std::int64_t, double> byOffset;
      forElements(from.extent, [&](std::int64_t i, const Longs &at) { byOffset[offsetOf(from, at)] = x[in(i)]; });
      forElements(result.extent,
                  [&](std::int64_t i, const Longs &at) { out[in(i)] = byOffset.at(offsetOf(result, at)); });
    } else {
      const bool forward = kind == dnn::resampleForward;
      const Longs &x = extent(forward ? dnn::resampleForwardX : dnn::resampleGradX),
                  &y = extent(forward ? dnn::resampleForwardY : dnn::resampleGradY);
      const auto &from = read(operation, forward ? dnn::resampleForwardX : dnn::resampleGradY);
      const int mode = operation.mode.one<int>(dnn::resampleMode);
      const Window window = windowOf(operation.mode, {});
      forElements(y, [&](std::int64_t i, const Longs &at) {
        const std::int64_t plane = (at[0] * x[1] + at[1]) * x[2] * x[3];
        std::int64_t inside = 0;
        forWindow(window, x, at[2], at[3], [&](std::int64_t, std::int64_t, std::int64_t) { ++inside; });
        const double divisor =
            static_cast<double>(mode == dnn::meanWithoutPadding ? inside : window.size[0] * window.size[1]);
        double best = -std::numeric_limits<double>::infinity();
        forWindow(window, x, at[2], at[3], [&](std::int64_t place, std::int64_t, std::int64_t) {
          if (!forward) {
            out[in(plane + place)] += from[in(i)] / divisor;
            return;
          }
          const double value = from[in(plane + place)];
          if (mode == dnn::maximum)
            best = std::isnan(best) || std::isnan(value) ? std::nan("") : std::max(best, value);
          else
            out[in(i)] += value / divisor;
        });
        if (forward && mode == dnn::maximum)
          out[in(i)] = best;
      });
    }
    for (double &value : out)
      value = rounded(value, result.type);
    if (!result.isVirtual)
      forElements(result.extent, [&](std::int64_t i, const Longs &at) {
        cpu::storeNumber(result.data, dnnDType(result.type), offsetOf(result, at), out[in(i)]);
      });
    values[result.number] = std::move(out);
  }
}

} // namespace sluice::test
