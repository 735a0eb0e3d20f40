// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/cudnn/api.hpp"

/// A graph of operations on tensors as plain data; plan.hpp has cuDNN plan and run it.
namespace paceline::kernels::cudnn {

using Sizes = std::array<std::int64_t, 4>;  ///< batch, head, row, column

/// Where a tensor lives: in memory given for a run, nowhere (between two operations), or in the
/// call itself (one number).
enum class Place : std::uint8_t { Memory, Between, Value };

struct GraphTensor {
  Data type = Data::Float;
  Sizes sizes{}, strides{};  ///< in elements
  Place place = Place::Between;
  double value = 0;  ///< of Place::Value
};

enum class Deed : std::uint8_t { Matmul, Pointwise, Reduction, Reshape };

/// One operation: tensors by their index in the graph, -1 where it has none.
struct GraphOperation {
  Deed deed = Deed::Matmul;
  Pointwise pointwise = Pointwise::Identity;
  Reduce reduce = Reduce::Add;
  int axis = 0;                ///< of Pointwise::Index
  Data compute = Data::Float;  ///< what it calculates in
  int x = -1, b = -1, t = -1, y = -1;
};

struct Graph {
  std::vector<GraphTensor> tensors;
  std::vector<GraphOperation> operations;  ///< each after those it reads from
};

/// Elements one after another, the last size fastest.
Sizes packed_strides(const Sizes& sizes);

/// Appends tensors and operations; each says the index of the tensor it made.
class GraphBuilder {
 public:
  int memory(Data type, const Sizes& sizes, const Sizes& strides);
  int between(Data type, const Sizes& sizes);
  int number(Data type, double value);

  /// y = x b, over the last two sizes; a head of y may share its head of b with its neighbours.
  void matmul(int x, int b, int y);
  int matmul(int x, int b, const Sizes& sizes, Data type = Data::Float);
  /// Of the sizes of x, whatever sizes of b are 1 repeated.
  void pointwise(Pointwise mode, int x, int b, int y);
  int pointwise(Pointwise mode, int x, int b = -1, Data type = Data::Float);
  /// The index along an axis, as int32, for every element of x.
  int index(int x, int axis);
  /// t ? x : b
  int select(int x, int b, int t);
  /// To the sizes of y: of each size that is smaller there, neighbours together.
  void reduce(Reduce how, int x, int y);
  int reduce(Reduce how, int x, const Sizes& sizes);
  /// The same memory seen with the last two sizes exchanged.
  int transposed(int x, Data type);

  Graph take() { return std::move(graph_); }

 private:
  int add(const GraphTensor& tensor);
  const GraphTensor& at(int tensor) const {
    return graph_.tensors[static_cast<std::size_t>(tensor)];
  }
  Graph graph_;
};

}  // namespace paceline::kernels::cudnn
