//===- Attention.cpp - attention row by row -----------------------------------===//
//
//   p[t, s] = exp(scale q[t].k[s] + bias[t, s] - lse[t]),   out[t] = sum_s p d v[s]
//   ds[t, s] = p (d dout[t].v[s] - dout[t].out[t]),   dbias[t, s] = ds[t, s]
//   dq[t] = scale sum_s ds k[s],   dk[s] = scale sum_t ds q[t],   dv[s] = sum_t p d dout[t]
//
// with d[t, s] the factor of dropout, 1 without dropout.
//
//===----------------------------------------------------------------------===//
#include "runtime/kernel/cpu/AttentionShape.h"
#include "runtime/kernel/cpu/CpuKernels.h"

#include <cmath>
#include <limits>

namespace sluice::cpu::reference {
namespace {

/// The row [batch, token, head, :] of an operand.
struct Row {
  const Operand &operand;
  std::int64_t offset, stride;
  Row(const Operand &o, std::int64_t b, std::int64_t t, std::int64_t h)
      : operand(o), offset(b * o.strides[0] + t * o.strides[1] + h * o.strides[2]), stride(o.strides[3]) {}
  double operator[](std::int64_t d) const { return load(operand, offset + d * stride); }
  void set(std::int64_t d, double value) const { store(operand, offset + d * stride, value); }
};

double dot(const Row &a, const Row &b, std::int64_t size) {
  double sum = 0;
  for (std::int64_t d = 0; d < size; ++d)
    sum += a[d] * b[d];
  return sum;
}

std::int64_t statisticAt(const Operand &o, std::int64_t b, std::int64_t h, std::int64_t t) {
  return b * o.strides[0] + h * o.strides[1] + t * o.strides[2];
}

/// The score of a query and a key; -infinity if the mask hides the key, or it is of another document.
double scoreOf(const AttentionShape &s, Call &call, const Row &q, const Row &k, std::int64_t b, std::int64_t h,
               std::int64_t t, std::int64_t j) {
  if (s.documents != 0 && s.documentOf(call, b, t) != s.documentOf(call, b, j))
    return -std::numeric_limits<double>::infinity();
  if (s.mask != 0)
    if (const Operand &mask = call.inputs[s.mask]; load(mask, scoreRowAt(mask, b, h, t) + j * mask.strides[3]) == 0)
      return -std::numeric_limits<double>::infinity();
  double score = s.scale * dot(q, k, s.size);
  if (s.bias != 0) {
    const Operand &bias = call.inputs[s.bias];
    score += load(bias, scoreRowAt(bias, b, h, t) + j * bias.strides[3]);
  }
  return score;
}

/// The factor of a probability.
double droppedTo(const AttentionShape &s, const Call &call, const Operand &statistics, std::int64_t b, std::int64_t h,
                 std::int64_t t, std::int64_t j) {
  return s.dropout ? ProbabilityDropout(s, call, statistics).at(b, h, t, j) : 1;
}

/// The number that is subtracted from the scores of a row before exp; 0 for a row without keys.
double shiftOf(double largest) { return largest == -std::numeric_limits<double>::infinity() ? 0 : largest; }

void forwardRow(const AttentionShape &s, Call &call, std::int64_t b, std::int64_t h, std::int64_t t) {
  const Operand &k = call.inputs[1], &v = call.inputs[2];
  Row q(call.inputs[0], b, t, h), out(call.outputs[0], b, t, h);
  std::int64_t g = h / s.headsPerKey(), first = s.firstKey(t), visible = s.visible(t);
  double largest = -std::numeric_limits<double>::infinity(), sum = 0, row[maxHeadSize] = {};
  for (std::int64_t j = first; j < visible; ++j)
    largest = std::fmax(largest, scoreOf(s, call, q, Row(k, b, j, g), b, h, t, j));
  for (std::int64_t j = first; j < visible; ++j) {
    double p = std::exp(scoreOf(s, call, q, Row(k, b, j, g), b, h, t, j) - shiftOf(largest));
    sum += p;
    p *= droppedTo(s, call, call.outputs[1], b, h, t, j);
    Row value(v, b, j, g);
    for (std::int64_t d = 0; d < s.size; ++d)
      row[d] += p * value[d];
  }
  for (std::int64_t d = 0; d < s.size; ++d)
    out.set(d, sum == 0 ? 0 : row[d] / sum);
  store(call.outputs[1], statisticAt(call.outputs[1], b, h, t), largest + std::log(sum));
}

/// p after dropout, and ds, of one query and key; 0 for a hidden key.
struct Pair {
  double p = 0, ds = 0;
  Pair(const AttentionShape &s, Call &call, std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t j) {
    std::int64_t g = h / s.headsPerKey();
    Row dout(call.inputs[0], b, t, h), q(call.inputs[1], b, t, h), out(call.inputs[4], b, t, h);
    double lse = load(call.inputs[5], statisticAt(call.inputs[5], b, h, t));
    const double score = scoreOf(s, call, q, Row(call.inputs[2], b, j, g), b, h, t, j);
    if (score == -std::numeric_limits<double>::infinity())
      return;
    p = std::exp(score - shiftOf(lse));
    const double factor = droppedTo(s, call, call.inputs[5], b, h, t, j);
    ds = p * (factor * dot(dout, Row(call.inputs[3], b, j, g), s.size) - dot(dout, out, s.size));
    p *= factor;
  }
};

/// Positions of a dim of the scores that are position `at` of a bias with `extent` positions.
std::pair<std::int64_t, std::int64_t> positionsOf(std::int64_t at, std::int64_t extent, std::int64_t all) {
  return extent == 1 ? std::pair(std::int64_t(0), all) : std::pair(at, at + 1);
}

void biasGradient(const AttentionShape &s, Call &call) {
  const Operand &dbias = call.outputs[3];
  for (std::int64_t x = 0; x < dbias.extent[0]; ++x)
    for (std::int64_t y = 0; y < dbias.extent[1]; ++y)
      for (std::int64_t z = 0; z < dbias.extent[2]; ++z)
        for (std::int64_t j = 0; j < s.keys; ++j) {
          double sum = 0;
          const auto [b0, b1] = positionsOf(x, dbias.extent[0], s.batch);
          const auto [h0, h1] = positionsOf(y, dbias.extent[1], s.heads);
          const auto [t0, t1] = positionsOf(z, dbias.extent[2], s.queries);
          for (std::int64_t b = b0; b < b1; ++b)
            for (std::int64_t h = h0; h < h1; ++h)
              for (std::int64_t t = std::max(t0, s.firstQuery(j)); t < std::min(t1, s.endQuery(j)); ++t)
                sum += Pair(s, call, b, h, t, j).ds;
          store(dbias, x * dbias.strides[0] + y * dbias.strides[1] + z * dbias.strides[2] + j * dbias.strides[3], sum);
        }
}

} // namespace

Bound attention(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(AttentionShape shape, AttentionShape::ofForward(request));
  return makeKernel(request, [s = shape](Call &call) {
    for (std::int64_t b = 0; b < s.batch; ++b)
      for (std::int64_t h = 0; h < s.heads; ++h)
        for (std::int64_t t = 0; t < s.queries; ++t)
          forwardRow(s, call, b, h, t);
    return Status::ok();
  });
}

Bound attention_grad(const KernelRequest &request) {
  SLUICE_ASSIGN_OR_RETURN(AttentionShape shape, AttentionShape::ofGradient(request));
  return makeKernel(request, [s = shape](Call &call) {
    const Operand &k = call.inputs[2];
    for (std::int64_t b = 0; b < s.batch; ++b) {
      for (std::int64_t h = 0; h < s.heads; ++h)
        for (std::int64_t t = 0; t < s.queries; ++t) {
          double row[maxHeadSize] = {};
          for (std::int64_t j = s.firstKey(t); j < s.visible(t); ++j) {
            Pair pair(s, call, b, h, t, j);
            Row key(k, b, j, h / s.headsPerKey());
            for (std::int64_t d = 0; d < s.size; ++d)
              row[d] += s.scale * pair.ds * key[d];
          }
          Row dq(call.outputs[0], b, t, h);
          for (std::int64_t d = 0; d < s.size; ++d)
            dq.set(d, row[d]);
        }
      for (std::int64_t g = 0; g < s.keyHeads; ++g)
        for (std::int64_t j = 0; j < s.keys; ++j) {
          double keyRow[maxHeadSize] = {}, valueRow[maxHeadSize] = {};
          for (std::int64_t h = g * s.headsPerKey(); h < (g + 1) * s.headsPerKey(); ++h)
            for (std::int64_t t = s.firstQuery(j); t < s.endQuery(j); ++t) {
              Pair pair(s, call, b, h, t, j);
              Row q(call.inputs[1], b, t, h), dout(call.inputs[0], b, t, h);
              for (std::int64_t d = 0; d < s.size; ++d) {
                keyRow[d] += s.scale * pair.ds * q[d];
                valueRow[d] += pair.p * dout[d];
              }
            }
          Row dk(call.outputs[1], b, j, g), dv(call.outputs[2], b, j, g);
          for (std::int64_t d = 0; d < s.size; ++d) {
            dk.set(d, keyRow[d]);
            dv.set(d, valueRow[d]);
          }
        }
    }
    if (s.hasBiasGrad)
      biasGradient(s, call);
    return Status::ok();
  });
}

} // namespace sluice::cpu::reference
