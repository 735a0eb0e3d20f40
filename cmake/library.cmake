# SPDX-License-Identifier: Apache-2.0
# paceline_library(NAME [DEPENDS folder…] [LIBRARIES target…] [EXCLUDE file…]): one static library of
# the .cpp files below the folder NAME. Includes are rooted at the source tree; LIBRARIES stay private,
# so third parties do not leak through headers. A folder without sources gives a header-only library.
function(paceline_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LIBRARIES;EXCLUDE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${name}/*.cpp)
  list(TRANSFORM ARG_EXCLUDE PREPEND ${PROJECT_SOURCE_DIR}/${name}/)
  list(REMOVE_ITEM sources ${ARG_EXCLUDE})
  set(target paceline_${name})
  if(name STREQUAL "cli")  # paceline_cli is the program
    set(target paceline_cli_lib)
  endif()
  if(sources)
    add_library(${target} STATIC ${sources})
    set(scope PUBLIC)
    target_link_libraries(${target} PRIVATE paceline_options ${ARG_LIBRARIES})
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_compile_features(${target} ${scope} cxx_std_20)
  target_include_directories(${target} ${scope} ${PROJECT_SOURCE_DIR})
  list(TRANSFORM ARG_DEPENDS PREPEND paceline_)
  target_link_libraries(${target} ${scope} ${ARG_DEPENDS})
endfunction()
