# SPDX-License-Identifier: Apache-2.0
# Several ranks: a module that links MPI and is loaded when it is asked for.
option(PACELINE_MPI "build the MPI module where MPI is found" ON)
if(PACELINE_MPI)
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    add_library(paceline_mpi MODULE ${PROJECT_SOURCE_DIR}/kernels/collective/mpi_module.cpp)
    set_target_properties(paceline_mpi PROPERTIES
      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/paceline)
    target_include_directories(paceline_mpi PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(paceline_mpi PRIVATE paceline_options MPI::MPI_CXX)
    install(TARGETS paceline_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/paceline)
  else()
    message(STATUS "MPI not found (libopenmpi-dev): one rank only")
  endif()
endif()
