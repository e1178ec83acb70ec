# LLVM and MLIR, the parts that the tools use, and tablegen for one folder of dialect or pass definitions.

find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

add_library(sluice_mlir INTERFACE)
target_include_directories(sluice_mlir SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
# Linked from the static libraries: loading MLIR and LLVM as shared libraries took 50 ms of every start, most of a
# tool's time.
set(parts)
set(lacking)
foreach(part MLIROptLib MLIRPluginsLib MLIRRemarkStreamer MLIRObservers MLIRDebug MLIRIRDL MLIRTransforms
        MLIRTransformUtils MLIRRewrite MLIRRewritePDL MLIRPDLToPDLInterp MLIRPDLInterpDialect MLIRPDLDialect MLIRAnalysis
        MLIRPass MLIRParser MLIRAsmParser MLIRBytecodeReader MLIRBytecodeWriter MLIRBytecodeOpInterface MLIRFuncDialect
        MLIRFunctionInterfaces MLIRCallInterfaces MLIRControlFlowInterfaces MLIRInferTypeOpInterface
        MLIRSideEffectInterfaces MLIRDialect MLIRDialectUtils MLIRIR MLIRSupport LLVMRemarks LLVMBitstreamReader
        LLVMSupport LLVMDemangle)
  set(part ${LLVM_LIBRARY_DIR}/lib${part}.a)
  list(APPEND parts ${part})
  if(NOT EXISTS ${part})
    list(APPEND lacking ${part})
  endif()
endforeach()
if(lacking)
  message(STATUS "MLIR and LLVM: linked shared, expected ${lacking}")
  target_link_libraries(sluice_mlir INTERFACE MLIR LLVM)
else()
  list(JOIN parts "," parts)
  target_link_libraries(sluice_mlir INTERFACE "$<LINK_GROUP:RESCAN,${parts}>")
  target_link_options(sluice_mlir INTERFACE -Wl,--gc-sections)
endif()
target_link_libraries(sluice_mlir INTERFACE sluice_options)
# The compiler's run time is mostly MLIR's: less optimisation builds a quarter faster without a visible effect.
target_compile_options(sluice_mlir INTERFACE $<$<CONFIG:Release>:-O1>)
if(NOT LLVM_ENABLE_RTTI)
  target_compile_options(sluice_mlir INTERFACE -fno-rtti)
endif()

# MLIR's headers take most of the time to compile a dialect or a pass, and those of the generated ops for a pass: they
# are precompiled. Code that uses the ops has a separate precompiled header, which is built after their generation.
set(headers
  <mlir/Bytecode/BytecodeOpInterface.h> <mlir/Dialect/Func/IR/FuncOps.h> <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h>
  <mlir/IR/IRMapping.h> <mlir/IR/PatternMatch.h> <mlir/IR/SymbolTable.h> <mlir/Interfaces/ControlFlowInterfaces.h>
  <mlir/Interfaces/InferTypeOpInterface.h> <mlir/Interfaces/SideEffectInterfaces.h> <mlir/Pass/Pass.h>
  <mlir/Pass/PassManager.h>)
sluice_precompiled_headers(sluice_mlir_headers LINK sluice_mlir HEADERS ${headers})
sluice_precompiled_headers(sluice_model_headers LINK sluice_mlir HEADERS ${headers} ${CMAKE_SOURCE_DIR}/dialect/model/Model.h)
add_dependencies(sluice_model_headers sluice_rules_gen sluice_model_gen)
if(SLUICE_SANITIZE STREQUAL "fuzzer")
  set_target_properties(sluice_mlir_headers sluice_model_headers PROPERTIES SLUICE_NOT_SANITIZED ON)
endif()

# sluice_tablegen(target file.td output-prefix generator...): generates files at the source's path in the build tree.
# Generators are names of mlir-tblgen actions with the suffix of the file, as "gen-op-decls=Ops.h.inc".
function(sluice_tablegen target td)
  file(GLOB_RECURSE deps CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/dialect/*.td ${CMAKE_SOURCE_DIR}/passes/*.td)
  set(outputs)
  foreach(pair ${ARGN})
    # The file is the text after the last '='; before it, '|' separates further arguments.
    string(REGEX MATCH "^(.+)=([^=]+)$" _ "${pair}")
    set(action ${CMAKE_MATCH_1})
    set(out ${CMAKE_CURRENT_BINARY_DIR}/${CMAKE_MATCH_2})
    string(REPLACE "|" ";" action "${action}")
    add_custom_command(OUTPUT ${out}
      COMMAND ${MLIR_TABLEGEN_EXE} -${action} -I ${CMAKE_SOURCE_DIR} -I ${MLIR_INCLUDE_DIRS}
              ${CMAKE_CURRENT_SOURCE_DIR}/${td} -o ${out} --write-if-changed
      DEPENDS ${td} ${deps} VERBATIM)
    list(APPEND outputs ${out})
  endforeach()
  add_custom_target(${target} DEPENDS ${outputs})
  set_property(GLOBAL APPEND PROPERTY SLUICE_TABLEGEN_TARGETS ${target})
endfunction()
