// SPDX-License-Identifier: Apache-2.0
#include "kernels/train/memory.hpp"

#include <unistd.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "sim/placement.hpp"
#include "sim/verify.hpp"

namespace paceline::kernels::train {
namespace {

constexpr double kFloat = sizeof(float);

/// Floats of LayerRecord per row: vectors of the hidden size, of queries and keys, of the MLP.
double layer_floats(const GptShape& shape, const LayerShape& layer) {
  const auto heads = static_cast<double>(2 * layer.heads + 4 * layer.kv_heads);
  return 8 * static_cast<double>(shape.hidden) + heads * 2 * static_cast<double>(layer.head_dim) +
         (layer.gated ? 5 : 3) * static_cast<double>(layer.ffn);
}

double stage_floats(const GptShape& shape, const models::Stage& stage) {
  if (shape.recompute) return static_cast<double>(shape.hidden);
  double floats = static_cast<double>(shape.hidden);
  for (int i = stage.first_layer; i < stage.first_layer + stage.layers; ++i)
    floats += layer_floats(shape, shape.layers[static_cast<std::size_t>(i)]);
  if (stage.head) floats += 2 * static_cast<double>(shape.vocab + shape.hidden);
  return floats;
}

}  // namespace

double needed_bytes(const GptShape& shape, const models::Plan& plan, const sim::Program& program,
                    const Optimizer& optimizer, int rank) {
  const double versions = program.weights == sim::Weights::Latest ? 1 : 2;
  const double states = optimizer.rule == Optimizer::Rule::AdamW ? 2 : 1;
  const std::vector<int> stages = sim::stages_of(program, rank);
  double floats = 0, per_row = 0;
  for (const int number : stages) {
    const models::Stage& stage = plan.stages[static_cast<std::size_t>(number)];
    floats += (versions + 1 + states) * static_cast<double>(stage_layout(shape, stage).count);
    per_row += stage_floats(shape, stage);
  }
  const double held = sim::peak_in_flight(program)[static_cast<std::size_t>(rank)];
  const double microbatches = held / static_cast<double>(std::max<std::size_t>(1, stages.size()));
  return kFloat * (floats + microbatches * per_row * static_cast<double>(shape.rows()));
}

void check_memory(double bytes, const Backend& backend, const std::string& where) {
  if (std::string_view(backend.name) == "cuda") return;
  const double there =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  if (bytes <= there) return;
  throw base::Error(where,
                    "a rank needs about " + base::format_bytes(base::Bytes(bytes)) +
                        " to train this, the machine has " + base::format_bytes(base::Bytes(there)),
                    "a smaller model or more ranks");
}

}  // namespace paceline::kernels::train
