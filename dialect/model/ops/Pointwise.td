//===- Pointwise.td - elementwise primitives ---===//
#ifndef SLUICE_DIALECT_MODEL_OPS_POINTWISE_TD
#define SLUICE_DIALECT_MODEL_OPS_POINTWISE_TD

include "dialect/model/ModelDialect.td"

/// Operands broadcast as in numpy (trailing dims align, extent 1 repeats); one float element type.
class Model_BinaryOp<string mnemonic, string text, list<Trait> traits = []>
    : Model_Op<mnemonic, !listconcat([Model_InferBy<"return inferBinary(location, \"" # mnemonic # "\", operands, types);">], traits)> {
  let summary = text;
  let description = [{See `model.add`.}];
  let arguments = (ins Model_Tensor:$lhs, Model_Tensor:$rhs);
  let results = (outs Model_Tensor:$result);
  let flopsPerElement = "1";
}
def Model_AddOp : Model_BinaryOp<"add", "lhs + rhs, broadcasting", [DeclareOpInterfaceMethods<ScaleOrBiasOpInterface>]> {
  let description = [{
    **Semantics.** `lhs + rhs`, `lhs - rhs`, `lhs * rhs`, `lhs / rhs`, the larger of the two (NaN where either is), elementwise with broadcasting.

    **Inputs.** `lhs`, `rhs`: tensors of any element type. **Outputs.** `result`: follows (broadcast shape, the operands' element type).

    **Constraints.** (binary_c1) the shapes broadcast. (binary_c2) the element types are equal.

    **Derivative.** add: `dy`, `dy`. subtract: `dy`, `-dy`. multiply: `dy rhs`, `dy lhs`. divide: `dy / rhs`, `-(dy / rhs) y`. maximum: dy to the larger side, half to
    each on a tie. Each summed over the dims along which its operand was repeated.

    ```mlir
    %y = model.add %x, %bias : (tensor<4x64xf32>, tensor<64xf32>) -> tensor<4x64xf32>
    %y1 = model.subtract %x, %bias : (tensor<4x64xf32>, tensor<64xf32>) -> tensor<4x64xf32>
    %y2 = model.multiply %x, %bias : (tensor<4x64xf32>, tensor<64xf32>) -> tensor<4x64xf32>
    %y3 = model.divide %x, %bias : (tensor<4x64xf32>, tensor<64xf32>) -> tensor<4x64xf32>
    %y4 = model.maximum %x, %bias : (tensor<4x64xf32>, tensor<64xf32>) -> tensor<4x64xf32>
    ```
  }];
}
def Model_SubtractOp : Model_BinaryOp<"subtract", "lhs - rhs, broadcasting">;
def Model_MultiplyOp : Model_BinaryOp<"multiply", "lhs * rhs, broadcasting">;
def Model_DivideOp : Model_BinaryOp<"divide", "lhs / rhs, broadcasting">;
def Model_MaximumOp : Model_BinaryOp<"maximum", "the larger of lhs and rhs, broadcasting; ties share the cotangent">;

class Model_UnaryOp<string mnemonic, string text> : Model_Op<mnemonic, [Model_ResultsLike<["operand"]>]> {
  let assemblyFormat = Model_UnaryFormat<"operand", "result">.text;
  let summary = text;
  let description = [{See `model.exp`.}];
  let arguments = (ins Model_FloatTensor:$operand);
  let results = (outs Model_FloatTensor:$result);
  let flopsPerElement = "1";
}
def Model_NegateOp : Model_UnaryOp<"negate", "-x">;
def Model_ExpOp : Model_UnaryOp<"exp", "e to the x"> {
  let description = [{
    **Semantics.** `-x`, e to the x, the natural logarithm, the hyperbolic tangent, sine, cosine, the error function, the square root, 1 / square root, `max(x, 0)`, elementwise.

    **Inputs.** `operand`: tensor of float. **Outputs.** `result`: the operand's type.

    **Derivative.** relu: `relu_grad` by its result, so x need not be kept: `dy` where `y > 0`, else 0. Inactive. (relu_grad_c1) `dy` is as y. negate: `-dy`. exp: `dy y`. log: `dy / x`. tanh: `dy - dy (y y)`. sin: `dy cos x`. cos: `-dy sin x`. erf: `dy (2/sqrt(pi)) exp(-x x)`. sqrt: `(dy/2) / y`. rsqrt: `-(dy y)/2 / x`.

    ```mlir
    %y = model.exp %x : tensor<4x64xf32>
    %y2 = model.negate %x : tensor<4x64xf32>
    %y3 = model.log %x : tensor<4x64xf32>
    %y4 = model.sin %x : tensor<4x64xf32>
    %y5 = model.cos %x : tensor<4x64xf32>
    %y6 = model.erf %x : tensor<4x64xf32>
    %y7 = model.sqrt %x : tensor<4x64xf32>
    %y8 = model.rsqrt %x : tensor<4x64xf32>
    %y9 = model.relu %x : tensor<4x64xf32>
    ```

    ```mlir
    %dx = model.relu_grad %dy, %y : (tensor<3x5xf32>, tensor<3x5xf32>) -> tensor<3x5xf32>
    ```
  }];
}
def Model_LogOp : Model_UnaryOp<"log", "natural logarithm">;
def Model_TanhOp : Model_UnaryOp<"tanh", "hyperbolic tangent">;
def Model_SinOp : Model_UnaryOp<"sin", "sine">;
def Model_CosOp : Model_UnaryOp<"cos", "cosine">;
def Model_ErfOp : Model_UnaryOp<"erf", "error function">;
def Model_SqrtOp : Model_UnaryOp<"sqrt", "square root">;
def Model_RsqrtOp : Model_UnaryOp<"rsqrt", "1 / square root">;
def Model_ReluOp : Model_UnaryOp<"relu", "max(x, 0)">;
def Model_SigmoidOp : Model_UnaryOp<"sigmoid", "1 / (1 + exp(-x))"> {
  let description = [{
    **Semantics.** `1 / (1 + exp(-x))`; `log(1 + exp(x))`, computed as `max(x, 0) + log1p(exp(-|x|))`.

    **Derivative.** sigmoid: `dy (y - y y)`. softplus: `dy sigmoid(x)`.

    ```mlir
    %y = model.sigmoid %x : tensor<4x64xf32>
    %y1 = model.softplus %x : tensor<4x64xf32>
    ```
  }];
}
def Model_SoftplusOp : Model_UnaryOp<"softplus", "log(1 + exp(x))"> {
  let description = [{See `model.sigmoid`.}];
}

def Model_ReluGradOp : Model_InactiveOp<"relu_grad", [Model_ResultsLike<["y"]>, Model_TypesAgree<["dy", "y"]>]> {
  let summary = "VJP of relu by its result: dy where y > 0, else 0";
  let arguments = (ins Model_FloatTensor:$dy, Model_FloatTensor:$y);
  let results = (outs Model_FloatTensor:$dx);
  let flopsPerElement = "1";
}

def Model_PowerOp : Model_Op<"power", [Model_ResultsLike<["operand"]>]> {
  let hasFolder = 1;
  let summary = "x to a constant power";
  let description = [{
    **Semantics.** x to the constant `exponent`. An exponent of 1 folds to x.

    **Derivative.** `dy (exponent x^(exponent - 1))`; zero for an exponent of 0.

    ```mlir
    %y = model.power %x {exponent = 3.0 : f64} : tensor<4xf32>
    ```
  }];
  let assemblyFormat = Model_UnaryFormat<"operand", "result">.text;
  let arguments = (ins Model_FloatTensor:$operand, F64Attr:$exponent);
  let results = (outs Model_FloatTensor:$result);
  let flopsPerElement = "1";
}

def Model_ScaleOp : Model_Op<"scale", [Model_ResultsLike<["operand"]>]> {
  let hasFolder = 1;
  let summary = "x times a constant";
  let description = [{
    **Semantics.** `x * factor`, factor rounded to the element type's computation (f32, f64 for f64). A factor of 1 folds to x.

    **Derivative.** `dy * factor`.

    ```mlir
    %y = model.scale %x {factor = 0.125 : f64} : tensor<4xf32>
    ```
  }];
  let assemblyFormat = Model_UnaryFormat<"operand", "result">.text;
  let arguments = (ins Model_FloatTensor:$operand, F64Attr:$factor);
  let results = (outs Model_FloatTensor:$result);
  let flopsPerElement = "1";
}

def Model_CompareOp : Model_InactiveOp<"compare", [Model_InferTypes, AllElementTypesMatch<["lhs", "rhs"]>]> {
  let summary = "elementwise comparison, broadcasting, to booleans";
  let description = [{
    **Semantics.** 1 where the comparison holds, else 0, with broadcasting. `predicate`: `eq`, `ne`, `lt`, `le`, `gt`, `ge`. Comparisons with NaN do not hold, but `ne` does.
    Inactive: piecewise constant.

    **Inputs.** `lhs`, `rhs`: tensors of any element type. **Outputs.** `result`: boolean, follows.

    **Constraints.** (compare_c1) the predicate is one of the six. (compare_c2) the element types are equal. The shapes broadcast.

    ```mlir
    %m = model.compare %x, %zero {predicate = #model.predicate<gt>} : (tensor<4xf32>, tensor<f32>) -> tensor<4xui8>
    ```
  }];
  let arguments = (ins Model_Tensor:$lhs, Model_Tensor:$rhs, Model_ComparePredicateAttr:$predicate);
  let results = (outs Model_BoolTensor:$result);
  let flopsPerElement = "1";
}

def Model_SelectOp : Model_Op<"select", [Model_InferTypes, AllElementTypesMatch<["onTrue", "onFalse"]>]> {
  let summary = "elementwise choice, broadcasting";
  let description = [{
    **Semantics.** `onTrue` where `condition` is not 0, else `onFalse`, with broadcasting of all three.

    **Constraints.** (select_c1) `onTrue` and `onFalse` have one element type. (select_c2) the shapes broadcast.

    **Derivative.** dy to the selected side.

    ```mlir
    %y = model.select %m, %x, %zero : (tensor<4xui8>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    ```
  }];
  let arguments = (ins Model_BoolTensor:$condition, Model_Tensor:$onTrue, Model_Tensor:$onFalse);
  let results = (outs Model_Tensor:$result);
  let flopsPerElement = "1";
}

def Model_CastOp : Model_Op<"cast", [AllShapesMatch<["operand", "result"]>]> {
  let extraClassDeclaration = [{ bool keepsResultTypes() { return true; } }];
  let summary = "conversion to an element type, rounded to nearest even";
  let description = [{
    **Semantics.** Conversion to the element type of the result. Float to narrower float rounds to nearest, ties to even; float to integer truncates towards zero; a number that is not 0 becomes boolean 1.
    A cast to the same type folds. Keeps its result type under every compute precision.

    **Constraints.** (cast_c1) operand and result have one shape.

    **Derivative.** dy cast back; none through an integer or boolean.

    ```mlir
    %y = model.cast %x : (tensor<4xf32>) -> tensor<4xbf16>
    ```
  }];
  let arguments = (ins Model_Tensor:$operand);
  let results = (outs Model_Tensor:$result);
  let hasFolder = 1;
  let flopsPerElement = "0";
}

#endif // SLUICE_DIALECT_MODEL_OPS_POINTWISE_TD
