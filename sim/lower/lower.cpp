// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/lower.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "sim/action_index.hpp"
#include "sim/lower/builder.hpp"
#include "sim/lower/fences.hpp"
#include "sim/verify.hpp"

namespace paceline::sim {
namespace {

using models::Plan;
using models::Scenario;

/// Bits of an action: whether it is the first or last of its pass and stage on the rank between two
/// updates, and of those that share a gathering of the weights (Program::gather_unit).
constexpr std::uint8_t kFirst = 1, kLast = 2, kOpens = 4, kCloses = 8;

/// Emits the tasks of the program in an order in which every dependency comes first.
class Emitter {
 public:
  Emitter(const Program& program, StepBuilder& builder)
      : program_(program),
        index_(program),
        order_(execution_order(program, index_)),
        builder_(builder),
        made_(index_.keys()),
        receiver_(index_.keys(), kNobody) {
    for (std::size_t r = 0; r < program.order.size(); ++r) {
      const auto rank = static_cast<int>(r);
      for (const Action& action : program.order[r]) {
        index_.for_each_need(action, [&](const Action& need) {
          if (carries(need, action)) note_receiver(need, rank, action.stage);
        });
      }
      ends_.push_back(ends_of(program.order[r]));
    }
  }

  /// Replica `k` of the pipeline: its ranks run on lanes lane_of(rank).
  template <class LaneOf>
  void emit(const LaneOf& lane_of) {
    StageFences fences(program_);
    if (builder_.ready()) ranges_.assign(program_.order.size() * last_.size(), {});
    for (const Position at : order_) {
      const auto rank = static_cast<std::size_t>(at.rank),
                 position = static_cast<std::size_t>(at.index);
      const std::vector<Action>& actions = program_.order[rank];
      if (position == 0 || !actions[position - 1].fused) collect_inputs(actions, position, at.rank);
      ActionContext context = context_of(lane_of(at.rank), rank, position), partner;
      context.inputs = inputs_;
      if (const std::size_t other = partner_of(actions, position); other != kNowhere) {
        partner = context_of(context.lane, rank, other);
        context.partner = &partner;
        context.leads = other > position;
      }
      if (builder_.ready()) {
        fences.add_needs(context.action, at.rank, inputs_);
        add_order(context, at.rank);
        context.inputs = inputs_;
      }
      const TaskId done = add(context);
      inputs_.clear();  // companions follow on the same stream
      if (!builder_.ready()) continue;
      fences.added(context.action, at.rank, done);
      note_order(context, at.rank, done);
      if (context.action.fused) inputs_.push_back(done);
    }
  }

 private:
  ActionContext context_of(int lane, std::size_t rank, std::size_t position) const {
    ActionContext context;
    context.lane = lane;
    context.action = program_.order[rank][position];
    context.direction = program_.passes[context.action.pass].direction;
    context.position = static_cast<std::uint32_t>(position);
    context.first = (ends_[rank][position] & kFirst) != 0;
    context.last = (ends_[rank][position] & kLast) != 0;
    context.opens = (ends_[rank][position] & kOpens) != 0;
    context.closes = (ends_[rank][position] & kCloses) != 0;
    return context;
  }
  /// The other action of a fused pair, kNowhere for those that stand alone or in larger groups.
  static std::size_t partner_of(const std::vector<Action>& actions, std::size_t position) {
    const auto fused = [&](std::size_t i) { return i < actions.size() && actions[i].fused; };
    if (fused(position))
      return fused(position + 1) || fused(position - 1) ? kNowhere : position + 1;
    const bool follows = fused(position - 1) && !fused(position - 2);
    return follows ? position - 1 : kNowhere;
  }

  struct Made {
    TaskId task = kNoTask;
    TaskId message = kNoTask;  ///< to the rank or ranks that need it
  };

  /// Whether the result of `need` goes to the action as a message where it runs on another rank. In
  /// a pool what else it needs waits in host memory: only the order counts.
  bool carries(const Action& need, const Action& action) const {
    if (!program_.pooled) return true;
    const std::optional<Action> source = index_.source(action);
    return source && index_.key(*source) == index_.key(need);
  }

  void note_receiver(const Action& need, int rank, int stage) {
    if (!program_.nodes.empty()) return note_edge(need, rank, stage);
    if (index_.position(need).rank == rank) return;
    int& receiver = receiver_[index_.key(need)];
    receiver = receiver == kNobody || receiver == rank ? rank : kSeveral;
  }

  /// Of stages that are no chain: a result may go to several ranks, and to another module's layout
  /// on the same one. What waits for room (StageNode::ahead) gets no message.
  struct Edge {
    int rank = 0, stage = 0;
    TaskId message = kNoTask;
  };
  void note_edge(const Action& need, int rank, int stage) {
    if (need.stage == stage) return;
    const Direction direction = program_.passes[need.pass].direction;
    const bool forward = need.stage < stage;
    if (forward != (direction == Direction::Down)) return;
    if (index_.position(need).rank == rank && !builder_.crosses(need.stage, stage)) return;
    std::vector<Edge>& edges = edges_[index_.key(need)];
    for (const Edge& edge : edges)
      if (edge.rank == rank && edge.stage == stage) return;
    edges.push_back({rank, stage});
  }
  TaskId message_of(const Action& need, int rank, int stage) const {
    const auto edges = edges_.find(index_.key(need));
    if (edges == edges_.end()) return kNoTask;
    for (const Edge& edge : edges->second)
      if (edge.rank == rank && edge.stage == stage) return edge.message;
    return kNoTask;
  }

