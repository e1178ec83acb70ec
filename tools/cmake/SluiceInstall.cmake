# cmake --install: the runtime's libraries and headers, the tools, and the package file for find_package(Sluice).
#
# find_package(Sluice) provides Sluice::runtime (read, check and run plans); with COMPONENTS train also Sluice::train
# (data, weights, learning rates), which needs spdlog. Headers are in include/sluice and are included as in this tree:
# "runtime/executor/RankGroup.h".

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
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
foreach(tool sluice-plan sluice-steps sluice-calibrate sluice-train sluice-checkpoint sluice-import sluice-opt sluice-compile)
  if(TARGET ${tool})
    install(TARGETS ${tool} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()

file(WRITE ${CMAKE_BINARY_DIR}/SluiceConfig.cmake.in [=[
@PACKAGE_INIT@
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
install(FILES ${CMAKE_BINARY_DIR}/SluiceConfig.cmake ${CMAKE_BINARY_DIR}/SluiceConfigVersion.cmake
        DESTINATION ${package})

if(SLUICE_TESTS)
  # The example represents a user outside this tree: the test builds it against an installation and runs it.
  add_test(NAME own-trainer COMMAND ${CMAKE_COMMAND}
           -DSOURCE=${CMAKE_SOURCE_DIR} -DBUILD=${CMAKE_BINARY_DIR} -DGENERATOR=${CMAKE_GENERATOR}
           -DLAUNCHER=${CCACHE} -DCOMPILER=${SLUICE_COMPILER}
           -P ${CMAKE_SOURCE_DIR}/test/docs/own-trainer.cmake)
endif()
