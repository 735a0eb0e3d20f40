// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/roundpipe.hpp"

#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "sim/schedules/common.hpp"

namespace paceline::sim {
namespace {

constexpr std::uint8_t kRecompute = 2;

Program passes_of(const PipelineShape& shape, bool head_ahead) {
  Program program = empty_program(shape);
  Pass forward{"F", Direction::Down, {}, {}};
  forward.last_stage = static_cast<std::int16_t>(shape.stages() - 2);
  const Read all_forward(kForward, Reach::Last);
  const Pass backward{"BW", Direction::Up, {Read(kRecompute), all_forward}, {}};
  const Pass again{"R", Direction::None, {head_ahead ? Read(kForward) : all_forward}, {}};
  program.passes = {forward, backward, again};
  return program;
}

void check_partition(const PipelineShape& shape, const RoundPartition& partition) {
  const auto covers = [](const std::vector<int>& blocks, int wanted) {
    return std::all_of(blocks.begin(), blocks.end(), [](int count) { return count > 0; }) &&
           std::accumulate(blocks.begin(), blocks.end(), 0) == wanted;
  };
  const int stages = shape.stages();
  if (stages < 2) {
    throw base::Error("schedule roundpipe", "one stage is not enough to go round",
                      "set chunks to 2 or more");
  }
  if (covers(partition.forward, stages - 1) && covers(partition.backward, stages)) return;
  throw base::Error("schedule roundpipe", "the partition does not cover the stages",
                    "forward stages cover " + std::to_string(stages - 1) +
                        " stages, backward stages all " + std::to_string(stages));
}

/// Writes rounds and replays them: where the next one begins depends on who is free first.
class Rounds {
 public:
  Rounds(int ranks, const PipelineShape& shape, const RoundPartition& partition)
      : shape_(shape),
        partition_(partition),
        program_(passes_of(shape, partition.head_ahead)),
        free_(static_cast<std::size_t>(ranks), 0.0) {
    program_.order.resize(free_.size());
  }

  Program build() {
    const int round =
        shape_.options.group > 0 ? shape_.options.group : static_cast<int>(free_.size());
    for (int begin = 0; begin < shape_.microbatches; begin += round) {
      add_round(begin, std::min(begin + round, shape_.microbatches));
    }
    return std::move(program_);
  }

 private:
  void add_round(int begin, int end) {
    next_ = static_cast<std::size_t>(std::min_element(free_.begin(), free_.end()) - free_.begin());
    arrived_.assign(static_cast<std::size_t>(end - begin), {0.0, next_});
    int block = 0;
    for (const int count : partition_.forward) {
      for (int microbatch = begin; microbatch < end; ++microbatch) {
        for (int i = 0; i < count; ++i) add(kForward, block + i, microbatch);
        run(begin, microbatch, 0, seconds("F", block, count));
      }
      block += count;
      next_ = (next_ + 1) % free_.size();
    }
    block = shape_.stages();
    for (const int count : partition_.backward) {
      block -= count;
      for (int microbatch = begin; microbatch < end; ++microbatch) {
        add_backward(begin, block, count, microbatch);
      }
      next_ = (next_ + 1) % free_.size();
    }
  }

  /// Recompute the stage's blocks, then their backwards in reverse.
  void add_backward(int begin, int block, int count, int microbatch) {
    for (int i = 0; i < count; ++i) add(kRecompute, block + i, microbatch);
    for (int i = count - 1; i >= 0; --i) add(kBackward, block + i, microbatch);
    const bool waits = !partition_.head_ahead && block + count == shape_.stages();
    const double again = seconds("F", block, count), back = seconds("BW", block, count);
    run(begin, microbatch, waits ? 0 : again, waits ? again + back : back);
  }

  void add(std::uint8_t pass, int block, int microbatch) {
    program_.order[next_].push_back(stage_action(pass, block, microbatch));
  }

  double seconds(const char* pass, int block, int count) const {
    double sum = 0;
    for (int i = 0; i < count; ++i) sum += pass_seconds(shape_, pass, block + i);
    return sum;
  }

  /// `ahead` may run before the microbatch arrives, `after` not.
  void run(int begin, int microbatch, double ahead, double after) {
    Arrival& from = arrived_[static_cast<std::size_t>(microbatch - begin)];
    const double hop = from.rank != next_ ? shape_.times.hop.value : 0;
    double& end = free_[next_];
    end = std::max(end + ahead, from.seconds + hop) + after;
    from = {end, next_};
  }

  struct Arrival {
    double seconds;
    std::size_t rank;
  };

  const PipelineShape& shape_;
  const RoundPartition& partition_;
  Program program_;
  std::vector<double> free_;      ///< by rank: when it has done all it was given
  std::vector<Arrival> arrived_;  ///< by microbatch of the round: where it was last, until when
  std::size_t next_ = 0;          ///< rank of the next stage
};

}  // namespace

RoundPartition balanced_partition(const PipelineShape& shape) {
  const auto forward = [&](int block) { return pass_seconds(shape, "F", block); };
  const auto both = [&](int block) { return forward(block) + pass_seconds(shape, "BW", block); };
  double longest = 0;
  for (int block = 0; block < shape.stages(); ++block) longest = std::max(longest, both(block));
  RoundPartition partition;
  double filled = 0;
  const auto pack = [&](std::vector<int>& stages, double seconds) {
    if (stages.empty() || filled + seconds > longest * (1 + 1e-9)) {
      stages.push_back(0);
      filled = 0;
    }
    ++stages.back();
    filled += seconds;
  };
  for (int block = 0; block + 1 < shape.stages(); ++block) pack(partition.forward, forward(block));
  for (int block = shape.stages(); block-- > 0;) pack(partition.backward, both(block));
  return partition;
}

Program round_pipe_program(int ranks, const PipelineShape& shape, const RoundPartition& partition) {
  check_shape(shape, "roundpipe");
  if (ranks < 1) throw base::Error("schedule roundpipe", "no ranks", "at least 1 is needed");
  check_partition(shape, partition);
  return Rounds(ranks, shape, partition).build();
}

// RoundPipe (arXiv 2604.27085; rules as in github.com/ITcarrot/RoundPipe-artifact, pp-simulate):
// the weights live in host memory and ranks have none of their own. Forward stage i of a round runs
// on rank g + i, backward stage j on rank g + n_f + j (modulo the ranks), where g is the rank that
// is free first. Forward and backward stages are cut differently, so that one that recomputes takes
// as long as one that does not. Boundary tensors wait in host memory: no rank stores inputs.
Program roundpipe(const PipelineShape& shape) {
  check_shape(shape, "roundpipe");
  return round_pipe_program(shape.ranks, shape, balanced_partition(shape));
}

}  // namespace paceline::sim