  std::vector<std::uint8_t> ends_of(const std::vector<Action>& order) {
    std::vector<std::uint8_t> ends(order.size(), 0);
    last_.resize(program_.passes.size() * static_cast<std::size_t>(program_.stages), kNowhere);
    const auto close = [&](std::size_t pass, int stage) {
      std::size_t& last = last_[kind(pass, stage)];
      if (last != kNowhere) ends[last] |= kLast | kCloses;
      last = kNowhere;
    };
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (program_.passes[order[i].pass].name == "U") {
        for (std::size_t pass = 0; pass < program_.passes.size(); ++pass)
          close(pass, order[i].stage);
      }
      std::size_t& last = last_[kind(order[i].pass, order[i].stage)];
      if (last == kNowhere) {
        ends[i] |= kFirst | kOpens;
      } else if (!same_unit(order[last], order[i])) {
        ends[last] |= kCloses;
        ends[i] |= kOpens;
      }
      last = i;
    }
    for (const Action& action : order) close(action.pass, action.stage);
    return ends;
  }
  bool same_unit(const Action& a, const Action& b) const {
    const int unit = program_.gather_unit;
    return unit > 0 && a.microbatch / unit == b.microbatch / unit;
  }
  std::size_t kind(std::size_t pass, int stage) const {
    return pass * static_cast<std::size_t>(program_.stages) + static_cast<std::size_t>(stage);
  }

  /// Of one pass of one stage on one rank, between two updates.
  struct Range {
    TaskId first = kNoTask;
    std::vector<TaskId> all;
  };
  Range& range_of(const ActionContext& context, int rank) {
    return ranges_[static_cast<std::size_t>(rank) * last_.size() +
                   kind(context.action.pass, context.action.stage)];
  }
  /// Where the first or the last action of its kind carries data-parallel collectives for all, the
  /// others stay between them.
  void add_order(const ActionContext& context, int rank) {
    if (!builder_.ends_count()) return;
    Range& range = range_of(context, rank);
    if (context.first) range = {};
    if (range.first != kNoTask) inputs_.push_back(range.first);
    if (context.last) inputs_.insert(inputs_.end(), range.all.begin(), range.all.end());
  }
  void note_order(const ActionContext& context, int rank, TaskId done) {
    if (!builder_.ends_count()) return;
    Range& range = range_of(context, rank);
    if (context.first) range.first = done;
    range.all.push_back(done);
  }

  /// Messages and neighbours on the rank; what else the rank did before is bound by its order,
  /// unless the dispatch may change it.
  void collect_inputs(const std::vector<Action>& actions, std::size_t position, int rank) {
    inputs_.clear();
    for (std::size_t i = position;; ++i) {
      index_.for_each_need(actions[i], [&](const Action& need) {
        const bool local = index_.position(need).rank == rank;
        const bool beside = beside_compute(side_of(program_.passes[need.pass].name));
        const bool bound = need.stage == actions[i].stage && !beside && !builder_.ready();
        if (local && bound) return;
        const Made& made = made_[index_.key(need)];
        if (!program_.nodes.empty()) {
          const TaskId message = message_of(need, rank, actions[i].stage);
          inputs_.push_back(message == kNoTask ? made.task : message);
          return;
        }
        inputs_.push_back(local || !carries(need, actions[i]) ? made.task : made.message);
      });
      if (!actions[i].fused) break;
    }
  }

  /// Returns the last task of the action.
  TaskId add(const ActionContext& context) {
    const std::size_t key = index_.key(context.action);
    Made& made = made_[key];
    made.task = builder_.add_action(context);
    if (!program_.nodes.empty()) {
      const auto edges = edges_.find(key);
      if (edges == edges_.end()) return made.task;
      for (Edge& edge : edges->second) {
        edge.message = builder_.crosses(context.action.stage, edge.stage)
                           ? builder_.add_boundary(context, made.task, edge.rank, edge.stage)
                           : builder_.add_message(context, made.task, edge.rank);
      }
      return made.task;
    }
    if (receiver_[key] == kNobody) return made.task;
    made.message = receiver_[key] == kSeveral
                       ? builder_.add_broadcast(context, made.task)
                       : builder_.add_message(context, made.task, receiver_[key]);
    return made.task;
  }

  static constexpr int kNobody = -1, kSeveral = -2;
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  const Program& program_;
  const ActionIndex index_;
  const std::vector<Position> order_;
  StepBuilder& builder_;
  std::vector<Made> made_;                                    ///< by action
  std::unordered_map<std::size_t, std::vector<Edge>> edges_;  ///< by action; stages no chain only
  std::vector<int> receiver_;  ///< by action: rank its result goes to, kNobody, kSeveral
  std::vector<std::vector<std::uint8_t>> ends_;  ///< by rank and position
  std::vector<TaskId> inputs_;
  std::vector<Range> ranges_;      ///< by rank, pass and stage; ready dispatch only
  std::vector<std::size_t> last_;  ///< by pass and stage: position, while ends_of runs
};

}  // namespace

TaskGraph lower(const Scenario& scenario, const Plan& plan, const Program& program,
                const LowerOptions& options) {
  StepBuilder builder(scenario, plan, program, options);
  Emitter emitter(program, builder);
  for (int replica = 0; replica < builder.replicas(); ++replica) {
    emitter.emit([&](int rank) { return builder.lane_of(replica, rank); });
  }
  builder.finish_step();
  return builder.take();
}

}  // namespace paceline::sim
