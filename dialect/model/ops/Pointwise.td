//===- Pointwise.td - elementwise primitives ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_POINTWISE_TD
#define SLUICE_DIALECT_MODEL_OPS_POINTWISE_TD

include "dialect/model/ModelDialect.td"

/// Operands broadcast as in numpy (trailing dims align, extent 1 repeats); one float element type.
class Model_BinaryOp<string mnemonic, string text, string rule = "pointwiseRule"> : Model_Op<mnemonic, [Model_InferTypes]> {
  let summary = text;
  let arguments = (ins Model_Tensor:$lhs, Model_Tensor:$rhs);
  let results = (outs Model_Tensor:$result);
  let extraClassDefinition = [{
    ::sluice::ShardingRule $cppClass::getShardingRule() { return }] # rule # [{(*this); }
    ::sluice::OpCost $cppClass::getCost() { return pointwiseCost(*this); }
    ::sluice::KernelCall $cppClass::getKernelCall() { return makeCall(*this, KernelId::}] # mnemonic # [{); }
    ::llvm::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *, std::optional<::mlir::Location> location,
                                                      Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return inferBinary(location, "}] # mnemonic # [{", adaptor.getLhs(), adaptor.getRhs(), types);
    }
  }];
}
def Model_AddOp : Model_BinaryOp<"add", "lhs + rhs, broadcasting", "linearRule">;
def Model_SubtractOp : Model_BinaryOp<"subtract", "lhs - rhs, broadcasting", "linearRule">;
def Model_MultiplyOp : Model_BinaryOp<"multiply", "lhs * rhs, broadcasting">;
def Model_DivideOp : Model_BinaryOp<"divide", "lhs / rhs, broadcasting">;
def Model_MaximumOp : Model_BinaryOp<"maximum", "the larger of lhs and rhs, broadcasting; ties share the cotangent">;

class Model_UnaryOp<string mnemonic, string text> : Model_Op<mnemonic, [Model_InferTypes]> {
  let summary = text;
  let arguments = (ins Model_FloatTensor:$operand);
  let results = (outs Model_FloatTensor:$result);
  let extraClassDefinition = [{
    ::sluice::ShardingRule $cppClass::getShardingRule() { return pointwiseRule(*this); }
    ::sluice::OpCost $cppClass::getCost() { return pointwiseCost(*this); }
    ::sluice::KernelCall $cppClass::getKernelCall() { return makeCall(*this, KernelId::}] # mnemonic # [{); }
    ::llvm::LogicalResult $cppClass::inferReturnTypes(::mlir::MLIRContext *, std::optional<::mlir::Location> location,
                                                      Adaptor adaptor, ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return inferSame(adaptor.getOperand(), types);
    }
  }];
}
def Model_NegateOp : Model_UnaryOp<"negate", "-x">;
def Model_ExpOp : Model_UnaryOp<"exp", "e to the x">;
def Model_LogOp : Model_UnaryOp<"log", "natural logarithm">;
def Model_TanhOp : Model_UnaryOp<"tanh", "hyperbolic tangent">;
def Model_SinOp : Model_UnaryOp<"sin", "sine">;
def Model_CosOp : Model_UnaryOp<"cos", "cosine">;
def Model_ErfOp : Model_UnaryOp<"erf", "error function">;
def Model_SqrtOp : Model_UnaryOp<"sqrt", "square root">;
def Model_RsqrtOp : Model_UnaryOp<"rsqrt", "1 / square root">;
def Model_ReluOp : Model_UnaryOp<"relu", "max(x, 0)">;
def Model_SigmoidOp : Model_UnaryOp<"sigmoid", "1 / (1 + exp(-x))">;
def Model_SoftplusOp : Model_UnaryOp<"softplus", "log(1 + exp(x))">;

def Model_ReluGradOp : Model_InactiveOp<"relu_grad", [Model_InferTypes]> {
  let summary = "VJP of relu by its result: dy where y > 0, else 0";
  let arguments = (ins Model_FloatTensor:$dy, Model_FloatTensor:$y);
  let results = (outs Model_FloatTensor:$dx);
  let hasVerifier = 1;
}

def Model_PowerOp : Model_Op<"power", [Model_InferTypes]> {
  let hasFolder = 1;
  let summary = "x to a constant power";
  let arguments = (ins Model_FloatTensor:$operand, F64Attr:$exponent);
  let results = (outs Model_FloatTensor:$result);
}

def Model_ScaleOp : Model_Op<"scale", [Model_InferTypes]> {
  let hasFolder = 1;
  let summary = "x times a constant";
  let arguments = (ins Model_FloatTensor:$operand, F64Attr:$factor);
  let results = (outs Model_FloatTensor:$result);
}

def Model_CompareOp : Model_InactiveOp<"compare", [Model_InferTypes]> {
  let summary = "elementwise comparison, broadcasting, to booleans";
  let description = [{`predicate` is `eq`, `ne`, `lt`, `le`, `gt` or `ge`. Inactive: piecewise constant.}];
  let arguments = (ins Model_Tensor:$lhs, Model_Tensor:$rhs, StrAttr:$predicate);
  let results = (outs Model_BoolTensor:$result);
  let hasVerifier = 1;
}

def Model_SelectOp : Model_Op<"select", [Model_InferTypes]> {
  let summary = "elementwise choice, broadcasting";
  let description = [{`onTrue` where `condition` is not 0, else `onFalse`.}];
  let arguments = (ins Model_BoolTensor:$condition, Model_Tensor:$onTrue, Model_Tensor:$onFalse);
  let results = (outs Model_Tensor:$result);
  let hasVerifier = 1;
}

def Model_CastOp : Model_Op<"cast", []> {
  let extraClassDeclaration = [{ bool keepsResultTypes() { return true; } }];
  let summary = "another element type, rounded to nearest even";
  let arguments = (ins Model_Tensor:$operand);
  let results = (outs Model_Tensor:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // SLUICE_DIALECT_MODEL_OPS_POINTWISE_TD
