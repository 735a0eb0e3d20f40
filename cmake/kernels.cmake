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
    set(PACELINE_ALL_ARCHITECTURES ON)
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

# Registers, spills and shared memory of every kernel of the target in build/ptxas.txt; a kernel of
# kernels/hot_kernels.txt that spills fails the build.
function(paceline_record_ptxas target)
  find_package(Python3 QUIET COMPONENTS Interpreter)
  if(NOT Python3_FOUND)
    message(STATUS "python3 not found: no ptxas.txt, and no check that hot kernels do not spill")
    return()
  endif()
  set(script ${PROJECT_SOURCE_DIR}/tools/ptxas.py)
  set(hot ${PROJECT_SOURCE_DIR}/kernels/hot_kernels.txt)
  set(launcher ${Python3_EXECUTABLE} ${script} run)
  if(CMAKE_CUDA_COMPILER_LAUNCHER)
    list(APPEND launcher ${CMAKE_CUDA_COMPILER_LAUNCHER})
  elseif(PACELINE_CCACHE)
    list(APPEND launcher ${PACELINE_CCACHE})
  endif()
  set_target_properties(${target} PROPERTIES CUDA_COMPILER_LAUNCHER "${launcher}")
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Xptxas=-v>)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/ptxas.txt
    COMMAND Python3::Interpreter ${script} report ${CMAKE_CUDA_COMPILER_VERSION}
            ${CMAKE_BINARY_DIR}/ptxas.txt ${hot} $<TARGET_OBJECTS:${target}>
    DEPENDS ${script} ${hot} $<TARGET_OBJECTS:${target}>
    COMMAND_EXPAND_LISTS VERBATIM COMMENT "Figures of kernels: ptxas.txt")
  add_custom_target(${target}_ptxas ALL DEPENDS ${CMAKE_BINARY_DIR}/ptxas.txt)
endfunction()

# `paceline bench` times with Google Benchmark where it is found, else with a loop of its own that gives
# the same figures; OFF spares the program the shared library.
set(PACELINE_GOOGLE_BENCHMARK AUTO CACHE STRING "Google Benchmark below paceline bench: AUTO, ON, OFF")
set(other_timer measure_benchmark.cpp)
if(NOT PACELINE_GOOGLE_BENCHMARK STREQUAL "OFF")
  find_package(benchmark QUIET)
  if(benchmark_FOUND)
    set(other_timer measure_loop.cpp)
  elseif(PACELINE_GOOGLE_BENCHMARK STREQUAL "ON")
    message(FATAL_ERROR "PACELINE_GOOGLE_BENCHMARK is ON and there is none: install libbenchmark-dev")
  endif()
endif()
set(cuda_host attention_cudnn.cpp backend.cpp cublaslt.cpp multiply.cpp)
list(TRANSFORM cuda_host PREPEND cuda/)
set(avx2 gemm/eigen_product_avx2_cpu.cpp)
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(not_here ${avx2})
endif()
paceline_library(kernels DEPENDS base LIBRARIES Eigen3::Eigen ${CMAKE_DL_LIBS}
  WITHOUT hardware_engine train program
  EXCLUDE ${cuda_host} cuda/absent.cpp ${other_timer} ${not_here} collective/mpi_module.cpp
  collective/nccl.cpp collective/nccl_api.cpp collective/nccl_absent.cpp)
# Square roots then need no branch for errno, and loops with them run in vectors.
target_compile_options(paceline_kernels PRIVATE -fno-math-errno)
# Chosen at run time by what the processor has.
set_source_files_properties(kernels/${avx2} PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma")
if(other_timer STREQUAL "measure_loop.cpp")
  target_link_libraries(paceline_kernels PRIVATE benchmark::benchmark)
endif()
target_sources(paceline_kernels PRIVATE ${simt_sources})
if(PACELINE_HAVE_CUDA)
  list(TRANSFORM cuda_host PREPEND kernels/)
  target_sources(paceline_kernels PRIVATE ${cuda_host})
  target_compile_definitions(paceline_kernels PUBLIC PACELINE_HAVE_CUDA)
  target_include_directories(paceline_kernels PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  set(lineinfo -lineinfo)  # for profilers; two thirds of the code's size
  if(PACELINE_STATIC)
    set(lineinfo)
  endif()
  add_library(paceline_cuda STATIC ${cuda_sources})
  target_include_directories(paceline_cuda PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(paceline_cuda PRIVATE PACELINE_HAVE_CUDA)
  target_compile_options(paceline_cuda PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr ${lineinfo} -Wno-deprecated-gpu-targets>)
  paceline_record_ptxas(paceline_cuda)
  # Each calls the other: the device code's error check lies with the backend.
  target_link_libraries(paceline_cuda PRIVATE CUDA::cudart_static
                                      INTERFACE $<LINK_ONLY:paceline_kernels>)
  target_link_libraries(paceline_kernels PUBLIC paceline_cuda CUDA::cudart_static ${CMAKE_DL_LIBS})
else()
  target_sources(paceline_kernels PRIVATE kernels/cuda/absent.cpp)
endif()

# NCCL is loaded at run time; its header gives the types.
if(PACELINE_HAVE_CUDA)
  find_path(PACELINE_NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
endif()
if(PACELINE_HAVE_CUDA AND PACELINE_NCCL_INCLUDE)
  target_sources(paceline_kernels PRIVATE kernels/collective/nccl.cpp kernels/collective/nccl_api.cpp)
  target_include_directories(paceline_kernels SYSTEM PRIVATE ${PACELINE_NCCL_INCLUDE})
else()
  target_sources(paceline_kernels PRIVATE kernels/collective/nccl_absent.cpp)
endif()

