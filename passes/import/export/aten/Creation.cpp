//===- Creation.cpp - new tensors of ATen ----------------------------------------------------===//
//
// A tensor like another one depends on the other's sizes alone, so it is a constant.
//
//===----------------------------------------------------------------------===//

#include "passes/import/export/Call.h"

using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::creation {

void filled(Call &call, double value) { call.set(makeSplat(value, call.result().sizes, call.result().type)); }
void zeros(Call &call) { filled(call, 0); }
void ones(Call &call) { filled(call, 1); }
void full(Call &call) { filled(call, call.number("fill_value")); }

constexpr AtenOp table[] = {
    {"empty_like.default", zeros}, {"full_like.default", full}, {"new_empty.default", zeros},
    {"new_full.default", full},    {"new_ones.default", ones},  {"new_zeros.default", zeros},
    {"ones_like.default", ones},   {"zero.default", zeros},     {"zeros_like.default", zeros},
};

} // namespace sluice::exported::creation

llvm::ArrayRef<AtenOp> exported::creationOps() { return creation::table; }
