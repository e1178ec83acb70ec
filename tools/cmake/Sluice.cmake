# Settings and functions that every folder uses.

add_library(sluice_options INTERFACE)
target_include_directories(sluice_options INTERFACE
  $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}> $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}> $<INSTALL_INTERFACE:include>)
target_compile_features(sluice_options INTERFACE cxx_std_20)
# GCC 12 sees overlaps in std::string that are not there (GCC bug 105651).
target_compile_options(sluice_options INTERFACE $<BUILD_INTERFACE:-Wall> $<BUILD_INTERFACE:-Wextra>
  $<BUILD_INTERFACE:-Wno-unused-parameter> $<BUILD_INTERFACE:$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>>)
if(SLUICE_SANITIZE STREQUAL "address")
  set(flags -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined -g1)
elseif(SLUICE_SANITIZE STREQUAL "thread")
  set(flags -fsanitize=thread -fno-omit-frame-pointer -g1)
elseif(SLUICE_SANITIZE STREQUAL "fuzzer")
  # For libFuzzer, which only Clang has; test/fuzz links its main function. Warnings are those of the other builds. Line
  # numbers would take a tenth of the build time, and a call for each comparison a quarter of the run time of a target.
  set(flags -fsanitize=fuzzer-no-link,address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined
            -fno-sanitize-coverage=trace-cmp -w)
elseif(SLUICE_SANITIZE)
  message(FATAL_ERROR "SLUICE_SANITIZE is '${SLUICE_SANITIZE}': expected address, thread, fuzzer or nothing")
endif()
# Of a folder: its code is not sanitized. The fuzz targets read no untrusted bytes in the dialects, which take most of the build time.
define_property(TARGET PROPERTY SLUICE_NOT_SANITIZED INHERITED)
if(SLUICE_SANITIZE)
  target_compile_options(sluice_options INTERFACE "$<$<NOT:$<BOOL:$<TARGET_PROPERTY:SLUICE_NOT_SANITIZED>>>:${flags}>")
  target_link_options(sluice_options INTERFACE ${flags})
endif()

# Headers take most of the time to compile a file of the runtime: several files at once take a third of it, and the
# headers of the plan and of the library's containers are precompiled. With OFF each file is compiled alone, which shows
# missing includes and recompiles only changed files.
option(SLUICE_UNITY "compile several files of the runtime at once, and the largest headers once" ON)

# sluice_precompiled_headers(NAME; LINK libraries...; HEADERS...): a header that others' REUSE_FROM takes.
function(sluice_precompiled_headers name)
  cmake_parse_arguments(ARG "" "" "LINK;HEADERS" ${ARGN})
  file(WRITE ${CMAKE_BINARY_DIR}/${name}.cpp.in "// The precompiled header's one source.\n")
  configure_file(${CMAKE_BINARY_DIR}/${name}.cpp.in ${CMAKE_BINARY_DIR}/${name}.cpp COPYONLY)
  add_library(${name} STATIC ${CMAKE_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
  # Not from the compiler cache, which may return the precompiled header of another clone, with that clone's generated headers.
  set_target_properties(${name} PROPERTIES C_COMPILER_LAUNCHER "" CXX_COMPILER_LAUNCHER "")
endfunction()

# sluice_library(NAME folder-relative sources by glob; LINK libraries...)
# A static library of all .cpp files in the calling folder (not below it; with RECURSE, also below). MLIR: its sources
# share one precompiled header of MLIR's; MODEL: one of MLIR's and the model dialect's; PLAN: one of the plan's. The
# compile options of PRIVATE libraries apply only here. UNITY: number of files that are compiled at once; their file-local names must
# differ.
function(sluice_library name)
  cmake_parse_arguments(ARG "RECURSE;MLIR;MODEL;PLAN" "UNITY" "LINK;PRIVATE" ${ARGN})
  if(ARG_RECURSE)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cpp)
  else()
    file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  endif()
  if(NOT sources)
    # Only headers.
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE sluice_options ${ARG_LINK})
    return()
  endif()
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC sluice_options ${ARG_LINK} PRIVATE ${ARG_PRIVATE})
  if(ARG_UNITY AND SLUICE_UNITY)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${ARG_UNITY})
  endif()
  get_directory_property(plain SLUICE_NOT_SANITIZED)
  if(SLUICE_SANITIZE STREQUAL "fuzzer" AND (ARG_MLIR OR ARG_MODEL) AND NOT plain)
    # The precompiled headers of MLIR are not sanitized.
  elseif(ARG_MLIR)
    target_precompile_headers(${name} REUSE_FROM sluice_mlir_headers)
  elseif(ARG_MODEL)
    target_precompile_headers(${name} REUSE_FROM sluice_model_headers)
  elseif(ARG_PLAN AND SLUICE_UNITY)
    target_precompile_headers(${name} REUSE_FROM sluice_plan_headers)
  endif()
