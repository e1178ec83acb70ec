//===- Roles.td - roles of axes, ports and sections --------------------------------------===//
//
// As enums in namespace sluice (dialect/rules/Roles.h). The schema of plans has the same ones. The kinds of streams are in
// Enums.td.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECT_RULES_ROLES_TD
#define SLUICE_DIALECT_RULES_ROLES_TD

include "mlir/IR/EnumAttr.td"

/// An enum with the named cases, numbered from 0. Not Rules_Enum: its file would generate its enums here again.
class Roles_Enum<string name, string text, list<string> words>
    : I32Enum<name, text, !foreach(i, !range(!size(words)), I32EnumCase<words[i], i>)> {
  let cppNamespace = "::sluice";
}

/// What the ranks along an axis of the mesh divide.
def Rules_AxisRole : Roles_Enum<"AxisRole", "a role of a mesh axis", ["replicate", "shard", "tensor", "expert"]>;

/// The meaning of a port; `data`: no other. First the inputs, then the outputs, then inputs of later versions: one
/// whose values are in the plan, and the documents of a row's tokens.
def Rules_PortRole : Roles_Enum<"PortRole", "a role of a port",
  ["data", "tokens", "targets", "learning_rate", "step", "seed", "row", "loss_scale",
   "loss", "rank_loss", "gradient_norm", "guard", "logits", "counted",
   "constant", "documents"]>;

/// The work of a section: the micro-batches and the update of a training step, a step without an update, the computation
/// of the initial weights.
def Rules_SectionKind : Roles_Enum<"SectionKind", "a section kind", ["microbatch", "update", "forward", "init"]>;

#endif // SLUICE_DIALECT_RULES_ROLES_TD
