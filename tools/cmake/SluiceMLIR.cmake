# LLVM and MLIR, linked shared, and tablegen for one folder of dialect or pass definitions.

find_package(MLIR 22.1 REQUIRED CONFIG HINTS /usr/lib/llvm-22/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

add_library(sluice_mlir INTERFACE)
target_include_directories(sluice_mlir SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_link_libraries(sluice_mlir INTERFACE MLIR LLVM)
target_link_libraries(sluice_mlir INTERFACE sluice_options)
if(NOT LLVM_ENABLE_RTTI)
  target_compile_options(sluice_mlir INTERFACE -fno-rtti)
endif()

# Most of the time to compile a pass is MLIR's headers: they are compiled once.
file(WRITE ${CMAKE_BINARY_DIR}/mlir_headers.cpp.in "// The precompiled header's one source.\n")
configure_file(${CMAKE_BINARY_DIR}/mlir_headers.cpp.in ${CMAKE_BINARY_DIR}/mlir_headers.cpp COPYONLY)
add_library(sluice_mlir_headers STATIC ${CMAKE_BINARY_DIR}/mlir_headers.cpp)
target_link_libraries(sluice_mlir_headers PUBLIC sluice_mlir)
target_precompile_headers(sluice_mlir_headers PRIVATE
  <mlir/Bytecode/BytecodeOpInterface.h> <mlir/Dialect/Func/IR/FuncOps.h> <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h>
  <mlir/IR/IRMapping.h> <mlir/IR/PatternMatch.h> <mlir/IR/SymbolTable.h> <mlir/Interfaces/ControlFlowInterfaces.h>
  <mlir/Interfaces/InferTypeOpInterface.h> <mlir/Interfaces/SideEffectInterfaces.h> <mlir/Pass/Pass.h>
  <mlir/Pass/PassManager.h>)

# sluice_tablegen(target file.td output-prefix generator...): files land beside the source's place in the build tree.
# Generators are names of mlir-tblgen actions with the suffix of the file, as "gen-op-decls=Ops.h.inc".
function(sluice_tablegen target td)
  file(GLOB_RECURSE deps CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/dialect/*.td ${CMAKE_SOURCE_DIR}/passes/*.td)
  set(outputs)
  foreach(pair ${ARGN})
    # The file is what stands after the last '='; before it, '|' separates further arguments.
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
