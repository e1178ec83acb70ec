//===- ToyOps.td - a collective outside of the repository's dialects ------------------===//
#ifndef SLUICE_TEST_UNIT_PASSES_COLLECTIVE_TOYOPS_TD
#define SLUICE_TEST_UNIT_PASSES_COLLECTIVE_TOYOPS_TD

include "dialect/spmd/CollectiveOpInterface.td"
include "dialect/spmd/SpmdDialect.td"

def Toy_Dialect : Dialect {
  let name = "toy";
  let cppNamespace = "::sluice::toy";
  let summary = "collectives of the tests";
}

def Toy_AllToAllStartOp : Op<Toy_Dialect, "all_to_all_start",
    [DeclareOpInterfaceMethods<CollectiveOpInterface>, DeclareOpInterfaceMethods<CostOpInterface>]> {
  let summary = "starts exchanging chunks along one dim for chunks along another";
  let description = [{
    Each rank splits dim `from` of an operand into one chunk for each rank and joins the chunks that it receives along dim
    `to`. Extents are multiples of the number of ranks.
  }];
  let arguments = (ins Variadic<Spmd_Tensor>:$operands, StrArrayAttr:$axes, I64Attr:$from, I64Attr:$to);
  let results = (outs Spmd_TokenType:$token);
  let assemblyFormat = "$operands `over` $axes `from` $from `to` $to attr-dict `:` type($operands)";
  let extraClassDeclaration = [{
    ::llvm::SmallVector<::mlir::Type> getValueTypes();
    ::mlir::RankedTensorType getSourceChunk(unsigned index);
    ::mlir::RankedTensorType getDestinationChunk(unsigned index);
  }];
}

#endif // SLUICE_TEST_UNIT_PASSES_COLLECTIVE_TOYOPS_TD
