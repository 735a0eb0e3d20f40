# SPDX-License-Identifier: Apache-2.0
# base/ and kernels/ without the rest, for machines with nothing but a compiler, CMake and the CUDA
# toolkit: the headers lie in PACELINE_HEADERS, where tools/device_bundle.sh copies them.
set(PACELINE_HEADERS "${PROJECT_SOURCE_DIR}/device-bundle/include" CACHE PATH
  "folder of nlohmann/json.hpp and eigen3/")
foreach(header IN ITEMS nlohmann/json.hpp eigen3/Eigen/Core)
  if(NOT EXISTS ${PACELINE_HEADERS}/${header})
    message(FATAL_ERROR "${PACELINE_HEADERS}/${header} is not there: tools/device_bundle.sh packs it")
  endif()
endforeach()
foreach(name IN ITEMS nlohmann_json::nlohmann_json Eigen3::Eigen)
  add_library(${name} INTERFACE IMPORTED)
  target_include_directories(${name} INTERFACE ${PACELINE_HEADERS} ${PACELINE_HEADERS}/eigen3)
endforeach()
set(PACELINE_GOOGLE_BENCHMARK OFF)
paceline_library(base LIBRARIES nlohmann_json::nlohmann_json ${CMAKE_DL_LIBS} EXCLUDE yaml.cpp)
include(kernels)
target_compile_definitions(paceline_options INTERFACE PACELINE_VERSION="${PROJECT_VERSION}")
add_executable(paceline_kernels_program kernels/program/main.cpp)
set_target_properties(paceline_kernels_program PROPERTIES
  OUTPUT_NAME paceline-kernels RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
target_link_libraries(paceline_kernels_program PRIVATE paceline_kernels paceline_options)
