//===- Megatron.cpp - the usual plan of the Hugging Face families -------------------------===//
//
// By the names that their checkpoints use: what makes heads and hidden features is split by column, what takes them by
// row, the vocabulary over the rows of the embedding and the columns of the output; norms and positions are whole.
//
//===----------------------------------------------------------------------===//

#include "passes/sharding/tensor/ParameterPlan.h"

namespace sluice::tensor {

namespace {

constexpr std::pair<const char *, const char *> plan[] = {
    {"*.attn.c_attn.*", "column"},   {"*.attn.c_proj.*", "row"},   {"*.mlp.c_fc.*", "column"},
    {"*.mlp.c_proj.*", "row"},       {"*.q_proj.*", "column"},     {"*.k_proj.*", "column"},
    {"*.v_proj.*", "column"},        {"*.o_proj.*", "row"},        {"*.gate_proj.*", "column"},
    {"*.up_proj.*", "column"},       {"*.down_proj.*", "row"},     {"wte.weight", "row"},
    {"*embed_tokens.weight", "row"}, {"lm_head.weight", "column"},
};

} // namespace

llvm::StringRef megatronSplit(llvm::StringRef parameter) {
  for (auto [glob, split] : plan)
    if (matchesGlob(glob, parameter))
      return split;
  return {};
}

} // namespace sluice::tensor
