//===- Forms.cpp - forms of ops that ranks can divide ----------------------------------------===//
//
// See Forms.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/plan/check/proof/Forms.h"

#include <algorithm>

namespace sluice::check::proof {
namespace {

plan::AttributeT integerAttribute(const char *name, std::int64_t integer) {
  plan::AttributeT attribute;
  attribute.name = name;
  attribute.integer = integer;
  return attribute;
}

plan::AttributeT numberAttribute(const char *name, double number) {
  plan::AttributeT attribute;
  attribute.name = name;
  attribute.kind = 1;
  attribute.number = number;
  return attribute;
}

plan::AttributeT listAttribute(const char *name, Shape list) {
  plan::AttributeT attribute;
  attribute.name = name;
  attribute.kind = 2;
  attribute.list = std::move(list);
  return attribute;
}

/// The case of an enumeration.
plan::AttributeT choiceAttribute(const char *name, std::string_view choice) {
  return listAttribute(name, Shape(choice.begin(), choice.end()));
}

std::vector<plan::AttributeT> copiedAttributes(const plan::ProgramKindT &kind) {
  std::vector<plan::AttributeT> attributes;
  for (const auto &attribute : kind.attributes)
    attributes.push_back(*attribute);
  return attributes;
}

/// The attributes of a chunked loss that the loss has.
std::vector<plan::AttributeT> withoutRows(const plan::ProgramKindT &kind) {
  std::vector<plan::AttributeT> attributes = copiedAttributes(kind);
  std::erase_if(attributes, [](const plan::AttributeT &attribute) { return attribute.name == "rows"; });
  return attributes;
}

double numberInKind(const plan::ProgramKindT &kind, std::string_view name, double absent) {
  const plan::AttributeT *attribute = attributeOf(kind, name);
  return !attribute ? absent : attribute->kind == 0 ? double(attribute->integer) : attribute->number;
}

/// True if each head of k and v [B, S, G, D] is that of several heads of q [B, T, H, D].
bool haveGroupedHeads(const Shape &q, const Shape &k, const Shape &v) {
  return q.size() == 4 && k.size() == 4 && v.size() == 4 && k[2] > 0 && q[2] % k[2] == 0 && q[2] != k[2] &&
         v[2] == k[2];
}

} // namespace

bool Forms::number(std::uint32_t number) {
  op = number;
  kind = program.kinds[program.op_kinds[op]].get();
  const auto ownOperands = numbering.operandsOf(op), ownResults = numbering.resultsOf(op);
  operands.assign(ownOperands.begin(), ownOperands.end());
  results.assign(ownResults.begin(), ownResults.end());
  if (std::ranges::any_of(operands, [&](Id id) { return numbering.value(id).root == 0; }) ||
      std::ranges::find(results, Id(0)) != results.end())
    return false;
  if (kind->op == "model.logsumexp" && results.size() == 1) {
    numbering.numberResults(*kind, op);
    addShiftedSum(results[0]);
    return true;
  }
  Ids form;
  if (kind->op == "model.matmul" && operands.size() > 2 && results.size() == 1)
    form = ofMatmul();
  else if (kind->op == "model.matmul_gelu" && operands.size() >= 2 && results.size() == 2)
    form = ofMatmulGelu();
  else if (kind->op == "model.matmul_gelu_grad" && operands.size() == 3 && results.size() == 1)
    form = ofMatmulGeluGrad();
  else if (kind->op == "model.attention" && operands.size() >= 3 && operands.size() <= 8 && results.size() == 2)
    form = ofAttention();
  else if (kind->op == "model.attention_grad" && operands.size() >= 6 && operands.size() <= 11 &&
           (results.size() == 3 || results.size() == 4))
    form = ofAttentionGrad();
  else if (kind->op == "model.cross_entropy" && operands.size() == 2 && results.size() == 2)
    form = ofCrossEntropy();
  else if (kind->op == "model.linear_cross_entropy" && operands.size() == 3 && results.size() == 2)
    form = ofLinearCrossEntropy();
  else if (kind->op == "model.linear_cross_entropy_grad" && operands.size() == 5 && results.size() == 2)
    form = ofLinearCrossEntropyGrad();
  if (form.size() != results.size())
    return false;
  for (std::size_t r = 0; r < results.size(); ++r)
    if (shapeOf(form[r]) != shapeOf(results[r]))
      return false;
  for (std::size_t r = 0; r < results.size(); ++r)
    numbering.set(results[r], numbering.values[form[r]]);
  return true;
}

Forms::Id Forms::newValue(const plan::ProgramTypeT &type) {
  const auto known = std::ranges::find_if(
      program.types, [&](const auto &own) { return own->dtype == type.dtype && own->shape == type.shape; });
  std::uint32_t index = std::uint32_t(known - program.types.begin());
  if (known == program.types.end())
    program.types.push_back(std::make_unique<plan::ProgramTypeT>(type));
  program.values.push_back(index);
  numbering.values.emplace_back();
  numbering.definitions.push_back({-1, 0});
  numbering.open.push_back(false);
  return Id(program.values.size());
}

Forms::Ids Forms::addResults(const std::string &name, std::vector<plan::AttributeT> attributes, const Ids &own,
                             const std::vector<plan::ProgramTypeT> &types) {
  auto form = std::make_unique<plan::ProgramKindT>();
  form->op = name;
  form->phase = kind->phase;
  for (plan::AttributeT &attribute : attributes)
    form->attributes.push_back(std::make_unique<plan::AttributeT>(std::move(attribute)));
  program.kinds.push_back(std::move(form));
  numbering.numberKinds();
  Ids added;
  for (const plan::ProgramTypeT &type : types)
    added.push_back(newValue(type));
  const std::uint32_t number = std::uint32_t(program.op_kinds.size());
  program.op_kinds.push_back(std::uint32_t(program.kinds.size() - 1));
  program.op_blocks.push_back(program.op_blocks[op]);
  program.op_symbols.push_back(0);
  program.operands.insert(program.operands.end(), own.begin(), own.end());
  program.operand_ends.push_back(std::uint32_t(program.operands.size()));
  program.results.insert(program.results.end(), added.begin(), added.end());
  program.result_ends.push_back(std::uint32_t(program.results.size()));
  numbering.numberOp(number, function, repeat);
  return added;
}

Forms::Id Forms::add(const std::string &name, std::vector<plan::AttributeT> attributes, const Ids &own,
                     const Shape &shape) {
  plan::ProgramTypeT type;
  type.shape = shape;
  const auto isFloat = [&](Id value) { return isFloatType(dtypeOf(value)); };
  const auto first = std::ranges::find_if(own, isFloat);
  type.dtype = dtypeOf(first != own.end() ? *first : own.front());
  return addResults(name, std::move(attributes), own, {type}).front();
}

Forms::Ids Forms::addLike(const std::string &name, std::vector<plan::AttributeT> attributes, const Ids &own,
                          const Ids &like) {
  std::vector<plan::ProgramTypeT> types;
  for (Id value : like)
    types.push_back(numbering.type(value));
  return addResults(name, std::move(attributes), own, types);
}

Forms::Id Forms::reshape(Id value, Shape shape) { return add("model.reshape", {}, {value}, shape); }

Forms::Id Forms::constant(double number, Id like) {
  plan::ProgramTypeT type;
  type.dtype = dtypeOf(like);
  return addResults("model.constant", {numberAttribute("value", number)}, {}, {type}).front();
}

Forms::Id Forms::select(Id condition, Id a, Id b) {
  return add("model.select", {}, {condition, a, b}, shapeOf(condition));
}

Forms::Id Forms::sumAll(Id value) {
  Shape dims;
  for (std::size_t d = 0; d < shapeOf(value).size(); ++d)
    dims.push_back(std::int64_t(d));
  return dims.empty() ? value : add("model.reduce_sum", {listAttribute("dims", dims)}, {value}, {});
}

Forms::Id Forms::matmul(Id a, Id b, bool transposeA, bool transposeB, Id like) {
  // As a program states them: equal products have one root.
  std::vector<plan::AttributeT> attributes;
  if (transposeA)
    attributes.push_back(integerAttribute("transpose_lhs", 1));
  if (transposeB)
    attributes.push_back(integerAttribute("transpose_rhs", 1));
  return addLike("model.matmul", std::move(attributes), {a, b}, {like}).front();
}

/// a b + bias + residual: the product first.
Forms::Ids Forms::ofMatmul() {
  Id value = matmul(operands[0], operands[1], isFlagSet(*kind, "transpose_lhs"), isFlagSet(*kind, "transpose_rhs"),
                    results[0]);
  for (std::size_t k = 2; k < operands.size(); ++k)
    value = add("model.add", {}, {value, operands[k]}, shapeOf(results[0]));
  return {value};
}

/// The product with its bias, then its gelu.
Forms::Ids Forms::ofMatmulGelu() {
  Id value = matmul(operands[0], operands[1], isFlagSet(*kind, "transpose_lhs"), isFlagSet(*kind, "transpose_rhs"),
                    results[0]);
  for (std::size_t k = 2; k < operands.size(); ++k)
    value = add("model.add", {}, {value, operands[k]}, shapeOf(results[0]));
  return {value, add("model.gelu", {choiceAttribute("approximate", "tanh")}, {value}, shapeOf(results[1]))};
}

Forms::Ids Forms::ofMatmulGeluGrad() {
  const Id value = matmul(operands[0], operands[1], isFlagSet(*kind, "transpose_lhs"),
                          isFlagSet(*kind, "transpose_rhs"), results[0]);
  return {add("model.gelu_grad", {choiceAttribute("approximate", "tanh")}, {value, operands[2]}, shapeOf(results[0]))};
}

/// k or v [B, S, G, D] with each head repeated for the heads of q that use it: [B, S, H, D].
Forms::Id Forms::repeatHeads(Id value, std::int64_t heads) {
  const Shape &own = shapeOf(value);
  const Shape shape{own[0], own[1], own[2], 1, own[3]}, all{own[0], own[1], own[2], heads / own[2], own[3]};
  const Id groups = reshape(value, shape);
  return reshape(add("model.broadcast", {}, {groups}, all), {all[0], all[1], heads, all[4]});
}

/// The reverse: the sum over the heads of q that use a head.
Forms::Id Forms::sumOfHeads(Id value, Id like) {
  const Shape own = shapeOf(value), wanted = shapeOf(like);
  const Id groups = reshape(value, {own[0], own[1], wanted[2], own[2] / wanted[2], own[3]});
  return add("model.reduce_sum", {listAttribute("dims", {3})}, {groups}, wanted);
}

Forms::Ids Forms::ofAttention() {
  const Shape q = shapeOf(operands[0]), k = shapeOf(operands[1]), v = shapeOf(operands[2]);
  if (!haveGroupedHeads(q, k, v))
    return {};
  Ids own{operands[0], repeatHeads(operands[1], q[2]), repeatHeads(operands[2], q[2])};
  // Mask, bias, and the numbers of dropout.
  own.insert(own.end(), operands.begin() + 3, operands.end());
  return addLike(kind->op, copiedAttributes(*kind), own, results);
}

Forms::Ids Forms::ofAttentionGrad() {
  const Shape q = shapeOf(operands[1]), k = shapeOf(operands[2]), v = shapeOf(operands[3]);
  if (!haveGroupedHeads(q, k, v) || shapeOf(results[1]) != k || shapeOf(results[2]) != v)
    return {};
  plan::ProgramTypeT repeated = numbering.type(results[1]);
  repeated.shape[2] = q[2];
  Ids own{operands[0], operands[1], repeatHeads(operands[2], q[2]), repeatHeads(operands[3], q[2]),
          operands[4], operands[5]};
  own.insert(own.end(), operands.begin() + 6, operands.end());
  std::vector<plan::ProgramTypeT> types{numbering.type(results[0]), repeated, repeated};
  // The gradient of the bias.
  for (std::size_t r = 3; r < results.size(); ++r)
    types.push_back(numbering.type(results[r]));
  Ids form = addResults(kind->op, copiedAttributes(*kind), own, types);
  for (std::size_t r : {1, 2})
    form[r] = sumOfHeads(form[r], results[r]);
  return form;
}

void Forms::addShiftedSum(Id lse) {
  const Shape shape = shapeOf(lse);
  const Id largest = newValue(numbering.type(lse));
  numbering.setDense(largest, numbering.largestTerm(numbering.value(lse).root));
  const Id shifted = add("model.subtract", {}, {lse, largest}, shape), sum = add("model.exp", {}, {shifted}, shape);
  // log(exp(x - m)) is x - m, and x - m + m is x.
  const auto equal = [&](const char *name, const Ids &own, Id value) {
    const Id result = newValue(numbering.type(lse));
    numbering.set(result, numbering.values[value]);
    auto form = std::make_unique<plan::ProgramKindT>();
    form->op = name;
    form->phase = kind->phase;
    program.kinds.push_back(std::move(form));
    numbering.numberKinds();
    numbering.definitions[result] = {std::int64_t(program.op_kinds.size()), 0};
    program.op_kinds.push_back(std::uint32_t(program.kinds.size() - 1));
    program.op_blocks.push_back(program.op_blocks[op]);
    program.op_symbols.push_back(0);
    program.operands.insert(program.operands.end(), own.begin(), own.end());
    program.operand_ends.push_back(std::uint32_t(program.operands.size()));
    program.results.push_back(result);
    program.result_ends.push_back(std::uint32_t(program.results.size()));
    return result;
  };
  const Id log = equal("model.log", {sum}, shifted);
  equal("model.add", {log, largest}, lse);
}

/// lse = logsumexp(x). The loss is the sum over rows of lse - x[target], of rows whose target is not ignored; a mean
/// divides by their number. With smoothing s, x[target] is (1 - s) x[target] + s mean(x).
Forms::Ids Forms::ofCrossEntropy() {
  const Id logits = operands[0], targets = operands[1];
  const Shape shape = shapeOf(logits);
  if (shape.empty())
    return {};
  const Shape rows(shape.begin(), shape.end() - 1);
  const std::int64_t last = std::int64_t(rows.size());
  const Id lse = addLike("model.logsumexp", {}, {logits}, {results[1]}).front();
  Shape kept = rows;
  kept.push_back(1);
  const Id column = reshape(targets, kept),
           taken = add("model.take_along", {integerAttribute("dim", last)}, {logits, column}, kept);
  Id picked = reshape(taken, rows);
  if (const double smoothing = numberInKind(*kind, "label_smoothing", 0); smoothing != 0) {
    const Id sum = add("model.reduce_sum", {listAttribute("dims", {last})}, {logits}, rows),
             own = add("model.scale", {numberAttribute("factor", 1 - smoothing)}, {picked}, rows),
             mean = add("model.scale", {numberAttribute("factor", smoothing / double(shape.back()))}, {sum}, rows);
    picked = add("model.add", {}, {own, mean}, rows);
  }
  plan::ProgramTypeT truth;
  truth.shape = rows;
  truth.dtype = plan::DType::u8;
  const Id losses = add("model.subtract", {}, {lse, picked}, rows),
           ignored = constant(numberInKind(*kind, "ignore_index", -100), targets),
           counts =
               addResults("model.compare", {choiceAttribute("predicate", "ne")}, {targets, ignored}, {truth}).front(),
           zero = constant(0, losses);
  Id total = sumAll(select(counts, losses, zero));
  if (textOf(*kind, "reduction") != "sum") {
    const Id count = sumAll(select(counts, constant(1, losses), zero));
    total = add("model.divide", {}, {total, count}, {});
  }
  return {total, lse};
}

/// x [..., C] times the transpose of weight [V, C], in the type of x.
Forms::Id Forms::logitsOf(Id x, Id weight) {
  plan::ProgramTypeT type = numbering.type(x);
  type.shape.back() = shapeOf(weight)[0];
  return addResults("model.matmul", {integerAttribute("transpose_rhs", 1)}, {x, weight}, {type}).front();
}

Forms::Ids Forms::ofLinearCrossEntropy() {
  const Shape x = shapeOf(operands[0]), weight = shapeOf(operands[1]);
  if (x.empty() || weight.empty())
    return {};
  const Id logits = logitsOf(operands[0], operands[1]);
  return addLike("model.cross_entropy", withoutRows(*kind), {logits, operands[2]}, results);
}

/// The logits again, their gradient, and the two products of the gradients of x and of the weight.
Forms::Ids Forms::ofLinearCrossEntropyGrad() {
  const Shape x = shapeOf(operands[1]), weight = shapeOf(operands[2]);
  if (x.empty() || weight.empty())
    return {};
  const std::int64_t rows = elementsOf(Shape(x.begin(), x.end() - 1));
  const Id logits = logitsOf(operands[1], operands[2]);
  const Id dlogits =
      addLike("model.cross_entropy_grad", withoutRows(*kind), {operands[0], logits, operands[3], operands[4]}, {logits})
          .front();
  const Id dx = matmul(dlogits, operands[2], false, false, results[0]);
  const Id dweight =
      matmul(reshape(dlogits, {rows, weight[0]}), reshape(operands[1], {rows, x.back()}), true, false, results[1]);
  return {dx, dweight};
}

} // namespace sluice::check::proof
