# SPDX-License-Identifier: Apache-2.0
option(PACELINE_TESTS "build the tests" ON)
option(PACELINE_BENCH "build the benchmarks where Google Benchmark is found" ON)
option(PACELINE_FUZZ "build the libFuzzer targets (needs clang++)" OFF)
option(PACELINE_WERROR "warnings are errors" OFF)
option(PACELINE_STATIC "few shared libraries: for machines that have none of Debian's packages" OFF)
option(PACELINE_KERNELS_ONLY "base/ and kernels/ alone, with the headers of PACELINE_HEADERS" OFF)
set(PACELINE_SANITIZE "" CACHE STRING "sanitizers, for example address,undefined")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "build type" FORCE)
endif()
find_program(PACELINE_CCACHE ccache)
if(PACELINE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PACELINE_CCACHE})
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_EXTENSIONS OFF)

# What every target of ours is compiled with.
add_library(paceline_options INTERFACE)
target_compile_features(paceline_options INTERFACE cxx_std_20)
target_compile_options(paceline_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wold-style-cast
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)  # misfires on std::string operator+ (GCC bug 105329)
if(PACELINE_WERROR)
  target_compile_options(paceline_options INTERFACE -Werror)
endif()
if(PACELINE_SANITIZE)
  # Instrumented code confuses GCC 12's flow analysis inside <regex> (GCC bug 105562).
  target_compile_options(paceline_options INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  set(sanitize -fsanitize=${PACELINE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_compile_options(paceline_options INTERFACE ${sanitize})
  target_link_options(paceline_options INTERFACE ${sanitize})
endif()
if(PACELINE_FUZZ)
  target_compile_options(paceline_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(PACELINE_STATIC)
  target_link_options(paceline_options INTERFACE -static-libgcc -static-libstdc++)
endif()
