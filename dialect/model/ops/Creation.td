//===- Creation.td - tensors out of nothing ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_CREATION_TD
#define SLUICE_DIALECT_MODEL_OPS_CREATION_TD

include "dialect/model/ModelDialect.td"

def Model_ConstantOp : Model_InactiveOp<"constant", []> {
  let summary = "a tensor of one value";
  let arguments = (ins F64Attr:$value);
  let results = (outs Model_Tensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
}
def Model_IotaOp : Model_InactiveOp<"iota", []> {
  let summary = "the index along one dim";
  let arguments = (ins I64Attr:$dim);
  let results = (outs Model_Tensor:$result);
  let assemblyFormat = "$dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}
class Model_RandomOp<string mnemonic> : Model_InactiveOp<mnemonic, []> {
  let description = [{
    Keyed by seed, `key` and global element index (Philox 4x32-10): the same number whatever the sharding. Elements from
    the first global index in `zeros` up to the second, which is not one of them, are 0.
  }];
  let results = (outs Model_FloatTensor:$result);
  let hasVerifier = 1;
}
def Model_RandomNormalOp : Model_RandomOp<"random_normal"> {
  let summary = "normally distributed numbers by counter";
  let arguments = (ins StaticShapeTensorOf<[I64]>:$seed, I64Attr:$key, F64Attr:$mean, F64Attr:$stddev,
                       OptionalAttr<DenseI64ArrayAttr>:$zeros);
}
def Model_RandomUniformOp : Model_RandomOp<"random_uniform"> {
  let summary = "uniformly distributed numbers by counter";
  let arguments = (ins StaticShapeTensorOf<[I64]>:$seed, I64Attr:$key, F64Attr:$low, F64Attr:$high,
                       OptionalAttr<DenseI64ArrayAttr>:$zeros);
}

#endif // SLUICE_DIALECT_MODEL_OPS_CREATION_TD
