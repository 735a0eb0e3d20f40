// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/train/device.hpp"
#include "kernels/train/shape.hpp"
#include "models/parallel/plan.hpp"

namespace paceline::kernels::train {

/// A matrix or vector of the model and the part of it that this rank holds.
struct Parameter {
  std::string name;  ///< "layers.3.attention.query.weight": the same in every layout
  std::int64_t rows = 1, columns = 1;            ///< of the whole; vectors have one column
  std::int64_t first_row = 0, first_column = 0;  ///< of each piece
  std::int64_t held_rows = 1, held_columns = 1;
  /// Matrices of equal size that lie one below the other; of each this rank holds a part.
  std::int64_t pieces = 1;
  std::int64_t offset = 0;  ///< of its first element in the stage's memory
  double deviation = 0;     ///< of the initial values, around `mean`
  double mean = 0;
  bool decays = false;  ///< weight decay applies: matrices
  std::int64_t count() const { return held_rows * held_columns; }
  bool whole() const { return held_rows == rows && held_columns == columns; }
  /// Index of a held element in the whole, row by row.
  std::int64_t place(std::int64_t held_row, std::int64_t held_column) const {
    const std::int64_t height = held_rows / pieces, piece = held_row / height;
    const std::int64_t row = piece * (rows / pieces) + first_row + held_row % height;
    return row * columns + first_column + held_column;
  }
};

/// Parameters of a linear layer as indices into StageLayout::parameters; -1: it has none.
struct Linear {
  int weight = -1, bias = -1;
  std::int64_t inputs = 0, outputs = 0;  ///< held by this rank: weight [outputs, inputs]
  /// Every rank of the tensor-parallel group has part of the inputs: the outputs are to be summed.
  bool partial = false;
};
struct Norm {
  int weight = -1, bias = -1;
};
struct LayerLayout {
  LayerShape shape;
  Norm before_attention, before_mlp;
  /// `up` of a gated MLP makes gate and up side by side, its weight has them as two pieces.
  Linear query, key, value, out, up, down;
};

/// What a stage is made of, and where its parameters lie: those that decay first, each at a
/// multiple of 256 bytes, zeros between them.
struct StageLayout {
  bool embedding = false, head = false;
  int tokens = -1, positions = -1;  ///< [vocab, hidden] and [positions, hidden]
  Norm embedding_norm, final_norm;
  std::vector<LayerLayout> layers;
  int head_weight = -1;  ///< [vocab, hidden]; `tokens` where they are one
  std::vector<Parameter> parameters;
  std::int64_t decaying = 0, count = 0;  ///< elements
  /// The matrix that this stage shares with the other end of the pipeline; -1: none.
  int tied = -1;
};

/// Tensor parallelism as in Shoeybi et al., "Megatron-LM", arXiv:1909.08053, section 3: queries,
/// keys, values and the first MLP matrices by rows of the weight (a share of the heads and of the
/// MLP), the projections that follow by columns. Embedding and head stand whole on every rank.
StageLayout stage_layout(const GptShape& shape, const models::Stage& stage);

/// Initial values of what this rank holds, [StageLayout::count]. Each element depends on the seed,
/// its parameter's name and its place in the whole matrix, so that every layout starts from the
/// same model. Matrices are normal with deviation 0.02, those that end a residual branch 0.02 /
/// sqrt(2 layers) (Radford et al., "Language Models are Unsupervised Multitask Learners", 2019,
/// section 2.3), norms 1, biases 0.
std::vector<float> initial_values(const StageLayout& layout, std::uint64_t seed);

}  // namespace paceline::kernels::train
