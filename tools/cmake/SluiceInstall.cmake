# cmake --install: the runtime's libraries and headers, the tools, and the package file for find_package(Sluice).
#
# find_package(Sluice) provides Sluice::runtime (read, check and run plans); with COMPONENTS train also Sluice::train
# (data, weights, learning rates), which needs spdlog. Headers are in include/sluice and are included as in this tree:
# "runtime/executor/RankGroup.h". With COMPONENTS capi it provides Sluice::capi and Sluice::compiler_capi, the shared
# libraries with the C interfaces, whose headers are <sluice/sluice.h> and <sluice/sluice_compiler.h>.
#
# `cmake --install build --component capi` installs only the C interfaces. CPack makes a package of each component.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

add_library(sluice_runtime INTERFACE)
target_link_libraries(sluice_runtime INTERFACE sluice_executor)
add_library(Sluice::runtime ALIAS sluice_runtime)

set(headers ${CMAKE_INSTALL_INCLUDEDIR}/sluice)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Sluice)

foreach(name options cuda base text catalogue plan device collective kernel executor runtime train)
  set_target_properties(sluice_${name} PROPERTIES EXPORT_NAME ${name})
endforeach()
install(TARGETS sluice_options sluice_cuda sluice_base sluice_catalogue sluice_plan sluice_device sluice_collective sluice_kernel sluice_executor
        sluice_runtime EXPORT SluiceTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} INCLUDES DESTINATION ${headers})
install(TARGETS sluice_text sluice_train EXPORT SluiceTrainTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} INCLUDES DESTINATION ${headers})
install(EXPORT SluiceTargets NAMESPACE Sluice:: DESTINATION ${package})
install(EXPORT SluiceTrainTargets NAMESPACE Sluice:: DESTINATION ${package})

install(DIRECTORY ${CMAKE_SOURCE_DIR}/runtime/ DESTINATION ${headers}/runtime
        FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "*.fbs")
install(FILES ${CMAKE_BINARY_DIR}/runtime/plan/plan_generated.h DESTINATION ${headers}/runtime/plan)
# By name for sluice-fit (runtime/report/machine/MachineFolder.h).
install(DIRECTORY ${CMAKE_SOURCE_DIR}/tools/machines/ DESTINATION share/sluice/machines FILES_MATCHING PATTERN "*.toml")
foreach(tool sluice-plan sluice-steps sluice-calibrate sluice-train sluice-checkpoint sluice-import sluice-opt sluice-compile sluice-fit)
  if(TARGET ${tool})
    install(TARGETS ${tool} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()

# The C interfaces, with a package file of their own component.
set(interfaces sluice_capi)
set(interface_headers ${CMAKE_SOURCE_DIR}/runtime/capi/sluice.h)
if(SLUICE_COMPILER)
  list(APPEND interfaces sluice_compiler_capi)
  list(APPEND interface_headers ${CMAKE_SOURCE_DIR}/passes/capi/sluice_compiler.h)
endif()
foreach(interface ${interfaces})
  string(REPLACE "sluice_" "" name ${interface})
  set_target_properties(${interface} PROPERTIES EXPORT_NAME ${name})
endforeach()
install(TARGETS ${interfaces} EXPORT SluiceCapiTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT capi INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT SluiceCapiTargets NAMESPACE Sluice:: DESTINATION ${package} COMPONENT capi)
install(FILES ${interface_headers} DESTINATION ${headers} COMPONENT capi)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT capi)

file(WRITE ${CMAKE_BINARY_DIR}/SluiceConfig.cmake.in [=[
@PACKAGE_INIT@
if("capi" IN_LIST Sluice_FIND_COMPONENTS)
  include(${CMAKE_CURRENT_LIST_DIR}/SluiceCapiTargets.cmake)
  set(Sluice_capi_FOUND TRUE)
  if(Sluice_FIND_COMPONENTS STREQUAL "capi")
    return()
  endif()
endif()
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(OpenMP COMPONENTS CXX)
find_dependency(nlohmann_json)
find_dependency(OpenSSL COMPONENTS Crypto)
include(${CMAKE_CURRENT_LIST_DIR}/SluiceTargets.cmake)
if("train" IN_LIST Sluice_FIND_COMPONENTS)
  find_dependency(spdlog)
  if(@SLUICE_HAVE_TOKENIZERS@)
    find_dependency(fmt)
    find_dependency(ICU COMPONENTS uc data)
  endif()
  include(${CMAKE_CURRENT_LIST_DIR}/SluiceTrainTargets.cmake)
  set(Sluice_train_FOUND TRUE)
endif()
check_required_components(Sluice)
]=])
configure_package_config_file(${CMAKE_BINARY_DIR}/SluiceConfig.cmake.in ${CMAKE_BINARY_DIR}/SluiceConfig.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/SluiceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
# The other component needs this one: two packages may not have one file.
install(FILES ${CMAKE_BINARY_DIR}/SluiceConfig.cmake ${CMAKE_BINARY_DIR}/SluiceConfigVersion.cmake
        DESTINATION ${package} COMPONENT capi)

set(CPACK_PACKAGE_NAME sluice)
set(CPACK_PACKAGE_VENDOR Sluice)
set(CPACK_PACKAGE_CONTACT "the maintainers of Sluice")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Compiles and executes plans of sharded training")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL sluice capi)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENT_SLUICE_DEPENDS capi)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_SLUICE_PACKAGE_NAME sluice)
set(CPACK_DEBIAN_CAPI_PACKAGE_NAME libsluice)
set(CPACK_COMPONENT_CAPI_DESCRIPTION "C interfaces of Sluice: shared libraries and headers")
# The packages of the libraries that the programs need.
find_program(SHLIBDEPS dpkg-shlibdeps)
if(SHLIBDEPS)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
include(CPack)

if(SLUICE_TESTS)
  # The example represents a user outside this tree: the test builds it against an installation and runs it.
  add_test(NAME own-trainer COMMAND ${CMAKE_COMMAND}
           -DSOURCE=${CMAKE_SOURCE_DIR} -DBUILD=${CMAKE_BINARY_DIR} -DGENERATOR=${CMAKE_GENERATOR}
           -DLAUNCHER=${CCACHE} -DCOMPILER=${SLUICE_COMPILER}
           -P ${CMAKE_SOURCE_DIR}/test/docs/own-trainer.cmake)
  add_test(NAME c-interface COMMAND ${CMAKE_COMMAND}
           -DSOURCE=${CMAKE_SOURCE_DIR} -DBUILD=${CMAKE_BINARY_DIR} -DGENERATOR=${CMAKE_GENERATOR}
           -DCOMPILER=${SLUICE_COMPILER} -DCPACK=${CMAKE_CPACK_COMMAND}
           -P ${CMAKE_SOURCE_DIR}/test/docs/c-interface.cmake)
endif()
