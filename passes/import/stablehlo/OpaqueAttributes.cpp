//===- OpaqueAttributes.cpp - attributes of StableHLO without its dialect -------------------===//

#include "passes/import/stablehlo/OpaqueAttributes.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::stablehlo;

static llvm::StringRef textOf(Attribute attribute) {
  auto opaque = llvm::dyn_cast_or_null<OpaqueAttr>(attribute);
  return opaque && opaque.getDialectNamespace() == "stablehlo" ? opaque.getAttrData() : llvm::StringRef();
}

std::string stablehlo::enumOf(Attribute attribute, llvm::StringRef kind) {
  llvm::StringRef text = textOf(attribute);
  return text.consume_front(kind) && text.starts_with(" ") ? text.trim().str() : std::string();
}

/// The text between "kind<" and ">"; nullopt for another text.
static std::optional<llvm::StringRef> bodyOf(Attribute attribute, llvm::StringRef kind) {
  llvm::StringRef text = textOf(attribute);
  return text.consume_front(kind) && text.consume_front("<") && text.consume_back(">") ? std::optional(text)
                                                                                       : std::nullopt;
}

static bool readInteger(llvm::StringRef &text, std::int64_t &value) {
  text = text.ltrim();
  return !text.consumeInteger(10, value);
}

std::optional<Lists> stablehlo::listsOf(Attribute attribute, llvm::StringRef kind) {
  std::optional<llvm::StringRef> body = bodyOf(attribute, kind);
  if (!body)
    return std::nullopt;
  Lists lists;
  llvm::StringRef text = body->trim();
  while (!text.empty()) {
    const std::size_t size = text.find_if_not([](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (size == 0 || size == llvm::StringRef::npos)
      return std::nullopt;
    llvm::SmallVector<std::int64_t> &list = lists[text.take_front(size).str()];
    text = text.drop_front(size).ltrim();
    if (!text.consume_front("="))
      return std::nullopt;
    text = text.ltrim();
    if (text.consume_front("[")) {
      while (!(text = text.ltrim()).consume_front("]")) {
        if (!list.empty() && !text.consume_front(","))
          return std::nullopt;
        if (!readInteger(text, list.emplace_back()))
          return std::nullopt;
      }
    } else if (!readInteger(text, list.emplace_back())) {
      return std::nullopt;
    }
    text = text.ltrim();
    if (!text.empty() && !text.consume_front(","))
      return std::nullopt;
    text = text.ltrim();
  }
  return lists;
}

/// "[b, 0, 1, f]" with the letters of the two dims that are not spatial.
static bool readDims(llvm::StringRef text, llvm::StringRef first, llvm::StringRef second,
                     ConvolutionDims::Tensor &dims) {
  if (!text.consume_front("[") || !text.consume_back("]"))
    return false;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',');
  dims.spatial.assign(parts.size() < 2 ? 0 : parts.size() - 2, -1);
  for (auto [index, part] : llvm::enumerate(parts)) {
    part = part.trim();
    std::size_t number = 0;
    std::int64_t *place = nullptr;
    if (part == first)
      place = &dims.first;
    else if (part == second)
      place = &dims.second;
    else if (!part.getAsInteger(10, number) && number < dims.spatial.size())
      place = &dims.spatial[number];
    if (!place || *place != -1)
      return false;
    *place = static_cast<std::int64_t>(index);
  }
  return dims.first >= 0 && dims.second >= 0 && !llvm::is_contained(dims.spatial, -1);
}

std::optional<ConvolutionDims> stablehlo::convolutionDimsOf(Attribute attribute) {
  const std::optional<llvm::StringRef> body = bodyOf(attribute, "conv");
  if (!body)
    return std::nullopt;
  const auto [operands, result] = body->split("->");
  const auto [image, kernel] = operands.split('x');
  ConvolutionDims dims;
  const bool isRead = readDims(image.trim(), "b", "f", dims.image) && readDims(kernel.trim(), "o", "i", dims.kernel) &&
                      readDims(result.trim(), "b", "f", dims.result);
  const bool isEven = dims.image.spatial.size() == dims.kernel.spatial.size() &&
                      dims.image.spatial.size() == dims.result.spatial.size();
  return isRead && isEven ? std::optional(dims) : std::nullopt;
}
