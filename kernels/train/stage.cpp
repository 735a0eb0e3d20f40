// SPDX-License-Identifier: Apache-2.0
#include "kernels/train/stage.hpp"

#include <numeric>

namespace paceline::kernels::train {
namespace {

Linear head_of(const Context& c, const StageLayout& layout) {
  return {layout.head_weight, -1, c.shape.hidden, c.shape.vocab, false};
}

std::vector<std::int32_t> places_of(const GptShape& shape) {
  std::vector<std::int32_t> places(static_cast<std::size_t>(shape.rows()));
  for (std::size_t i = 0; i < places.size(); ++i)
    places[i] = static_cast<std::int32_t>(i % static_cast<std::size_t>(shape.sequence));
  return places;
}

Block embed(const Context& c, const StageLayout& layout, const Values& weights, StageRecord& r) {
  Block x = gather_rows(c, weights.of(layout.tokens), r.tokens);
  if (layout.positions >= 0)
    x = added(c, x.floats(), gather_rows(c, weights.of(layout.positions), r.places).floats());
  if (layout.embedding_norm.weight < 0) return x;
  r.embedded = std::move(x);
  norm_forward(c, layout.embedding_norm, weights, r.embedded.floats(), r.embedding_norm);
  return c.device.copy_of(r.embedding_norm.y.floats());
}

/// What the head multiplies with its weights.
const Block& head_input(const StageLayout& layout, const StageRecord& r) {
  return layout.final_norm.weight >= 0 ? r.final_norm.y : r.output;
}

void head_forward(const Context& c, const StageLayout& layout, const Values& weights,
                  StageRecord& r, Block x) {
  r.output = std::move(x);
  if (layout.final_norm.weight >= 0)
    norm_forward(c, layout.final_norm, weights, r.output.floats(), r.final_norm);
  r.logits = linear_forward(c, head_of(c, layout), weights, head_input(layout, r).floats());
  r.loss = loss_forward(c, r.logits, r.targets);
}

Block head_backward(const Context& c, const StageLayout& layout, const Values& weights,
                    StageRecord& r, double scale) {
  r.d_logits = loss_backward(c, r.logits, r.targets, r.loss, scale);
  r.logits.release();
  Block d_x = linear_backward(c, head_of(c, layout), weights, r.d_logits.floats());
  if (layout.final_norm.weight < 0) return d_x;
  return norm_backward(c, layout.final_norm, weights, r.output.floats(), r.final_norm,
                       std::move(d_x));
}

void embedding_gradients(const Context& c, const StageLayout& layout, const StageRecord& r,
                         const Values& gradients) {
  if (layout.embedding_norm.weight >= 0)
    norm_weight_gradient(c, layout.embedding_norm, r.embedded.floats(), r.embedding_norm,
                         gradients);
  scatter_rows(c, gradients.of(layout.tokens), r.tokens, r.d_embedded);
  if (layout.positions >= 0)
    scatter_rows(c, gradients.of(layout.positions), r.places, r.d_embedded);
}

}  // namespace

StageRecord begin_record(const Context& c, const StageLayout& layout, StageInput input) {
  StageRecord record;
  record.input = std::move(input.x);
  if (layout.embedding) record.tokens = c.device.to_device(input.tokens);
  if (layout.positions >= 0) record.places = c.device.to_device(places_of(c.shape));
  if (layout.head) record.targets = c.device.to_device(input.targets);
  return record;
}

Block stage_forward(const Context& c, const StageLayout& layout, const Values& weights,
                    StageRecord& r) {
  Block x;
  if (layout.embedding) {
    x = embed(c, layout, weights, r);
  } else if (c.shape.recompute) {
    x = c.device.copy_of(r.input.floats());
  } else {
    x = std::move(r.input);
  }
  r.layers.resize(layout.layers.size());
  for (std::size_t i = 0; i < r.layers.size(); ++i)
    x = layer_forward(c, layout.layers[i], weights, r.layers[i], std::move(x));
  if (!layout.head) return x;
  head_forward(c, layout, weights, r, std::move(x));
  return {};
}

double mean_loss(const Context& c, const StageRecord& record) {
  const std::vector<float> rows = c.device.to_host(record.loss.loss.floats());
  return std::accumulate(rows.begin(), rows.end(), 0.0) / static_cast<double>(rows.size());
}

void forget(StageRecord& record) {
  StageRecord kept;
  kept.tokens = std::move(record.tokens);
  kept.places = std::move(record.places);
  kept.targets = std::move(record.targets);
  kept.input = std::move(record.input);
  record = std::move(kept);
}

Block stage_backward(const Context& c, const StageLayout& layout, const Values& weights,
                     StageRecord& r, Block d_output, double scale) {
  Block d_x = layout.head ? head_backward(c, layout, weights, r, scale) : std::move(d_output);
  for (std::size_t i = r.layers.size(); i-- > 0;)
    d_x = layer_backward(c, layout.layers[i], weights, r.layers[i], std::move(d_x));
  if (!layout.embedding) return d_x;
  if (layout.embedding_norm.weight >= 0)
    d_x = norm_backward(c, layout.embedding_norm, weights, r.embedded.floats(), r.embedding_norm,
                        std::move(d_x));
  r.d_embedded = std::move(d_x);
  return {};
}

void stage_weight_gradients(const Context& c, const StageLayout& layout, const StageRecord& r,
                            const Values& gradients) {
  if (layout.head) {
    linear_weight_gradient(c, head_of(c, layout), head_input(layout, r).floats(),
                           r.d_logits.floats(), gradients);
    if (layout.final_norm.weight >= 0)
      norm_weight_gradient(c, layout.final_norm, r.output.floats(), r.final_norm, gradients);
  }
  for (std::size_t i = r.layers.size(); i-- > 0;)
    layer_weight_gradients(c, layout.layers[i], r.layers[i], gradients);
  if (layout.embedding) embedding_gradients(c, layout, r, gradients);
}

}  // namespace paceline::kernels::train
