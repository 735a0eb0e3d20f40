# SPDX-License-Identifier: Apache-2.0
# paceline_unity(TARGET): the sources of a folder are compiled together. Headers are then read and
# templates instantiated once a folder: a quarter to a half of the time from scratch, more after a
# change. Names in anonymous namespaces must differ within a folder; where it reads better that they do
# not, SKIP_UNITY_BUILD_INCLUSION keeps a source by itself.
option(PACELINE_UNITY "compile the sources of each folder together" ON)
function(paceline_unity target)
  if(NOT PACELINE_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE group)
    cmake_path(RELATIVE_PATH group BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    cmake_path(REMOVE_FILENAME group)
    string(MAKE_C_IDENTIFIER "${group}" group)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
