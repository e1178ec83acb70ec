//===- Shapes.cpp - the shapes of entry points as text ------------------------------------===//

#include "passes/import/Shapes.h"

#include "runtime/base/Text.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

namespace sluice {

Result<std::vector<RowShape>> readShapes(const std::string &option, const std::vector<std::string> &texts) {
  std::vector<RowShape> shapes;
  for (const std::string &text : texts) {
    RowShape shape;
    const auto [batch, sequence] = llvm::StringRef(text).split('x');
    const auto isExtent = [](llvm::StringRef digits, std::int64_t &value) {
      return !digits.getAsInteger(10, value) && value >= 1 && value <= mostExtent;
    };
    if (!isExtent(batch, shape.batch) || !isExtent(sequence, shape.sequence))
      return Status(StatusCode::usage, concat(option, ", expected rows and tokens such as 8x512, each from 1 to ",
                                              mostExtent, ", but got '", printable(text), "'"));
    if (llvm::is_contained(shapes, shape))
      return Status(StatusCode::usage, concat(option, " has the shape ", text, " twice"))
          .withNote("each shape becomes one entry point");
    shapes.push_back(shape);
  }
  return shapes;
}

std::string entryNameOf(const std::string &entry, const RowShape &shape) {
  return concat(entry, "_", shape.batch, "x", shape.sequence);
}

} // namespace sluice
