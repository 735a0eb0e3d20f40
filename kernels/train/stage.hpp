// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/train/layer.hpp"

namespace paceline::kernels::train {

/// What a stage keeps of one microbatch until its last backward pass.
struct StageRecord {
  Block tokens, places, targets;  ///< [rows], where the stage has the embedding or the head
  Block input;                    ///< of a stage without embedding, kept for a second forward
  Block embedded;                 ///< before the norm of the embedding
  NormRecord embedding_norm;
  std::vector<LayerRecord> layers;
  Block output;  ///< of the last layer, where the stage has the head
  NormRecord final_norm;
  Block logits;
  LossRecord loss;
  Block d_logits, d_embedded;
};

/// What a stage is asked to work on: its input, or tokens at the embedding, and targets at the
/// head.
struct StageInput {
  Block x;
  std::vector<std::int32_t> tokens, targets;
};

/// The microbatch's part of the record that is there before forward.
StageRecord begin_record(const Context& context, const StageLayout& layout, StageInput input);
/// The stage's output [rows, hidden]; empty at the head, whose loss is in the record.
Block stage_forward(const Context& context, const StageLayout& layout, const Values& weights,
                    StageRecord& record);
/// Mean loss of the rows of a record at the head.
double mean_loss(const Context& context, const StageRecord& record);
/// Drops what stage_forward can make again from the record.
void forget(StageRecord& record);
/// Input gradients: from that of the output (empty at the head, where the loss's is `scale` per
/// row) to that of the input (empty at the embedding). Weight gradients wait in the record.
Block stage_backward(const Context& context, const StageLayout& layout, const Values& weights,
                     StageRecord& record, Block d_output, double scale);
/// Adds the weight gradients of the microbatch.
void stage_weight_gradients(const Context& context, const StageLayout& layout,
                            const StageRecord& record, const Values& gradients);

}  // namespace paceline::kernels::train
