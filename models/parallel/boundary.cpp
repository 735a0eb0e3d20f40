// SPDX-License-Identifier: Apache-2.0
#include "models/parallel/boundary.hpp"

#include <algorithm>
#include <array>

#include "models/workload/layer_ops.hpp"

namespace paceline::models {
namespace {

using base::Error;

/// Both ends of an edge.
struct Ends {
  const Module &from, &to;
  const Scenario &a, &b;  ///< views of the two
  const Plan &plan_a, &plan_b;
  bool shared = false;  ///< the same ranks
  double samples_from() const { return static_cast<double>(from.micro) * a.parallel.dp; }
  double samples_to() const { return static_cast<double>(to.micro) * b.parallel.dp; }
  double sample_bytes() const {
    return static_cast<double>(from.sent_tokens) * static_cast<double>(from.width) *
           activation_element(a.precision);
  }
};

int pool_of(const Scenario& s, int module) {
  const int host = s.modules[static_cast<std::size_t>(module)].host;
  return host < 0 ? module : host;
}

Ends ends_of(const Scenario& s, const Plan& plan, int module) {
  const Module& from = s.modules[static_cast<std::size_t>(module)];
  const auto to = static_cast<std::size_t>(from.feeds);
  return {from,
          s.modules[to],
          *from.view,
          *s.modules[to].view,
          plan.modules[static_cast<std::size_t>(module)],
          plan.modules[to],
          pool_of(s, module) == pool_of(s, from.feeds)};
}

base::Seconds collective(const Scenario& s, CollectiveOp op, double bytes,
                         const CollectiveGroup& group) {
  if (group.ranks <= 1) return base::Seconds(0);
  return collective_time(op, base::Bytes(bytes), group, nccl_release(s.stack.nccl)).time;
}

CollectiveGroup over(const Plan& plan, const Scenario& view,
                     std::initializer_list<std::string_view> axes) {
  const std::vector<std::string_view> names(axes);
  return group_of(plan, view, names, view.parallel.first_rank);
}

/// Siblings: `count` neighbours along the dp axis of the module.
CollectiveGroup siblings(const Plan& plan, const Scenario& view, int count) {
  Plan part = plan;
  for (MeshAxis& axis : part.meshes.front().axes)
    if (axis.name == "dp") axis.size = count;
  return over(part, view, {"dp"});
}

double width(const Parallel& p) { return static_cast<double>(p.tp) * p.cp; }

/// First ranks of replicas to first ranks, then on to the others of the receiver.
Boundary across(const Scenario& s, double samples, double sample_bytes, const Plan& from,
                const Scenario& sender, const Plan& to, const Scenario& receiver, int device_from,
                int device_to) {
  Boundary b;
  b.bytes = samples * sample_bytes * width(receiver.parallel);
  // The busier end decides: a rank sends to, or hears from, several others.
  const double received = samples / receiver.parallel.dp * sample_bytes;
  const double leader = std::max(samples / sender.parallel.dp * sample_bytes, received);
  const CollectiveGroup pair = slowest_pair(from, sender, device_from, device_to);
  b.time = collective(s, CollectiveOp::SendRecv, leader, pair) +
           collective(s, CollectiveOp::Broadcast, received, over(to, receiver, {"tp", "cp"}));
  return b;
}

}  // namespace

Boundary forward_boundary(const Scenario& s, const Plan& plan, int module) {
  const Ends e = ends_of(s, plan, module);
  const Parallel &a = e.a.parallel, &b = e.b.parallel;
  if (!e.shared)
    return across(s, e.samples_from(), e.sample_bytes(), e.plan_a, e.a, e.plan_b, e.b,
                  e.plan_a.pipeline.back().device, e.plan_b.pipeline.front().device);
  const int fan = a.dp / std::max(1, std::min(a.dp, b.dp));
  Boundary boundary;
  boundary.bytes = e.samples_from() * e.sample_bytes() * width(a) * (fan - 1);
  boundary.time = collective(s, CollectiveOp::AllGather, e.samples_from() / b.dp * e.sample_bytes(),
                             siblings(e.plan_a, e.a, fan));
  return boundary;
}

Boundary backward_boundary(const Scenario& s, const Plan& plan, int module, bool first) {
  const Ends e = ends_of(s, plan, module);
  const Parallel &a = e.a.parallel, &b = e.b.parallel;
  if (!e.shared)
    return across(s, e.samples_to(), e.sample_bytes(), e.plan_b, e.b, e.plan_a, e.a,
                  e.plan_b.pipeline.front().device, e.plan_a.pipeline.back().device);
  const double gradient = e.samples_to() / std::min(a.dp, b.dp) * e.sample_bytes();
  Boundary boundary;
  if (first) {
    const int fan = b.dp / std::max(1, std::min(a.dp, b.dp));
    boundary.bytes = e.samples_to() * e.sample_bytes() * width(b) * (fan - 1);
    boundary.time = collective(s, CollectiveOp::AllGather, gradient, siblings(e.plan_b, e.b, fan));
    return boundary;
  }
  boundary.bytes = e.samples_to() * e.sample_bytes() * width(b);
  const CollectiveGroup pipeline = over(e.plan_b, e.b, {"pp"});
  // One broadcast to all later stages; each message of it takes its part.
  boundary.time =
      collective(s, CollectiveOp::Broadcast, gradient, pipeline) / std::max(1, pipeline.ranks - 1);
  return boundary;
}

void check_boundary(const Scenario& s, int module) {
  const Module& from = s.modules[static_cast<std::size_t>(module)];
  const Module& to = s.modules[static_cast<std::size_t>(from.feeds)];
  const Parallel &a = from.view->parallel, &b = to.view->parallel;
  if (a.dp % b.dp != 0 && b.dp % a.dp != 0)
    throw Error(where(*from.view, "parallel.dp"),
                "dp = " + std::to_string(a.dp) + " of " + from.name + " and dp = " +
                    std::to_string(b.dp) + " of " + to.name + " do not divide each other",
                "samples are dealt over replicas: one a multiple of the other");
  if (pool_of(s, module) != pool_of(s, from.feeds) || (a.cp == 1 && b.cp == 1) || a.cp == b.cp)
    return;
  throw Error(where(*from.view, "parallel.cp"),
              "cp = " + std::to_string(a.cp) + " of " + from.name + " and cp = " +
                  std::to_string(b.cp) + " of " + to.name + " differ on shared ranks",
              "the same cp, or ranks of their own");
}

}  // namespace paceline::models
