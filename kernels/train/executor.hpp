// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <span>

#include "kernels/train/channels.hpp"
#include "kernels/train/optimizer.hpp"
#include "kernels/train/rank_plan.hpp"
#include "kernels/train/stage.hpp"
#include "kernels/train/text.hpp"

namespace paceline::kernels::train {

/// The gradient of a parameter, as much of it as this rank holds, before its update.
struct Gradient {
  int update = 0;  ///< from 0, over all runs
  const Parameter& parameter;
  std::vector<float> values;  ///< [held_rows, held_columns]
};

/// What the executor is made of, by reference: it has to outlive it.
struct Job {
  const models::Scenario& scenario;
  const models::Plan& plan;
  const sim::Program& program;
  const Communicator& world;
  const Backend& backend;
  const Text& text;
  Optimizer optimizer;
  std::uint64_t seed = 1;
  /// Called, where it is set, with every gradient that is summed over microbatches and ranks.
  std::function<void(const Gradient&)> on_gradient;
};

/// One rank of a training run: a Program, action by action, on a model's real numbers.
class Executor {
 public:
  explicit Executor(const Job& job);
  /// The whole Program once. Mean loss of the microbatches of each update, the same on all ranks.
  /// base::Error, on all ranks or on those of the last stage, when it is not a number.
  std::vector<double> run();
  /// This rank's parameters; for tests.
  void for_each_weight(const std::function<void(const Parameter&, std::vector<float>)>& f) const;

 private:
  /// A stage with its weights in all versions that are still needed.
  struct Stage {
    int number = 0;
    StageLayout layout;
    std::map<int, Block> versions;  ///< by number in this run
    int newest = 0;
    Block gradients;
    std::vector<Block> states;
    int steps = 0;                       ///< optimizer steps over all runs
    bool summed = false;                 ///< gradients are those of all ranks
    std::map<int, StageRecord> records;  ///< by microbatch
  };
  using Key = std::pair<int, int>;  ///< stage, microbatch

  Context context() {
    return {device_, shape_, tables_, groups_.tensor ? &*groups_.tensor : nullptr};
  }
  Values weights(Stage& stage, int version);
  Values gradients(Stage& stage) { return {stage.layout, stage.gradients.floats()}; }

  void perform(const Step& step);
  void forward(const Step& step, Stage& stage);
  void recompute(const Step& step, Stage& stage);
  void input_gradient(const Step& step, Stage& stage);
  void weight_gradient(const Step& step, Stage& stage);
  void update(Stage& stage, int version);
  void end_with_update();
  void step_weights(Stage& stage, int update);
  Block receive(const Step& step);
  void deliver(const Step& step, Block message);
  StageInput input_of(const Step& step, const Stage& stage);
  void used(const Step& step, Stage& stage);
  bool keeps(const Stage& stage, int version) const;
  void sum_copies(Stage& stage);
  void sum_tied(std::span<Stage* const> stages);
  std::vector<double> mean_losses();
  void begin_run();
  int first_update() const { return static_cast<int>(runs_ - 1) * plan_.update_count; }

  Job job_;
  Place place_;
  GptShape shape_;
  Device device_;
  Tables tables_;
  sim::Placement placement_;
  Groups groups_;
  Channels channels_;
  RankPlan plan_;
  std::map<int, Stage> stages_;
  std::map<Key, Block> activations_, input_gradients_;  ///< between two stages of this rank
  std::map<Key, int> readers_;  ///< steps still to come in this run, by stage and version
  std::vector<double> losses_;  ///< this rank's part, by update of this run
  std::int64_t runs_ = 0;
};

}  // namespace paceline::kernels::train
