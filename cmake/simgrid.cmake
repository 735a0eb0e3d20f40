# SPDX-License-Identifier: Apache-2.0
# The second engine: a module that is loaded when it is asked for. SimGrid ships no CMake package.
option(PACELINE_SIMGRID "build the SimGrid engine where SimGrid is found" ON)
if(PACELINE_SIMGRID)
  find_package(PkgConfig QUIET)
  if(PKG_CONFIG_FOUND)
    pkg_check_modules(SIMGRID QUIET IMPORTED_TARGET simgrid>=3.32)
  endif()
  if(SIMGRID_FOUND)
    add_library(paceline_simgrid MODULE ${PROJECT_SOURCE_DIR}/sim/engine/simgrid_module.cpp)
    set_target_properties(paceline_simgrid PROPERTIES
      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/paceline)
    target_link_libraries(paceline_simgrid PRIVATE paceline_options paceline_sim PkgConfig::SIMGRID)
    set_target_properties(paceline_base paceline_models paceline_sim PROPERTIES
      POSITION_INDEPENDENT_CODE ON)
    install(TARGETS paceline_simgrid LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/paceline)
  else()
    message(STATUS "SimGrid 3.32 not found (libsimgrid-dev, pkg-config): no --engine simgrid")
  endif()
endif()
