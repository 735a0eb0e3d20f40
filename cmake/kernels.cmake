# SPDX-License-Identifier: Apache-2.0
# Measured kernels: the processor's always; CUDA's where nvcc is found; and the .cu files once more by
# the host compiler, for the SIMT shim that runs them without a GPU.
set(PACELINE_CUDA AUTO CACHE STRING "CUDA kernels: AUTO (where nvcc is found), ON, OFF")

file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/kernels/*_cuda.cu)
set(simt_sources)
foreach(source IN LISTS cuda_sources)
  cmake_path(GET source STEM name)
  set(wrapper ${CMAKE_BINARY_DIR}/simt/${name}.cpp)
  file(CONFIGURE OUTPUT ${wrapper} CONTENT "#include \"${source}\"\n")
  list(APPEND simt_sources ${wrapper})
endforeach()

if(NOT PACELINE_CUDA STREQUAL "OFF")
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX} AND EXISTS /usr/local/cuda/bin/nvcc)
    set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)
  endif()
  include(CheckLanguage)
  check_language(CUDA)
endif()
set(PACELINE_HAVE_CUDA OFF)
if(CMAKE_CUDA_COMPILER)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 100)
  endif()
  enable_language(CUDA)
  # CMake 3.25 knows no CUDA20, and puts the option of the standard it thinks of last.
  set(CMAKE_CUDA_STANDARD 17)
  set(CMAKE_CUDA17_STANDARD_COMPILE_OPTION "-std=c++20")
  find_package(CUDAToolkit REQUIRED)
  set(PACELINE_HAVE_CUDA ON)
elseif(PACELINE_CUDA STREQUAL "ON")
  message(FATAL_ERROR "PACELINE_CUDA is ON and there is no nvcc: install the CUDA toolkit, or set CUDACXX")
else()
  message(STATUS "nvcc not found: no CUDA kernels")
endif()

# What knows scenarios and programs is a library of its own (train.cmake).
file(GLOB train_sources RELATIVE ${PROJECT_SOURCE_DIR}/kernels CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/kernels/train/*.cpp)
paceline_library(kernels DEPENDS base
  EXCLUDE cuda/backend.cpp cuda/absent.cpp collective/mpi_module.cpp ${train_sources})
target_sources(paceline_kernels PRIVATE ${simt_sources})
if(PACELINE_HAVE_CUDA)
  target_sources(paceline_kernels PRIVATE kernels/cuda/backend.cpp)
  target_compile_definitions(paceline_kernels PUBLIC PACELINE_HAVE_CUDA)
  target_include_directories(paceline_kernels PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  add_library(paceline_cuda STATIC ${cuda_sources})
  target_include_directories(paceline_cuda PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(paceline_cuda PRIVATE PACELINE_HAVE_CUDA)
  target_compile_options(paceline_cuda PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr -lineinfo -Wno-deprecated-gpu-targets>)
  target_link_libraries(paceline_cuda PRIVATE CUDA::cudart_static)
  target_link_libraries(paceline_kernels PUBLIC paceline_cuda CUDA::cudart_static ${CMAKE_DL_LIBS})
else()
  target_sources(paceline_kernels PRIVATE kernels/cuda/absent.cpp)
endif()
