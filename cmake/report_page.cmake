# SPDX-License-Identifier: Apache-2.0
# The page of --report (reports/html/page) becomes part of the program.
set(page_folder ${PROJECT_SOURCE_DIR}/reports/html/page)
file(GLOB page_files CONFIGURE_DEPENDS ${page_folder}/*)
set(page_source ${PROJECT_BINARY_DIR}/page_files.cpp)
add_custom_command(OUTPUT ${page_source}
  COMMAND ${CMAKE_COMMAND} -DFOLDER=${page_folder} -DOUTPUT=${page_source}
    -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
  DEPENDS ${page_files} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
target_sources(paceline_reports PRIVATE ${page_source})
set_source_files_properties(${page_source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
