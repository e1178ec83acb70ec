# Installs the build, builds docs/examples/own-trainer against the installation, and runs it.
#
#   cmake -DSOURCE=... -DBUILD=... -DGENERATOR=... -DLAUNCHER=... -DCOMPILER=ON|OFF -P own-trainer.cmake

set(work ${BUILD}/own-trainer)
file(REMOVE_RECURSE ${work}/prefix)
file(MAKE_DIRECTORY ${work})

include(${SOURCE}/test/docs/example.cmake)

run(install ${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/prefix)
run(configure ${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE}/docs/examples/own-trainer -B ${work}/build
    -DCMAKE_PREFIX_PATH=${work}/prefix -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -DCMAKE_BUILD_TYPE=Release)
run(build ${CMAKE_COMMAND} --build ${work}/build)

file(STRINGS ${SOURCE}/docs/examples/own-trainer/main.cpp lines)
list(LENGTH lines count)
if(count GREATER 60)
  message(FATAL_ERROR "main.cpp has ${count} lines, expected a trainer of at most 60")
endif()

# A file that is no plan gives the exit code of a refusal, and the reason.
file(WRITE ${work}/none.plan "this is no plan")
execute_process(COMMAND ${work}/build/own-trainer none.plan 1 WORKING_DIRECTORY ${work} RESULT_VARIABLE code
                ERROR_VARIABLE out)
if(NOT code EQUAL 4 OR NOT out MATCHES "^error: ")
  message(FATAL_ERROR "no plan: expected exit 4 with an error but got exit ${code}\n${out}")
endif()

if(NOT COMPILER)
  message(STATUS "built against the installation; not run on a plan: this build has no compiler")
  return()
endif()
compile_small_plan()
run(train ${work}/build/own-trainer model.plan 30)
string(REGEX MATCHALL "loss [0-9.]+" losses "${output}")
list(LENGTH losses count)
if(NOT count EQUAL 30)
  message(FATAL_ERROR "expected 30 losses but got ${count}\n${output}")
endif()
list(GET losses 0 first)
list(GET losses 29 last)
string(SUBSTRING ${first} 5 -1 first)
string(SUBSTRING ${last} 5 -1 last)
if(NOT last LESS first)
  message(FATAL_ERROR "expected the loss to fall but it went from ${first} to ${last}")
endif()

# A plan of a model without tokens is refused with a message.
file(READ ${SOURCE}/test/numeric/graphs/regression.mlir.in graph)
string(REPLACE "@BATCH@" "2" graph "${graph}")
file(WRITE ${work}/regression.mlir "${graph}")
run(compile-regression ${BUILD}/bin/sluice-compile regression.mlir -o regression.plan)
execute_process(COMMAND ${work}/build/own-trainer regression.plan 1 WORKING_DIRECTORY ${work} RESULT_VARIABLE code
                ERROR_VARIABLE out)
if(NOT code EQUAL 1 OR NOT out MATCHES "^error: input of entry point 'train_step' 'tokens' is not in the plan")
  message(FATAL_ERROR "no tokens: expected exit 1 with an error but got exit ${code}\n${out}")
endif()
