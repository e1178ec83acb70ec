//===- SpmdDialect.td - where each piece lives, what crosses ranks ----------------===//
#ifndef SLUICE_DIALECT_SPMD_SPMDDIALECT_TD
#define SLUICE_DIALECT_SPMD_SPMDDIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialect/rules/Enums.td"
include "dialect/rules/Rules.td"

def Spmd_Dialect : Dialect {
  let name = "spmd";
  let cppNamespace = "::sluice::spmd";
  let summary = "where each piece lives and what crosses ranks: local tensors, named axes, asynchronous collectives";
  let description = [{
    ```
    model -> spmd -> plan
    ```
    One `func.func` per entry point over *local* tensors; compute ops are model ops on local types. Parameters and states
    are arguments and results, donated: argument attributes `spmd.parameter` (symbol), `spmd.state` (name; absent for the
    parameter itself), `spmd.input` (name of a host input; `spmd.per_repetition` where each micro-batch has its own),
    result attributes `spmd.donates` (argument number whose memory the result takes over) and `spmd.output` (name of a
    host output). The body is a list of `spmd.section` ops and `func.return`. A shard's type carries
    `#spmd.sharding`; nothing else depends on the rank. Compute ops keep `model.block`, `model.phase`, `model.ids`;
    collectives and releases carry `unit` and `model.phase`.
    True on exit of the sharding phase: no `model.read`, `write`, `gradient`, `step_mean`, `block`, `checkpoint` or
    `recompute` is left in entry points; every move between ranks is a collective of this dialect; local extent x axes =
    padded global extent.
  }];
  let discardableAttrs = (ins
    // On arguments of entry points.
    "::mlir::FlatSymbolRefAttr":$parameter,
    "::mlir::StringAttr":$state,
    "::mlir::StringAttr":$input,
    "::mlir::UnitAttr":$per_repetition,
    "::sluice::spmd::MemorySpaceAttr":$space,
    // On results of entry points.
    "::mlir::IntegerAttr":$donates,
    "::mlir::StringAttr":$output,
    // On ops of sections.
    "::sluice::spmd::WhenAttr":$when,
    "::sluice::spmd::StreamKindAttr":$stream,
    "::mlir::ArrayAttr":$places,
    "::mlir::ArrayAttr":$unshard
  );
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

class Spmd_Attr<string name, string mnemonicName, list<Trait> traits = []> : AttrDef<Spmd_Dialect, name, traits> {
  let mnemonic = mnemonicName;
}

def Spmd_WhenAttr : Rules_WhenAttr<Spmd_Dialect>;
def Spmd_ReductionKindAttr : Rules_EnumAttr<Spmd_Dialect, Rules_ReductionKind, "reduction">;
def Spmd_SyncModeAttr : Rules_EnumAttr<Spmd_Dialect, Rules_SyncMode, "sync">;
def Spmd_MemorySpaceAttr : Rules_EnumAttr<Spmd_Dialect, Rules_MemorySpace, "space">;
def Spmd_StreamKindAttr : Rules_EnumAttr<Spmd_Dialect, Rules_StreamKind, "stream">;

def Spmd_TokenType : TypeDef<Spmd_Dialect, "Token"> {
  let mnemonic = "token";
  let summary = "a collective in flight";
}

class Spmd_Op<string mnemonic, list<Trait> traits = []> : Op<Spmd_Dialect, mnemonic, traits>;

def Spmd_Tensor : StaticShapeTensorOf<[F32, F64, BF16, F16, I32, I64, UI<8>]>;

#endif // SLUICE_DIALECT_SPMD_SPMDDIALECT_TD
