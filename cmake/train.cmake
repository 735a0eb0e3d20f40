# SPDX-License-Identifier: Apache-2.0
# Training through a schedule: kernels and collectives, driven by scenarios and programs.
list(TRANSFORM train_sources PREPEND ${PROJECT_SOURCE_DIR}/kernels/)
add_library(paceline_train STATIC ${train_sources})
target_link_libraries(paceline_train PUBLIC paceline_sim paceline_kernels PRIVATE paceline_options)
