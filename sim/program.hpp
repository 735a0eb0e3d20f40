// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// What each rank does and in which order: no times, no communication.
namespace paceline::sim {

enum class Direction : std::uint8_t {
  Down,
  Up,
  None
};  ///< along the stages: 0..n-1, n-1..0, local

/// Of which stages a pass is read: the reader's own, an end of the pipeline, or every one.
enum class Reach : std::uint8_t { Same, First, Last, All };

/// A pass of the same microbatch and slice whose result another one needs.
struct Read {
  std::uint8_t pass = 0;
  Reach reach = Reach::Same;
  bool where_present = false;  ///< no error where the pass read does not stand
  Read() = default;
  Read(std::uint8_t read_pass, Reach of = Reach::Same, bool optional = false)
      : pass(read_pass), reach(of), where_present(optional) {}
  bool operator==(const Read&) const = default;
};

/// One kind of work. F runs down the stages; B, W and BW read what F of the same stage left.
struct Pass {
  std::string name;  ///< letters only, as printed in actions: F, B, W, BW, R, U, N
  Direction direction = Direction::None;
  std::vector<Read> reads;
  std::vector<std::uint8_t> frees;  ///< passes of the same stage whose stored tensors it releases
  Direction slices =
      Direction::None;           ///< along the slices of a microbatch: Down = slice k after k-1
  bool sparse = false;           ///< need not stand everywhere: updates, offloads, fillers
  std::int16_t first_stage = 0;  ///< the stages it runs on
  std::int16_t last_stage = -1;  ///< included; -1: the last
  bool operator==(const Pass&) const = default;
};

/// Which version of its weights an action uses where updates (pass U) stand in the order.
enum class Weights : std::uint8_t {
  Latest,   ///< what is there: forward and backward of a microbatch may differ
  Stash,    ///< forward the latest, backward the version its forward used (PipeDream)
  Delayed,  ///< both the one before the latest update its batch could see (PipeDream-2BW)
};

struct Action {
  std::uint8_t pass = 0;
  bool fused = false;      ///< runs together with the next action of the order: "(2F0&5B1)"
  std::int16_t stage = 0;  ///< global, in model order
  std::int16_t slice = 0;  ///< of the sequence
  std::int32_t microbatch = 0;
  bool operator==(const Action&) const = default;
};

/// A stage of a program whose stages are no chain: modules, skip connections. Its microbatches are
/// numbered on their own: each covers `span` of the program's.
struct StageNode {
  std::vector<std::int16_t> inputs;  ///< stages whose output it receives, all before it
  std::int32_t span = 1;
  /// Its output of microbatch m waits until the stages it goes to have run m - ahead; 0: for
  /// nothing.
  std::int32_t ahead = 0;
  bool backward = true;  ///< false: nothing goes back through it, and forwards store nothing
  bool operator==(const StageNode&) const = default;
};

struct Program {
  std::vector<Pass> passes;
  std::vector<std::vector<Action>> order;  ///< [rank][position]
  int stages = 0;
  int microbatches = 0;
  int slices = 1;
  Weights weights = Weights::Latest;
  /// Weights, gradients and what waits between stages live in host memory: a rank fetches the
  /// weights of a stage when it gets to it.
  bool pooled = false;
  /// Microbatches may leave stages out; neighbours are the next ones they visit.
  bool skips = false;
  std::vector<StageNode> nodes;  ///< by stage; empty: a chain
  /// Above 0: where weights are sharded over data-parallel ranks, so many consecutive microbatches
  /// of one pass of a stage share a gathering of its weights and a reduction of its gradients,
  /// which stay whole from the first to the last of them. 0: every action has its own.
  int gather_unit = 0;
  bool operator==(const Program&) const = default;
};

std::string_view to_text(Direction direction);  ///< down, up, local
std::string_view to_text(Weights weights);      ///< latest, stash, delayed

/// "2F0" is F of stage 2, microbatch 0; "2F0.3" its slice 3 (slice 0 is not printed).
std::string to_text(const Action& action, const Program& program);

/// The whole Program: sizes, passes, then one line per rank. parse_program reads it back.
///
///     program stages=2 microbatches=1 slices=1
///     pass F down
///     pass BW up reads F frees F
///     rank 0: 0F0 0BW0
///     rank 1: 1F0 1BW0
///
/// Stages that are no chain say so between passes and ranks, one line each: `stage 2 from 0,1`,
/// with `span 4`, `ahead 2` and `forward-only` behind it; `stage 0` has no input.
///
/// The first line may go on with `weights=stash|delayed`, `pooled=1`, `skips=1` and
/// `gather_unit=8`, a pass with `slices down|up`, `stages 0-3` and `sparse`; a read is `F`,
/// `F@first`, `F@last`, `F@all`, and `R?` where R need not stand.
std::string to_text(const Program& program);

struct ProgramPlaces;

/// Reads the text form; '#' starts a comment. Checks the grammar and that every number lies inside
/// the sizes of the first line, not whether the order can run (sim/verify.hpp does). Throws
/// base::Error with file:line:column. `places`, where given, receives where every action stands.
Program parse_program(std::string_view text, const std::string& file,
                      ProgramPlaces* places = nullptr);

}  // namespace paceline::sim
