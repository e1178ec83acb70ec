//===- When.cpp - the repetitions in which an op is issued ------------------------===//

#include "dialect/rules/When.h"

#include "llvm/ADT/STLExtras.h"

using namespace sluice;

When When::of(llvm::ArrayRef<std::int64_t> repetitions, std::int64_t repeat) {
  auto count = static_cast<std::int64_t>(repetitions.size());
  if (count == repeat)
    return WhenKind::all;
  if (count == 1 && repetitions.front() == 0)
    return WhenKind::first;
  if (count == 1 && repetitions.front() == repeat - 1)
    return WhenKind::last;
  if (count == repeat - 1 && repetitions.front() == 1)
    return WhenKind::not_first;
  if (count == repeat - 1 && repetitions.back() == repeat - 2)
    return WhenKind::not_last;
  return When(repetitions);
}

bool When::includes(std::int64_t repetition, std::int64_t repeat) const {
  switch (kind) {
  case WhenKind::all:
    return true;
  case WhenKind::first:
    return repetition == 0;
  case WhenKind::not_first:
    return repetition != 0;
  case WhenKind::last:
    return repetition + 1 == repeat;
  case WhenKind::not_last:
    return repetition + 1 != repeat;
  case WhenKind::listed:
    return llvm::is_contained(repetitions, repetition);
  }
  return false;
}

mlir::LogicalResult When::verify(llvm::function_ref<mlir::InFlightDiagnostic()> emitError) const {
  if (kind != WhenKind::listed)
    return mlir::success();
  if (repetitions.empty())
    return emitError() << "missing repetitions between [ and ]";
  for (std::size_t i = 0; i < repetitions.size(); ++i)
    if (std::int64_t least = i == 0 ? 0 : repetitions[i - 1] + 1; repetitions[i] < least)
      return emitError() << "expected a repetition of at least " << least << " but got " << repetitions[i];
  return mlir::success();
}

When When::copyInto(mlir::AttributeStorageAllocator &allocator) const {
  When copy = *this;
  copy.repetitions = allocator.copyInto(repetitions);
  return copy;
}

mlir::FailureOr<When> When::parse(mlir::AsmParser &parser) {
  llvm::SMLoc location = parser.getCurrentLocation();
  llvm::StringRef word;
  if (succeeded(parser.parseOptionalKeyword(&word))) {
    std::optional<WhenKind> kind = symbolizeWhenKind(word);
    if (kind && *kind != WhenKind::listed)
      return When(*kind);
    return parser.emitError(location,
                            "expected all, first, not_first, last, not_last or repetitions such as [0, 2] but got '")
           << word << "'";
  }
  // The list must live until the attribute has copied it, after this function returns: a DenseI64ArrayAttr owns it.
  llvm::SmallVector<std::int64_t> listed;
  if (parser.parseCommaSeparatedList(
          mlir::AsmParser::Delimiter::Square, [&] { return parser.parseInteger(listed.emplace_back()); },
          " of repetitions"))
    return mlir::failure();
  return When(mlir::DenseI64ArrayAttr::get(parser.getContext(), listed).asArrayRef());
}

void When::print(mlir::AsmPrinter &printer) const {
  if (kind != WhenKind::listed) {
    printer << stringifyWhenKind(kind);
    return;
  }
  printer << '[';
  llvm::interleaveComma(repetitions, printer);
  printer << ']';
}