endfunction()

# sluice_shared_library(NAME OUTPUT MAP): a shared library lib/libOUTPUT.so of the static libraries that it links, which exports
# the functions of a linker's version script. Libraries that its code does not use are not needed; others are found next to it first.
function(sluice_shared_library name output map)
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${output} SOVERSION 1 CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib LINK_DEPENDS ${map}
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "\$ORIGIN")
  target_link_options(${name} PRIVATE LINKER:--version-script=${map} LINKER:--exclude-libs,ALL LINKER:--gc-sections
    LINKER:--as-needed LINKER:--no-undefined LINKER:--disable-new-dtags)
endfunction()

# sluice_without_cuda(NAME; files...): in a build without CUDA the library does not contain these files.
function(sluice_without_cuda name)
  if(SLUICE_CUDA_HOST)
    return()
  endif()
  get_target_property(sources ${name} SOURCES)
  file(GLOB left_out ${ARGN})
  list(REMOVE_ITEM sources ${left_out})
  set_target_properties(${name} PROPERTIES SOURCES "${sources}")
  target_compile_definitions(${name} PRIVATE SLUICE_WITHOUT_CUDA=1)
endfunction()

# sluice_test(NAME; LINK libraries...; HEADERS name; UNITY n): a GoogleTest program of all .cpp files in the calling folder.
# HEADERS: the precompiled header that they share. UNITY: number of files that are compiled at once, 7 by default.
function(sluice_test name)
  cmake_parse_arguments(ARG "" "HEADERS;UNITY" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE sluice_options ${ARG_LINK} GTest::gtest GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE SLUICE_SOURCE_DIR="${CMAKE_SOURCE_DIR}" SLUICE_BINARY_DIR="${CMAKE_BINARY_DIR}")
  sluice_test_program(${name} ${ARG_UNITY})
  if(ARG_HEADERS AND SLUICE_UNITY)
    target_precompile_headers(${name} REUSE_FROM ${ARG_HEADERS})
    # With the compile options of the header's library.
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${name} PRIVATE -fPIC)
  endif()
  sluice_add_tests(${name})
endfunction()

# sluice_add_tests(NAME [PREFIX prefix] [ENVIRONMENT VARIABLE=value...]): each test case of a GoogleTest program is a test of ctest, by the name
# prefix.Suite.Case; the prefix is the program's name by default.
function(sluice_add_tests name)
  cmake_parse_arguments(ARG "" "PREFIX" "ENVIRONMENT" ${ARGN})
  if(NOT ARG_PREFIX)
    set(ARG_PREFIX ${name})
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 TEST_PREFIX ${ARG_PREFIX}.
                       PROPERTIES TIMEOUT 900 ENVIRONMENT "${ARG_ENVIRONMENT}")
endfunction()

# sluice_test_program(NAME [BATCH]): compile options of a test. Its run time is that of the libraries that it calls; its own
# functions and headers are compiled with less optimisation. -O0 would save a further third, but the linker might then use its
# copies of inline functions for the libraries too.
function(sluice_test_program name)
  set(batch ${ARGN} 7)
  list(GET batch 0 batch)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  if(SLUICE_UNITY)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch})
  endif()
endfunction()
