# Installs the component capi, builds docs/examples/c-trainer against it, and runs it; then the same with the .deb.
#
#   cmake -DSOURCE=... -DBUILD=... -DGENERATOR=... -DCOMPILER=ON|OFF -DCPACK=... -P c-interface.cmake

set(work ${BUILD}/c-interface)
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work})

include(${SOURCE}/test/docs/example.cmake)

# Not file(STRINGS), which does not end a line within brackets.
file(READ ${SOURCE}/docs/examples/c-trainer/train.c source)
string(REGEX MATCHALL "\n" lines "${source}")
list(LENGTH lines count)
if(NOT count LESS 80)
  message(FATAL_ERROR "train.c has ${count} lines, expected fewer than 80")
endif()

# build_example(PREFIX NAME): the example, with the package of an installation.
function(build_example prefix name)
  run(configure-${name} ${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE}/docs/examples/c-trainer -B ${work}/${name}
      -DCMAKE_PREFIX_PATH=${prefix})
  run(build-${name} ${CMAKE_COMMAND} --build ${work}/${name})
endfunction()

run(install ${CMAKE_COMMAND} --install ${BUILD} --component capi --prefix ${work}/prefix)
build_example(${work}/prefix installed)

# The component needs nothing else: no program, no static library, no header of C++.
file(GLOB_RECURSE files RELATIVE ${work}/prefix ${work}/prefix/*)
foreach(file ${files})
  if(NOT file MATCHES "libsluice[^/]*[.]so|[.]cmake$|sluice(_compiler)?[.]h$|LICENSE$")
    message(FATAL_ERROR "the component capi has '${file}', expected only libraries, their headers and the package")
  endif()
endforeach()

# A file that is no plan gives the exit code of a refusal, and the reason.
file(WRITE ${work}/none.plan "this is no plan, and long enough for a header")
execute_process(COMMAND ${work}/installed/train none.plan 1 out WORKING_DIRECTORY ${work} RESULT_VARIABLE code ERROR_VARIABLE out)
if(NOT code EQUAL 4 OR NOT out MATCHES "^error: 'none.plan' is not a plan")
  message(FATAL_ERROR "no plan: expected exit 4 with an error but got exit ${code}\n${out}")
endif()

find_program(DPKG dpkg-deb)
if(DPKG)
  run(package ${CPACK} --config ${BUILD}/CPackConfig.cmake -G DEB -D CPACK_COMPONENTS_ALL=capi -B ${work}/packages)
  file(GLOB packages ${work}/packages/*.deb)
  list(LENGTH packages count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "expected one package but got '${packages}'")
  endif()
  run(fields ${DPKG} --field ${packages} Package Version Architecture)
  if(NOT output MATCHES "Package: libsluice\nVersion: [0-9.]+\nArchitecture: ")
    message(FATAL_ERROR "fields of the package:\n${output}")
  endif()
  run(unpack ${DPKG} --extract ${packages} ${work}/unpacked)
  file(GLOB unpacked ${work}/unpacked/usr*)
  if(EXISTS ${unpacked}/local)
    set(unpacked ${unpacked}/local)
  endif()
  build_example(${unpacked} packaged)
else()
  message(STATUS "no dpkg-deb: the package is not tested")
endif()

if(NOT COMPILER)
  message(STATUS "built against the installation; not run on a plan: this build has no compiler")
  return()
endif()
compile_small_plan()
# The text of the example as data: sluice-train gives the same losses and weights.
if(NOT source MATCHES "text\\[\\] = \"([^\"]*)\"")
  message(FATAL_ERROR "train.c has no text")
endif()
string(REPEAT "${CMAKE_MATCH_1}" 40 text)
file(WRITE ${work}/data "${text}")
run(tool ${BUILD}/bin/sluice-train model.plan --data data --seed 1 --steps 5 --save tool)
foreach(name installed packaged)
  if(NOT EXISTS ${work}/${name}/train)
    continue()
  endif()
  run(train-${name} ${work}/${name}/train model.plan 5 ${name}-weights)
  string(REGEX MATCHALL "loss [0-9.]+" losses "${output}")
  list(LENGTH losses count)
  if(NOT count EQUAL 5)
    message(FATAL_ERROR "expected 5 losses but got ${count}\n${output}")
  endif()
  run(weights-${name} ${CMAKE_COMMAND} -E compare_files ${name}-weights/model.safetensors tool/model.safetensors)
endforeach()
