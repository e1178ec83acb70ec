//===- Tables.cpp - all ops of ATen that are imported --------------------------------------===//

#include "passes/import/export/Call.h"
#include "passes/import/export/Import.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace sluice;
using namespace sluice::exported;

llvm::ArrayRef<AtenFamily> exported::atenFamilies() {
  static const AtenFamily families[] = {{"elementwise", pointwiseOps()},
                                        {"functions in f64", functionOps()},
                                        {"special functions", specialOps()},
                                        {"rounding", roundingOps()},
                                        {"activations", activationOps()},
                                        {"movement", shapeOps()},
                                        {"parts and joins", joinOps()},
                                        {"elements by a pattern", rearrangeOps()},
                                        {"indices", indexOps()},
                                        {"writes by index", scatterOps()},
                                        {"reductions", reductionOps()},
                                        {"statistics", statisticsOps()},
                                        {"order and cumulative ops", orderOps()},
                                        {"norms and distances", distanceOps()},
                                        {"products", matrixOps()},
                                        {"norms", normOps()},
                                        {"attention", attentionOps()},
                                        {"losses", lossOps()},
                                        {"losses by margins and distributions", marginOps()},
                                        {"random numbers", randomOps()},
                                        {"creation", creationOps()},
                                        {"convolutions", convolutionOps()},
                                        {"pools", poolingOps()},
                                        {"interpolation and windows", resampleOps()},
                                        {"recurrent networks", recurrentOps()},
                                        {"complex numbers", complexOps()},
                                        {"sums of products", einsumOps()}};
  return families;
}

const AtenOp *exported::findAtenOp(llvm::StringRef name) {
  static const llvm::StringMap<const AtenOp *> ops = [] {
    llvm::StringMap<const AtenOp *> map;
    for (const AtenFamily &family : atenFamilies())
      for (const AtenOp &op : family.ops)
        map[op.name] = &op;
    return map;
  }();
  return ops.lookup(name);
}

llvm::StringRef exported::remedyOf(llvm::StringRef name) {
  // By the name of the op without its overload, and without the underscore of an op in place.
  static const llvm::StringMap<llvm::StringRef> remedies = {
      {"alpha_dropout", "use torch.nn.functional.dropout"},
      {"conv3d", "use conv2d on slices of the depth"},
      {"conv_transpose3d", "use conv_transpose2d on slices of the depth"},
      {"embedding_bag", "use torch.nn.functional.embedding and a sum or mean"},
      {"feature_alpha_dropout", "use torch.nn.functional.dropout"},
      {"feature_dropout", "use torch.nn.functional.dropout"},
      {"histc", "compute it outside of the module"},
      {"index_reduce", "use torch.Tensor.index_add"},
      {"linalg_matrix_norm", "use torch.linalg.vector_norm"},
      {"masked_select", "use torch.where, which keeps the number of elements"},
      {"multinomial", "compute it outside of the module"},
      {"segment_reduce", "use torch.Tensor.index_add"},
      {"to_sparse", "use a dense tensor"},
      {"unique_consecutive", "compute it outside of the module"},
      {"_unique2", "compute it outside of the module"},
  };
  const llvm::StringRef packet = name.split('.').first;
  const auto found = remedies.find(packet.ends_with("_") && !packet.starts_with("__") ? packet.drop_back() : packet);
  return found == remedies.end() ? llvm::StringRef() : found->second;
}

namespace {

/// An argument of a schema with its default; `text` is empty for one without default.
struct SchemaArgument {
  const char *op, *name;
  Argument::Kind kind;
  const char *text;
};

using Kind = Argument::Kind;
constexpr SchemaArgument schemaArguments[] = {
#include "passes/import/export/aten/Schemas.inc"
};

Argument parseDefault(const SchemaArgument &schema) {
  Argument result;
  result.kind = schema.kind;
  llvm::StringRef text = schema.text;
  llvm::SmallVector<llvm::StringRef> items;
  text.split(items, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef item : items) {
    std::int64_t integer = 0;
    double number = 0;
    if (schema.kind == Kind::numbers || schema.kind == Kind::number) {
      (void)item.getAsDouble(number);
      result.numbers.push_back(number);
    } else if (!item.getAsInteger(10, integer)) {
      result.integers.push_back(integer);
    }
  }
  if (schema.kind == Kind::text)
    result.text = text.str();
  return result;
}

} // namespace

const Argument *exported::schemaDefault(llvm::StringRef op, llvm::StringRef argument) {
  static const llvm::StringMap<Argument> defaults = [] {
    llvm::StringMap<Argument> map;
    for (const SchemaArgument &schema : schemaArguments)
      map[(llvm::Twine(schema.op) + "/" + schema.name).str()] = parseDefault(schema);
    return map;
  }();
  const auto found = defaults.find((op + "/" + argument).str());
  return found == defaults.end() ? nullptr : &found->second;
}

std::string exported::supportedOps() {
  const auto quoted = [](llvm::StringRef name) { return ("`" + name + "`").str(); };
  std::string page = "# Ops of ATen\n\nGenerated by tools/generate-docs.sh from the tables in passes/import/export.\n\n"
                     "This page lists the ops that `sluice-import export` reads ([your own PyTorch "
                     "model](../pytorch.md)), by their names in an archive. "
                     "An op in place, such as `add_.Tensor`, is read as the op without the underscore.\n\n| family | "
                     "ops |\n|---|---|\n";
  for (const AtenFamily &family : atenFamilies())
    page += "| " + family.name.str() + " | " +
            llvm::join(llvm::map_range(family.ops, [&](const AtenOp &op) { return quoted(op.name); }), ", ") + " |\n";
  return page +
         "\nIf no operand depends on an input, a parameter or a buffer that the forward writes, these ops are "
         "evaluated instead: " +
         llvm::join(llvm::map_range(evaluatedOps(), quoted), ", ") + ".\n";
}
