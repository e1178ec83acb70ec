//===- RuleCases.cpp - operands of each op that the proof's table has -----------------------===//
//
// See RuleCase.h. Shapes are those of docs/spec/model.md.
//
//===----------------------------------------------------------------------===//
#include "RuleCase.h"

namespace sluice::test {
namespace {

void addPointwise(std::vector<RuleCase> &cases) {
  for (const char *op : {"add", "subtract", "multiply", "maximum"})
    for (const char *shapes : {"abc,abc->abc", "ab,b->ab", "abc,a1c->abc", "ab,->ab", "b,ab->ab"})
      cases.push_back({std::string("model.") + op, shapes});
  for (const char *shapes : {"ab,ab->ab", "ab,a1->ab"})
    cases.push_back({"model.divide", shapes, "np"});
  for (const char *op : {"negate", "exp", "tanh", "erf", "sin", "cos", "relu", "sigmoid", "softplus", "silu", "cast"})
    cases.push_back({std::string("model.") + op, "abc->abc"});
  for (const char *op : {"log", "sqrt", "rsqrt"})
    cases.push_back({std::string("model.") + op, "abc->abc", "p"});
  cases.push_back({"model.power", "ab->ab", "p", "", 0, {number("exponent", 1.5)}});
  cases.push_back({"model.relu_grad", "ab,ab->ab"});
  cases.push_back({"model.silu_grad", "ab,ab->ab"});
  cases.push_back({"model.swiglu", "abc,abc->abc"});
  cases.push_back({"model.swiglu_grad", "ab,ab,ab->ab,ab"});
  for (int form : {0, 1}) {
    cases.push_back({"model.gelu", "ab->ab", "", "", 0, {integer("approximate", form)}});
    cases.push_back({"model.gelu_grad", "ab,ab->ab", "", "", 0, {integer("approximate", form)}});
  }
  cases.push_back({"model.compare", "ab,b->ab", "", "b", 0, {integer("predicate", 4)}});
  cases.push_back({"model.select", "ab,ab,b->ab", "b"});
  cases.push_back({"model.dropout", "abc,,,->abc", "nttt", "", 0, {number("rate", 0.3), integer("key", 11)}});
  // The last four operands: learning rate, step, clip coefficient, guard.
  cases.push_back({"model.sgd", "ab,ab,,,,->ab", "nnptp1", "", 0, {number("momentum", 0)}});
  cases.push_back(
      {"model.sgd", "ab,ab,ab,,,,->ab,ab", "nnnptp1", "", 0, {number("momentum", 0.9), number("weight_decay", 0.1)}});
  for (const char *op : {"model.adam", "model.adamw"})
    cases.push_back({op, "ab,ab,ab,ab,,,,->ab,ab,ab", "nnnpptp1", "", 0, {number("weight_decay", 0.1)}});
}

void addMovement(std::vector<RuleCase> &cases) {
  cases.push_back({"model.iota", ".->abc", "", "i", 0, {integer("dim", 1)}});
  for (const char *op : {"model.random_normal", "model.random_uniform"})
    cases.push_back({op, ",,->abc", "ttt", "", 0, {integer("key", 11)}});
  cases.push_back({"model.pad",
                   "6ab->9ab",
                   "",
                   "",
                   0,
                   {list("low", {1, 0, 0}), list("high", {2, 0, 0}), list("step", {1, 1, 1}), number("value", 0.5)}});
  cases.push_back({"model.concat", "a2b,a3b->a5b", "", "", 0, {integer("dim", 1)}});
  cases.push_back({"model.gather", "vc,ab->abc", "ni", "", 'v'});
  cases.push_back({"model.scatter_add", "abc,ab->vc", "ni", "", 'v'});
  cases.push_back({"model.embedding", "vc,ab->abc", "ni", "", 'v'});
  cases.push_back({"model.embedding_grad", "abc,ab->vc", "ni", "", 'v'});
  cases.push_back({"model.argmax", "avb->ab", "", "i", 0, {integer("dim", 1)}});
  cases.push_back({"model.take_along", "avb,akb->akb", "ni", "", 'v', {integer("dim", 1)}});
  cases.push_back({"model.add_along", "akb,akb->avb", "ni", "", 'v', {integer("dim", 1)}});
}

void addReductions(std::vector<RuleCase> &cases) {
  cases.push_back({"model.reduce_sum", "abc->ac", "", "", 0, {list("dims", {1})}});
  cases.push_back({"model.reduce_sum", "abc->c", "", "", 0, {list("dims", {0, 1})}});
  cases.push_back(
      {"model.reduce_mean", "abc->ac", "", "", 0, {list("dims", {1})}, {list("dims", {1}), integer("mean", 1)}});
  cases.push_back({"model.reduce_max", "abc->ac", "", "", 0, {list("dims", {1})}});
  cases.push_back({"model.logsumexp", "abv->ab"});
  cases.push_back({"model.softmax", "abv->abv"});
  cases.push_back({"model.softmax_grad", "abv,abv->abv"});
  cases.push_back({"model.power_sum", "ab,c->", "", "", 0, {number("p", 2)}});
  cases.push_back({"model.power_sum", "ab,c->", "", "", 0, {number("p", std::numeric_limits<double>::infinity())}});
  cases.push_back({"model.norm_root", "->", "p", "", 0, {number("p", 2)}});
  cases.push_back({"model.clip_coefficient", "->", "p", "", 0, {number("max_norm", 1)}});
  cases.push_back({"model.all_finite", "ab,c->", "", "b"});
}

void addProducts(std::vector<RuleCase> &cases) {
  for (const char *shapes : {"mk,kn->mn", "bmk,kn->bmn", "bmk,bkn->bmn", "abmk,abkn->abmn"})
    cases.push_back({"model.matmul", shapes});
  cases.push_back({"model.matmul", "mk,nk->mn", "", "", 0, {integer("transpose_rhs", 1)}, {integer("transpose_b", 1)}});
  cases.push_back({"model.matmul", "km,kn->mn", "", "", 0, {integer("transpose_lhs", 1)}, {integer("transpose_a", 1)}});
  cases.push_back({"model.matmul",
                   "bmk,nk,n->bmn",
                   "",
                   "",
                   0,
                   {integer("transpose_rhs", 1)},
                   {integer("transpose_b", 1), integer("bias", 1)}});
  cases.push_back({"model.matmul", "mk,kn,n,mn->mn", "", "", 0, {}, {integer("bias", 1), integer("residual", 1)}});
  cases.push_back({"model.matmul_gelu",
                   "bmk,nk,n->bmn,bmn",
                   "",
                   "",
                   0,
                   {integer("transpose_rhs", 1)},
                   {integer("transpose_b", 1), integer("bias", 1)}});
  cases.push_back({"model.matmul_gelu", "mk,kn->mn,mn"});
  cases.push_back({"model.matmul_gelu_grad", "bmk,kn,bmn->bmn"});
  cases.push_back({"model.matmul_gelu_grad",
                   "mk,nk,mn->mn",
                   "",
                   "",
                   0,
                   {integer("transpose_rhs", 1)},
                   {integer("transpose_b", 1)}});
  const std::vector<Attributes::Item> causal = {number("scale", 0.5), integer("causal", 1)};
  for (std::int64_t heads : {1, 2}) {
    cases.push_back({"model.attention", "bthd,btgd,btgd->bthd,bht", "", "", 0, causal, {}, {}, {{'h', 'g', heads}}});
    cases.push_back({"model.attention_grad",
                     "bthd,bthd,btgd,btgd,bthd,bht->bthd,btgd,btgd",
                     "",
                     "",
                     0,
                     causal,
                     {},
                     {},
                     {{'h', 'g', heads}}});
  }
  cases.push_back(
      {"model.attention", "bthd,bsgd,bsgd->bthd,bht", "", "", 0, {number("scale", 0.5)}, {}, {}, {{'h', 'g', 3}}});
  const std::vector<Attributes::Item> packed = {number("scale", 0.5), integer("causal", 1), integer("packed", 1)};
  cases.push_back({"model.attention", "bthd,btgd,btgd,bt->bthd,bht", "nnni", "", 't', packed, {}, {}, {{'h', 'g', 2}}});
  cases.push_back({"model.attention_grad",
                   "bthd,bthd,btgd,btgd,bthd,bht,bt->bthd,btgd,btgd",
                   "nnnnnni",
                   "",
                   't',
                   packed,
                   {},
                   {},
                   {{'h', 'g', 2}}});
  // Dropout counts the probabilities of all shards.
  for (std::int64_t heads : {1, 2}) {
    const std::vector<Attributes::Item> dropout = {number("scale", 0.5), number("dropout", 0.3), integer("key", 11)};
    cases.push_back(
        {"model.attention", "bthd,bsgd,bsgd,,,->bthd,bht", "nnnttt", "", 0, dropout, {}, {}, {{'h', 'g', heads}}});
    cases.push_back({"model.attention_grad",
                     "bthd,bthd,bsgd,bsgd,bthd,bht,,,->bthd,bsgd,bsgd",
                     "nnnnnnttt",
                     "",
                     0,
                     dropout,
                     {},
                     {},
                     {{'h', 'g', heads}}});
  }
  // Masks and biases of all and of shared rows and heads.
  const auto changed = [](bool isMasked, std::vector<Attributes::Item> attributes) {
    attributes.push_back(number("scale", 0.5));
    attributes.push_back(integer("biased", 1));
    if (isMasked)
      attributes.push_back(integer("masked", 1));
    return attributes;
  };
  cases.push_back({"model.attention",
                   "bthd,btgd,btgd,b11t,1htt->bthd,bht",
                   "nnnb",
                   "",
                   0,
                   changed(true, {integer("causal", 1)}),
                   {},
                   {},
                   {{'h', 'g', 2}}});
  cases.push_back(
      {"model.attention", "bthd,bsgd,bsgd,1h1s->bthd,bht", "", "", 0, changed(false, {}), {}, {}, {{'h', 'g', 3}}});
  for (const char *bias : {"1hts", "bhts", "b1ts", "11ts", "b11s"}) {
    const std::string shapes = std::string("bthd,bthd,bsgd,bsgd,bthd,bht,bh1s,") + bias + "->bthd,bsgd,bsgd,";
    cases.push_back({"model.attention_grad",
                     shapes + bias,
                     "nnnnnnb",
                     "",
                     0,
                     changed(true, {integer("bias_grad", 1)}),
                     {},
                     {},
                     {{'h', 'g', 2}}});
  }
}

void addImages(std::vector<RuleCase> &cases) {
  const std::vector<Attributes::Item> window = {list("stride", {1, 1}), list("padding", {1, 1}),
                                                list("dilation", {1, 1}), integer("groups", 1)},
                                      pool = {list("kernel", {2, 2}), list("stride", {2, 2}), list("padding", {0, 0})};
  cases.push_back({"model.conv2d", "n56c,oc33,o->n56o", "", "", 0, window});
  cases.push_back({"model.conv2d_input_grad", "n56o,oc33->n56c", "", "", 0, window});
  cases.push_back({"model.conv2d_weight_grad", "n56o,n56c->oc33", "", "", 0, window});
  cases.push_back({"model.max_pool2d", "n64c->n32c", "", "", 0, pool});
  cases.push_back({"model.max_pool2d_grad", "n32c,n64c->n64c", "", "", 0, pool});
  cases.push_back({"model.avg_pool2d", "n64c->n32c", "", "", 0, pool});
  cases.push_back({"model.avg_pool2d_grad", "n32c->n64c", "", "", 0, pool});
  cases.push_back({"model.adaptive_avg_pool2d", "n64c->n32c", "", "", 0, {}, {integer("adaptive", 1)}});
  cases.push_back({"model.adaptive_avg_pool2d_grad", "n32c->n64c", "", "", 0, {}, {integer("adaptive", 1)}});
}

void addNorms(std::vector<RuleCase> &cases) {
  const std::vector<Attributes::Item> epsilon = {number("epsilon", 1e-5)};
  cases.push_back({"model.batch_norm", "abc,c,c->abc,c,c", "", "", 0, epsilon});
  cases.push_back({"model.batch_norm_grad", "abc,abc,c,c,c->abc,c,c", "nnnnp", "", 0, epsilon});
  cases.push_back({"model.running_average", "c,c->c", "", "", 0, {number("momentum", 0.1), number("factor", 1.25)}});
  cases.push_back({"model.count_up", "->", "t", "t"});
  cases.push_back({"model.layer_norm", "abc,c,c->abc,ab,ab", "", "", 0, epsilon});
  cases.push_back({"model.layer_norm_grad", "abc,abc,c,ab,ab->abc,c,c", "nnnnp"});
  cases.push_back({"model.layer_norm_grad", "abc,abc,c,ab,ab,abc->abc,c,c", "nnnnp"});
  cases.push_back({"model.rms_norm", "abc,c->abc,ab", "", "", 0, epsilon});
  cases.push_back({"model.rms_norm_grad", "abc,abc,c,ab->abc,c", "nnnp"});
  cases.push_back({"model.rms_norm_grad", "abc,abc,c,ab,abc->abc,c", "nnnp"});
  cases.push_back({"model.rope", "bth4->bth4", "", "", 0, {number("theta", 100)}});
  cases.push_back({"model.rope", "bth4,bt->bth4", "ni", "", 't', {number("theta", 100), integer("packed", 1)}});
}

void addLosses(std::vector<RuleCase> &cases) {
  for (int reduction : {0, 1}) {
    const std::vector<Attributes::Item> loss = {integer("reduction", reduction)},
                                        chunked = {integer("rows", 2), integer("reduction", reduction)};
    cases.push_back({"model.cross_entropy", "abv,ab->,ab", "ni", "", 'v', loss});
    cases.push_back({"model.cross_entropy_grad", ",abv,ab,ab->abv", "nnin", "", 'v', loss});
    cases.push_back({"model.linear_cross_entropy", "abc,vc,ab->,ab", "nni", "", 'v', chunked});
    cases.push_back({"model.linear_cross_entropy_grad", ",abc,vc,ab,ab->abc,vc", "nnnin", "", 'v', chunked});
  }
}

} // namespace

const std::vector<RuleCase> &ruleCases() {
  static const std::vector<RuleCase> all = [] {
    std::vector<RuleCase> cases;
    for (auto add : {addPointwise, addMovement, addReductions, addProducts, addImages, addNorms, addLosses})
      add(cases);
    return cases;
  }();
  return all;
}

} // namespace sluice::test
