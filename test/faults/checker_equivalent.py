"""Sites of the plan checker (checker_sites.py) without which it decides the same: (file, kind, text of the site): reason."""

REDUNDANT = "the next call checks the same"
GATHERED = "a buffer is gathered exactly if it has a unit, and does not persist (P4, P8)"
EQUIVALENT = {
    ("runtime/plan/Checker.cpp", "operand", "buffer->class_ == plan::BufferClass::gathered"): GATHERED,
    ("runtime/plan/Checker.cpp", "operand", "buffer->unit >= 0"): GATHERED,
    ("runtime/plan/Checker.cpp", "limit", "buffer->unit >= 0"): GATHERED,
    ("runtime/plan/Reader.cpp", "operand", "root % sizeof(flatbuffers::uoffset_t) != 0"): REDUNDANT,
    ("runtime/plan/Reader.cpp", "operand", "!verifier.Verify(root, sizeof(flatbuffers::soffset_t))"): REDUNDANT,
    ("runtime/plan/Reader.cpp", "exit",
     "root % sizeof(flatbuffers::uoffset_t) != 0 || !verifier.Verify(root, sizeof(flatbuffers::soffset_t))) return std::nullopt"): REDUNDANT,
    ("runtime/plan/Payload.cpp", "exit", "!take(std::uint64_t(items->size()) * sizeof(flatbuffers::uoffset_t))) return false"):
        "the bytes stay counted, and a later string or list is refused",
    ("runtime/plan/Plan.cpp", "operand", "parameter.dim >= 0"): "no number of dims is -1",
    ("runtime/plan/Plan.cpp", "limit", "parameter.dim >= 0"): "a sharded parameter has a dim (P1)",
    ("runtime/plan/check/Check.cpp", "operand", "aBytes == 0"): "operands without bytes are not compared",
    ("runtime/plan/check/Check.cpp", "operand", "bBytes == 0"): "operands without bytes are not compared",
    ("runtime/plan/check/Declarations.cpp", "operand", "instruction.unit >= 0"): "parts are gathered without a unit (P8)",
    ("runtime/plan/check/Declarations.cpp", "limit", "instruction.unit >= 0"): "parts are gathered without a unit (P8)",
    ("runtime/plan/check/Operands.cpp", "limit", "++interleaved > maxInterleaved * operands.size()"): "the limit of work, by one pair of operands",
    ("runtime/plan/check/WellFormedCode.cpp", "limit", "followed > maxFollowed"): "the limit of work, by one instruction of 67 million",
    ("runtime/plan/check/Operands.cpp", "operand", "plan.buffers[a.buffer]->space == plan.buffers[b.buffer]->space"):
        "the operands of a launch or collective are in one space (P1)",
    ("runtime/plan/check/Replicas.cpp", "refusal", "return write(*fill->destination, 0, i)"): "a constant is equal on all ranks",
    ("runtime/plan/check/GatheredBuffers.cpp", "operand", "record.entry != -1"): GATHERED,
    ("runtime/plan/check/GatheredBuffers.cpp", "operand", "record.class_ == plan::BufferClass::gathered"): GATHERED,
    ("runtime/plan/check/GatheredBuffers.cpp", "operand", "record.unit >= 0"): GATHERED,
    ("runtime/plan/check/GatheredBuffers.cpp", "limit", "record.unit >= 0"): GATHERED,
    ("runtime/plan/check/proof/PaddedChunks.cpp", "operand", "!contents.uniteBounds(a, b)"): "bounds that are not united are different, so the meanings are",
    ("runtime/plan/check/WellFormedCode.cpp", "refusal", 'return site.bad("unknown operation")'): "an unknown operation of a file has no value",
    ("runtime/plan/check/proof/Accumulations.cpp", "exit", "std::ranges::none_of(record.sums, isGiven)) return std::nullopt"):
        "a launch that adds to no sum is computed as by the next rule",
    ("runtime/plan/check/proof/Contents.cpp", "exit", "!normalize(a, fact.meaning.bounds)) return false"):
        "facts do not overlap, so neighbours with the same strides are in one step of each outer loop",
    ("runtime/plan/check/proof/Contents.cpp", "operand", "at.dims == other.at.dims"): "equal dims are equal as one dim",
}
