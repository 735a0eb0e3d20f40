// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/context/method.hpp"

namespace paceline::models {
namespace {

/// Loads within this share of the mean count as equal; smaller shards would waste kernels.
constexpr double kTolerance = 0.01;
constexpr std::int64_t kShard = 128;  ///< fewest rows of a shard, a tile of the kernels

struct Server {
  Holding rows;  ///< what it computes
  std::int64_t area = 0;
  std::int64_t queries_out = 0, queries_in = 0, keys_out = 0, keys_in = 0;
};

std::int64_t area_of(const Piece& piece, const ContextTask& task) {
  return twice_area(piece, task.mask, task.lengths[static_cast<std::size_t>(piece.document)]);
}

/// Index of the piece with most work, of those long enough to cut.
int heaviest(const Server& server, const ContextTask& task) {
  int best = -1;
  std::int64_t area = 0;
  for (std::size_t i = 0; i < server.rows.size(); ++i) {
    if (server.rows[i].count < 2 * kShard) continue;
    const std::int64_t a = area_of(server.rows[i], task);
    if (a > area) {
      area = a;
      best = static_cast<int>(i);
    }
  }
  return best;
}

/// The last rows of a piece with about so much area, whole tiles.
Piece tail_of(const Piece& piece, std::int64_t area, const ContextTask& task) {
  const std::int64_t most = piece.count / kShard - 1;
  std::int64_t low = 1, high = most;
  const auto tail = [&](std::int64_t tiles) {
    const std::int64_t rows = tiles * kShard;
    return Piece{piece.document, piece.begin + (piece.count - rows) * piece.stride, rows,
                 piece.stride};
  };
  while (low < high) {
    const std::int64_t middle = (low + high + 1) / 2;
    if (area_of(tail(middle), task) <= area) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return tail(low);
}

/// Ships the tail of a piece of `from` to `to`; false where none helps.
bool ship(Server& from, Server& to, std::int64_t area, const ContextTask& task) {
  const Mask& mask = task.mask;
  const int i = heaviest(from, task);
  if (i < 0) return false;
  Piece& piece = from.rows[static_cast<std::size_t>(i)];
  const Piece shard = tail_of(piece, area, task);
  const std::int64_t moved = area_of(shard, task);
  if (to.area + moved >= from.area) return false;
  piece.count -= shard.count;
  to.rows.push_back(shard);
  const std::int64_t end = task.mask.causal
                               ? shard.begin + (shard.count - 1) * shard.stride + 1
                               : task.lengths[static_cast<std::size_t>(shard.document)];
  const std::int64_t first = mask.window > 0 ? shard.begin - mask.window : 0;
  const std::int64_t keys = end - std::max<std::int64_t>(0, first);
  from.area -= moved;
  to.area += moved;
  from.queries_out += shard.count;
  from.keys_out += keys;
  to.queries_in += shard.count;
  to.keys_in += keys;
  return true;
}

void balance(std::vector<Server>& servers, const ContextTask& task) {
  std::int64_t total = 0;
  for (const Server& server : servers) total += server.area;
  const std::int64_t mean = total / static_cast<std::int64_t>(servers.size());
  const auto by_area = [](const Server& a, const Server& b) { return a.area < b.area; };
  // Each shipment brings one of the two to the mean, but for tiles.
  for (std::size_t i = 0; i < 8 * servers.size(); ++i) {
    const auto [low, high] = std::minmax_element(servers.begin(), servers.end(), by_area);
    const std::int64_t excess = std::min(high->area - mean, mean - low->area);
    if (static_cast<double>(high->area - mean) <= kTolerance * static_cast<double>(mean)) return;
    if (!ship(*high, *low, excess, task)) return;
  }
}

double most(const std::vector<Server>& servers, std::int64_t Server::*in,
            std::int64_t Server::*out) {
  std::int64_t most = 0;
  for (const Server& s : servers) most = std::max({most, s.*in, s.*out});
  return static_cast<double>(most);
}

}  // namespace

/// DistCA (abstract): attention is disaggregated. Every rank serves attention; shards of queries
/// with their keys go from those with more work to those with less, here greedily, the last rows of
/// the heaviest piece first. Two halves of a microbatch alternate (ping-pong), so that what travels
/// has the rest of the layer's time as well.
ContextWork plan_attention_servers(const ContextTask& task) {
  std::vector<Server> servers(task.queries.size());
  for (std::size_t r = 0; r < servers.size(); ++r) {
    servers[r].rows = task.queries[r];
    servers[r].area = row_of(task, r).twice_area;
  }
  // Keys that the dealt order needs from elsewhere travel as well.
  for (std::size_t r = 0; r < servers.size(); ++r) {
    servers[r].keys_in = needed_keys(task, r);
    servers[r].keys_out = sent_keys(task, r);
  }
  balance(servers, task);
  ContextTask served = task;
  std::vector<Block> blocks;
  for (std::size_t r = 0; r < servers.size(); ++r) {
    served.queries[r] = servers[r].rows;
    std::stable_sort(served.queries[r].begin(), served.queries[r].end(),
                     [](const Piece& a, const Piece& b) { return a.document < b.document; });
    blocks.push_back(row_of(served, r));
  }
  ContextWork work;
  ContextStep step = step_of(served, blocks);
  const double n = task.ranks;
  const double all = n > 1 ? n / (n - 1) : 0;
  const double keys = all * most(servers, &Server::keys_in, &Server::keys_out);
  const double queries = all * most(servers, &Server::queries_in, &Server::queries_out);
  const auto beside = [&](std::string_view name, double q, double k, double o) {
    if (q + k + o > 0)
      step.beside.push_back(
          {name, CollectiveOp::AllToAll, ContextGroup::Servers, q, k, o, ContextExchange::kRest});
  };
  if (task.backward) {
    beside("ship tasks", queries, keys, 2 * queries);
    beside("return gradients", queries, keys, 0);
  } else {
    beside("ship tasks", queries, keys, 0);
    beside("return O", 0, 0, queries);
  }
  work.steps.push_back(std::move(step));
  work.queries = queries;
  work.keys = keys * (task.backward ? 2 : 1);
  work.outputs = queries * (task.backward ? 2 : 1);
  return work;
}

}  // namespace paceline::models
