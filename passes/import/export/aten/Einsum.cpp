//===- Einsum.cpp - sums of products over named dims ---------------------------------------===//

#include "passes/import/export/Call.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::exported;

namespace sluice::exported::einsum {

using Sizes = llvm::SmallVector<std::int64_t>;

/// A value whose dims have the letters of `dims`.
struct Labelled {
  Value value;
  std::string dims;
};

bool has(llvm::StringRef dims, char letter) { return dims.contains(letter); }

/// The sum over dims that `kept` has not.
Labelled summed(Call &call, Labelled x, llvm::StringRef kept) {
  Sizes dims;
  std::string left;
  for (auto [index, letter] : llvm::enumerate(x.dims))
    if (has(kept, letter))
      left += letter;
    else
      dims.push_back(static_cast<std::int64_t>(index));
  if (!dims.empty())
    x.value = call.make<model::ReduceSumOp>({x.value},
                                            {{"dims", call.builder.getDenseI64ArrayAttr(dims)}, {"keep", UnitAttr()}});
  return {x.value, left};
}

/// With the dims in this order.
Value ordered(Call &call, const Labelled &x, llvm::StringRef order) {
  Sizes permutation;
  for (char letter : order)
    permutation.push_back(static_cast<std::int64_t>(x.dims.find(letter)));
  return call.transpose(x.value, permutation);
}

Sizes sizesOf(const Labelled &x, llvm::StringRef dims) {
  Sizes sizes;
  for (char letter : dims)
    sizes.push_back(Call::shapeOf(x.value)[x.dims.find(letter)]);
  return sizes;
}

std::int64_t productOf(llvm::ArrayRef<std::int64_t> sizes) {
  std::int64_t product = 1;
  for (std::int64_t size : sizes)
    product *= size;
  return product;
}

/// A batched matrix product: common dims of the result, dims of a, dims of b; other common dims are summed.
Labelled product(Call &call, Labelled a, Labelled b, llvm::StringRef result) {
  a = summed(call, a, b.dims + result.str());
  b = summed(call, b, a.dims + result.str());
  std::string batch, inner, rows, columns;
  for (char letter : a.dims)
    (!has(b.dims, letter) ? rows : has(result, letter) ? batch : inner) += letter;
  for (char letter : b.dims)
    if (!has(a.dims, letter))
      columns += letter;
  const Sizes outer = sizesOf(a, batch), m = sizesOf(a, rows), n = sizesOf(b, columns), k = sizesOf(a, inner);
  if (sizesOf(b, batch) != outer || sizesOf(b, inner) != k) {
    call.refuse("einsum of dims of one name with different sizes");
    return a;
  }
  Value left = call.reshape(ordered(call, a, batch + rows + inner), {productOf(outer), productOf(m), productOf(k)});
  Value right = call.reshape(ordered(call, b, batch + inner + columns), {productOf(outer), productOf(k), productOf(n)});
  Sizes shape(outer);
  shape.append(m);
  shape.append(n);
  return {call.reshape(call.product(left, right), shape), batch + rows + columns};
}

void einsum(Call &call) {
  std::string equation;
  for (char c : call.text("equation"))
    if (c != ' ')
      equation += c;
  const auto [operandsText, resultText] = llvm::StringRef(equation).split("->");
  llvm::SmallVector<llvm::StringRef> names;
  operandsText.split(names, ',');
  const llvm::SmallVector<Value> values = call.values("tensors");
  const auto isSimple = [](llvm::StringRef dims) {
    return llvm::all_of(dims, [&](char c) { return llvm::isAlpha(c) && dims.count(c) == 1; });
  };
  if (!llvm::StringRef(equation).contains("->") || !isSimple(resultText) || !llvm::all_of(names, isSimple) ||
      names.size() != values.size())
    return call.refuse("einsum with '...', with a dim twice in an operand, or without '->'",
                       "write each dim of each operand, and the dims of the result");
  llvm::SmallVector<Labelled> operands;
  for (auto [value, dims] : llvm::zip_equal(values, names)) {
    if (static_cast<std::int64_t>(dims.size()) != Call::rankOf(value))
      return call.refuse("einsum with " + std::to_string(dims.size()) + " dims of an operand of rank " +
                         std::to_string(Call::rankOf(value)));
    operands.push_back({call.cast(value, call.elementType(call.result().type)), dims.str()});
  }
  for (char letter : resultText)
    if (llvm::none_of(operands, [&](const Labelled &each) { return has(each.dims, letter); }))
      return call.refuse("einsum with a dim of the result that no operand has");
  // From the left, with the dims that later operands or the result read.
  Labelled sum = operands.front();
  for (std::size_t i = 1; i < operands.size() && call.problem().empty(); ++i) {
    std::string read = resultText.str();
    for (std::size_t later = i + 1; later < operands.size(); ++later)
      read += operands[later].dims;
    sum = product(call, sum, operands[i], read);
  }
  if (call.problem().empty())
    sum = summed(call, sum, resultText);
  if (call.problem().empty())
    call.set(ordered(call, sum, resultText));
}

constexpr AtenOp table[] = {
    {"einsum.default", einsum},
};

} // namespace sluice::exported::einsum

llvm::ArrayRef<AtenOp> exported::einsumOps() { return einsum::table; }
