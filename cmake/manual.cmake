# SPDX-License-Identifier: Apache-2.0
# The manual page and what bash and fish complete with, printed by the program itself and installed with
# it; zsh has no folder for scripts that are evaluated.
if(CMAKE_CROSSCOMPILING)
  return()
endif()
set(printed ${PROJECT_BINARY_DIR}/printed)
file(MAKE_DIRECTORY ${printed})
add_custom_command(TARGET paceline_cli POST_BUILD
  COMMAND paceline_cli man > ${printed}/paceline.1
  COMMAND paceline_cli completion bash > ${printed}/paceline
  COMMAND paceline_cli completion fish > ${printed}/paceline.fish VERBATIM)
install(FILES ${printed}/paceline.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${printed}/paceline DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${printed}/paceline.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
