//===- Enums.td - enums of the dialects ------------------------------------------------===//
//
// Each set is declared here once and generated as a C++ enum in namespace sluice (dialect/rules/Enums.h). A dialect that
// holds one in an attribute wraps it with Rules_EnumAttr, which prints as `#<dialect>.<mnemonic><word>`, and as `<word>`
// in the assembly format of an op.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECT_RULES_ENUMS_TD
#define SLUICE_DIALECT_RULES_ENUMS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/Interfaces.td"

/// An enum with the named cases, numbered from 0.
class Rules_Enum<string name, string text, list<string> words>
    : I32Enum<name, text, !foreach(i, !range(!size(words)), I32EnumCase<words[i], i>)> {
  let cppNamespace = "::sluice";
}

def EnumAttrInterface : AttrInterface<"EnumAttrInterface"> {
  let cppNamespace = "::sluice";
  let description = [{An attribute that holds a case of an enum.}];
  let methods = [
    InterfaceMethod<"The name of the case.", "::llvm::StringRef", "getCaseName", (ins), "",
                    "return stringifyEnum($_attr.getValue());">,
  ];
}

/// A dialect's attribute that holds an enum.
class Rules_EnumAttr<Dialect owner, EnumInfo info, string mnemonicName>
    : EnumAttr<owner, info, mnemonicName, [EnumAttrInterface]> {
  let cppNamespace = owner.cppNamespace;
  let assemblyFormat = "`<` $value `>`";
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// A loss to train on, a loss to report, a function that is run unchanged, and the entry point of the initial weights.
def Rules_EntryKind : Rules_Enum<"EntryKind", "an entry-point kind", ["train", "eval", "forward", "init"]>;

/// Phases of a step, in order; `init` in the entry point of the initial weights.
def Rules_Phase : Rules_Enum<"Phase", "a phase", ["forward", "loss", "backward", "update", "init"]>;

/// In which repetitions of a section an op is issued; `listed`: in those of a list (When.h).
def Rules_WhenKind : Rules_Enum<"WhenKind", "a repetition word",
  ["all", "first", "not_first", "last", "not_last", "listed"]>;

/// From the host to the step, or back.
def Rules_PortDirection : Rules_Enum<"PortDirection", "a port direction", ["input", "output"]>;

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

def Rules_CollectiveKind : Rules_Enum<"CollectiveKind", "a collective",
  ["all_gather", "reduce_scatter", "all_reduce", "broadcast", "all_to_all"]>;

/// How a collective combines the ranks' values; `premul_sum`: the sum of scaled values.
def Rules_ReductionKind : Rules_Enum<"ReductionKind", "a reduction", ["none", "sum", "mean", "premul_sum", "max"]>;

/// How partial results of a split reduced factor are combined; `logsumexp` is log(sum(exp(partial))). `mean` is in no
/// sharding rule: gradients of different rows of data are combined by it.
def Rules_PartialReduction : Rules_Enum<"PartialReduction", "a reduction of partial results",
  ["none", "sum", "max", "logsumexp", "mean"]>;

/// The micro-batches in which a unit's gradients are reduced: every one; or every one within the shards, and the last one
/// over replicas.
def Rules_SyncMode : Rules_Enum<"SyncMode", "a sync mode", ["every", "reduce_scatter_only"]>;

//===----------------------------------------------------------------------===//
// Memory and streams
//===----------------------------------------------------------------------===//

def Rules_MemorySpace : Rules_Enum<"MemorySpace", "a memory space", ["device", "host"]>;

/// The processor that executes a stream.
def Rules_Processor : Rules_Enum<"Processor", "a processor", ["device", "host"]>;

/// Streams, by the work that they execute.
def Rules_StreamKind : Rules_Enum<"StreamKind", "a stream",
  ["compute", "gather", "reduce", "tensor", "fetch", "offload", "host"]>;

/// Classes of the memory account.
def Rules_BufferClass : Rules_Enum<"BufferClass", "a buffer class",
  ["parameter", "gathered", "gradient_shard", "gradient", "optimizer", "activation", "temporary", "state", "communication", "workspace", "input"]>;

//===----------------------------------------------------------------------===//
// Attributes of compute ops
//===----------------------------------------------------------------------===//

/// The distribution of a parameter's initial value.
def Rules_InitializerKind : Rules_Enum<"InitializerKind", "an initializer",
  ["zeros", "ones", "constant", "normal", "uniform"]>;

/// By erf (`none`) or by tanh.
def Rules_GeluApproximation : Rules_Enum<"GeluApproximation", "an approximation of GELU", ["none", "tanh"]>;

def Rules_LossReduction : Rules_Enum<"LossReduction", "a reduction of a loss", ["mean", "sum"]>;

def Rules_ComparePredicate : Rules_Enum<"ComparePredicate", "a predicate", ["eq", "ne", "lt", "le", "gt", "ge"]>;

def Rules_RopeScaling : I32Enum<"RopeScaling", "a scaling of rotary frequencies",
    [I32EnumCase<"unscaled", 0, "default">, I32EnumCase<"linear", 1>, I32EnumCase<"llama3", 2>]> {
  let cppNamespace = "::sluice";
}

//===----------------------------------------------------------------------===//
// When
//===----------------------------------------------------------------------===//

/// The parameter of an attribute that says in which repetitions an op is issued; see When.h.
def Rules_When : AttrOrTypeParameter<"::sluice::When", "the repetitions of a section"> {
  let allocator = "$_dst = $_self.copyInto($_allocator);";
  let parser = "::sluice::When::parse($_parser)";
  let printer = "$_self.print($_printer)";
  let syntax = "`all` | `first` | `not_first` | `last` | `not_last` | `[` integer (`,` integer)* `]`";
}

/// A dialect's attribute that holds a When.
class Rules_WhenAttr<Dialect owner> : AttrDef<owner, "When"> {
  let mnemonic = "when";
  let summary = "the repetitions of a section in which an op is issued";
  let description = [{
    A word, or a list of repetitions from 0, increasing. Without such an attribute an op is issued in all repetitions.
  }];
  let parameters = (ins Rules_When:$value);
  let assemblyFormat = "`<` $value `>`";
  let genVerifyDecl = 1;
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify(::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError,
                                            ::sluice::When value) {
      return value.verify(emitError);
    }
  }];
  let returnType = "::sluice::When";
  let convertFromStorage = "$_self.getValue()";
  let constBuilderCall = cppNamespace # "::WhenAttr::get($_builder.getContext(), $0)";
}

#endif // SLUICE_DIALECT_RULES_ENUMS_TD
