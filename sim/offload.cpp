// SPDX-License-Identifier: Apache-2.0
#include "sim/offload.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/error.hpp"
#include "sim/action_index.hpp"

namespace paceline::sim {
namespace {

/// Actions between a forward and its backward below which moving makes no sense: the copies would
/// be waited for.
constexpr std::int32_t kShortest = 3;

/// Stored by F at one position of a rank and needed at another.
struct Stay {
  std::int32_t from = 0, to = 0;
  std::int32_t length() const { return to - from; }
};

struct Passes {
  std::uint8_t forward, out, in;
};

std::uint8_t find(const Program& program, std::string_view name) {
  for (std::size_t i = 0; i < program.passes.size(); ++i) {
    if (program.passes[i].name == name) return static_cast<std::uint8_t>(i);
  }
  throw base::Error("offload", "the schedule has no pass " + std::string(name),
                    "activations are moved between F and the backward that reads them");
}

/// Adds O and L to the passes; the passes that read F wait for L where it stands, and those that
/// free F free what L brought.
Passes add_passes(Program& program) {
  Passes passes{find(program, "F"), 0, 0};
  passes.out = static_cast<std::uint8_t>(program.passes.size());
  passes.in = static_cast<std::uint8_t>(passes.out + 1);
  for (Pass& pass : program.passes) {
    const bool reads = std::any_of(pass.reads.begin(), pass.reads.end(),
                                   [&](const Read& r) { return r.pass == passes.forward; });
    if (reads) pass.reads.emplace_back(passes.in, Reach::Same, true);
    if (std::find(pass.frees.begin(), pass.frees.end(), passes.forward) != pass.frees.end())
      pass.frees.push_back(passes.in);
  }
  Pass out, in;
  out.name = "O";
  out.reads = {passes.forward};
  out.frees = {passes.forward};
  in.name = "L";
  in.reads = {passes.out};
  out.sparse = in.sparse = true;
  program.passes.push_back(out);
  program.passes.push_back(in);
  return passes;
}

/// By rank: from F to the first action that reads it.
std::vector<std::vector<Stay>> stays_of(const Program& program, std::uint8_t forward) {
  const ActionIndex index(program);
  std::vector<std::vector<Stay>> stays(program.order.size());
  std::vector<std::int32_t> first_reader(index.keys(), -1);
  for (const auto& order : program.order) {
    for (std::size_t i = order.size(); i-- > 0;) {
      for (const Read& read : program.passes[order[i].pass].reads) {
        if (read.pass != forward || read.reach != Reach::Same) continue;
        Action f = order[i];
        f.pass = forward;
        first_reader[index.key(f)] = static_cast<std::int32_t>(i);
      }
    }
  }
  for (std::size_t rank = 0; rank < program.order.size(); ++rank) {
    const auto& order = program.order[rank];
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (order[i].pass != forward) continue;
      const std::int32_t to = first_reader[index.key(order[i])];
      stays[rank].push_back({static_cast<std::int32_t>(i), to});
    }
  }
  return stays;
}

}  // namespace

void add_offload(Program& program, double share) {
  const std::vector<std::vector<Stay>> all = stays_of(program, find(program, "F"));
  const Passes passes = add_passes(program);
  for (std::size_t rank = 0; rank < program.order.size(); ++rank) {
    std::vector<Stay> stays = all[rank];
    const auto wanted =
        static_cast<std::size_t>(std::llround(share * static_cast<double>(stays.size())));
    std::erase_if(stays, [](const Stay& s) { return s.length() < kShortest; });
    std::stable_sort(stays.begin(), stays.end(),
                     [](const Stay& a, const Stay& b) { return a.length() > b.length(); });
    stays.resize(std::min(stays.size(), wanted));
    std::vector<Action>& order = program.order[rank];
    // (position it stands before, what): copies out come before copies in.
    std::vector<std::tuple<std::int32_t, int, Action>> inserted;
    for (const Stay& stay : stays) {
      Action copy = order[static_cast<std::size_t>(stay.from)];
      copy.fused = false;
      copy.pass = passes.out;
      inserted.emplace_back(stay.from + 1, 0, copy);
      copy.pass = passes.in;
      inserted.emplace_back(stay.to - 1, 1, copy);
    }
    std::stable_sort(inserted.begin(), inserted.end(), [](const auto& a, const auto& b) {
      return std::tie(std::get<0>(a), std::get<1>(a)) < std::tie(std::get<0>(b), std::get<1>(b));
    });
    std::vector<Action> merged;
    merged.reserve(order.size() + inserted.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i <= order.size(); ++i) {
      const bool inside = i > 0 && order[i - 1].fused;  // a fused group stays together
      while (!inside && next < inserted.size() &&
             std::get<0>(inserted[next]) <= static_cast<std::int32_t>(i)) {
        merged.push_back(std::get<2>(inserted[next++]));
      }
      if (i < order.size()) merged.push_back(order[i]);
    }
    order = std::move(merged);
  }
}

}  // namespace paceline::sim
