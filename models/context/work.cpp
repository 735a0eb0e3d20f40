// SPDX-License-Identifier: Apache-2.0
#include "models/context/work.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace paceline::models {
namespace {

/// Queries of the document of piece i, whose pieces stand side by side.
std::int64_t rows_of(const Holding& holding, std::size_t first, std::size_t last) {
  std::int64_t sum = 0;
  for (std::size_t i = first; i < last; ++i) sum += holding[i].count;
  return sum;
}

std::size_t document_end(const Holding& holding, std::size_t first) {
  std::size_t last = first;
  while (last < holding.size() && holding[last].document == holding[first].document) ++last;
  return last;
}

void append_sorted(Holding& holding, const Holding& more) {
  holding.insert(holding.end(), more.begin(), more.end());
  std::stable_sort(holding.begin(), holding.end(),
                   [](const Piece& a, const Piece& b) { return a.document < b.document; });
}

/// Calls f(first, last) with the pieces of each document.
template <class F>
void each_document(const Holding& holding, const F& f) {
  for (std::size_t i = 0; i < holding.size();) {
    const std::size_t end = document_end(holding, i);
    f(i, end);
    i = end;
  }
}

void add_document(Block& block, std::int64_t twice_area, std::int64_t rows) {
  if (twice_area == 0) return;
  block.twice_area += twice_area;
  block.per_row += static_cast<double>(twice_area) / static_cast<double>(rows);
}

double most(const std::vector<Holding>& held) {
  std::int64_t most = 0;
  for (const Holding& holding : held) most = std::max(most, held_tokens(holding));
  return static_cast<double>(most);
}

}  // namespace

void Block::add(const Block& other) {
  twice_area += other.twice_area;
  per_row += other.per_row;
}

double Block::length() const {
  if (per_row <= 0) return 0;
  const double length = static_cast<double>(twice_area) / per_row;
  // Documents of one length have that length, not one a rounding away.
  const double whole = std::round(length);
  return std::abs(length - whole) < 1e-9 * length ? whole : length;
}

ContextTask context_task(const ContextOrder& order, std::span<const Run> window,
                         std::span<const Run> earlier, int ranks, const Mask& mask) {
  ContextTask task;
  task.ranks = ranks;
  task.mask = mask;
  for (const Run& run : window) {
    const auto d = static_cast<std::size_t>(run.document);
    if (task.lengths.size() <= d) task.lengths.resize(d + 1, 0);
    task.lengths[d] = std::max(task.lengths[d], run.end);
  }
  task.queries = order.deal(window, ranks, mask);
  for (Holding& holding : task.queries) append_sorted(holding, {});
  task.keys = task.queries;
  if (earlier.empty()) return task;
  const std::vector<Holding> held = order.deal(earlier, ranks, mask);
  for (std::size_t r = 0; r < held.size(); ++r) append_sorted(task.keys[r], held[r]);
  return task;
}

ContextTask pooled(const std::vector<ContextTask>& tasks) {
  ContextTask all = tasks.front();
  auto documents = static_cast<int>(all.lengths.size());
  for (std::size_t i = 1; i < tasks.size(); ++i) {
    const auto append = [&](std::vector<Holding>& to, std::vector<Holding> from) {
      for (Holding& holding : from) {
        for (Piece& piece : holding) piece.document += documents;
        to.push_back(std::move(holding));
      }
    };
    all.lengths.insert(all.lengths.end(), tasks[i].lengths.begin(), tasks[i].lengths.end());
    append(all.queries, tasks[i].queries);
    append(all.keys, tasks[i].keys);
    all.ranks += tasks[i].ranks;
    documents += static_cast<int>(tasks[i].lengths.size());
  }
  return all;
}

Block block_of(const ContextTask& task, std::size_t q, std::size_t k) {
  const Holding& queries = task.queries[q];
  const Holding& keys = task.keys[k];
  Block block;
  std::size_t at = 0;
  each_document(queries, [&](std::size_t first, std::size_t last) {
    const int document = queries[first].document;
    while (at < keys.size() && keys[at].document < document) ++at;
    std::int64_t area = 0;
    for (std::size_t j = at; j < keys.size() && keys[j].document == document; ++j) {
      for (std::size_t i = first; i < last; ++i) area += twice_area(queries[i], keys[j], task.mask);
    }
    add_document(block, area, rows_of(queries, first, last));
  });
  return block;
}

Block row_of(const ContextTask& task, std::size_t q) {
  const Holding& queries = task.queries[q];
  Block block;
  each_document(queries, [&](std::size_t first, std::size_t last) {
    const std::int64_t length = task.lengths[static_cast<std::size_t>(queries[first].document)];
    std::int64_t area = 0;
    for (std::size_t i = first; i < last; ++i) area += twice_area(queries[i], task.mask, length);
    add_document(block, area, rows_of(queries, first, last));
  });
  return block;
}

double most_queries(const ContextTask& task) { return most(task.queries); }
double most_keys(const ContextTask& task) { return most(task.keys); }

ContextStep step_of(const ContextTask& task, std::span<const Block> blocks, double heads) {
  ContextStep step;
  step.heads = heads;
  std::size_t busiest = 0;
  for (std::size_t r = 0; r < blocks.size(); ++r) {
    step.twice_areas.push_back(blocks[r].twice_area);
    if (blocks[r].twice_area > blocks[busiest].twice_area) busiest = r;
  }
  step.rows =
      static_cast<double>(held_tokens(task.queries[busiest * task.queries.size() / blocks.size()]));
  step.length = blocks.empty() ? 0 : blocks[busiest].length();
  return step;
}

Block whole_of(const ContextTask& task) {
  Block whole;
  std::vector<std::pair<std::int64_t, std::int64_t>> documents;  // twice area, queries
  for (const Holding& holding : task.queries) {
    for (const Piece& piece : holding) {
      const auto d = static_cast<std::size_t>(piece.document);
      if (documents.size() <= d) documents.resize(d + 1);
      documents[d].first += twice_area(piece, task.mask, task.lengths[d]);
      documents[d].second += piece.count;
    }
  }
  for (const auto& [area, rows] : documents) add_document(whole, area, rows);
  return whole;
}

ContextTask joined(const ContextTask& task, int size) {
  ContextTask outer = task;
  outer.ranks = task.ranks / size;
  outer.queries.assign(static_cast<std::size_t>(outer.ranks), {});
  outer.keys = outer.queries;
  for (std::size_t r = 0; r < task.queries.size(); ++r) {
    const std::size_t to = r / static_cast<std::size_t>(size);
    append_sorted(outer.queries[to], task.queries[r]);
    append_sorted(outer.keys[to], task.keys[r]);
  }
  return outer;
}

namespace {

/// Tokens of the keys that some query of the holding sees: those before its last and, with a
/// window, not too far before its first.
std::int64_t seen_keys(const Holding& queries, const Holding& keys, const Mask& mask) {
  std::int64_t sum = 0;
  std::size_t at = 0;
  each_document(queries, [&](std::size_t first, std::size_t last) {
    const int document = queries[first].document;
    std::int64_t from = queries[first].begin, to = 0;
    for (std::size_t i = first; i < last; ++i) {
      from = std::min(from, queries[i].begin);
      to = std::max(to, queries[i].begin + (queries[i].count - 1) * queries[i].stride + 1);
    }
    from = mask.window > 0 ? from - mask.window : 0;
    if (!mask.causal) {  // all keys are seen, however long the document
      from = 0;
      to = std::numeric_limits<std::int64_t>::max() / 2;
    }
    while (at < keys.size() && keys[at].document < document) ++at;
    for (std::size_t j = at; j < keys.size() && keys[j].document == document; ++j) {
      const Piece& k = keys[j];
      const auto below = [&](std::int64_t limit) {
        return std::clamp<std::int64_t>((limit - k.begin + k.stride - 1) / k.stride, 0, k.count);
      };
      sum += std::max<std::int64_t>(0, below(to) - below(from));
    }
  });
  return sum;
}

}  // namespace

std::int64_t needed_keys(const ContextTask& task, std::size_t r) {
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < task.keys.size(); ++k)
    if (k != r) sum += seen_keys(task.queries[r], task.keys[k], task.mask);
  return sum;
}

std::int64_t sent_keys(const ContextTask& task, std::size_t r) {
  std::int64_t sum = 0;
  for (std::size_t q = 0; q < task.queries.size(); ++q)
    if (q != r) sum += seen_keys(task.queries[q], task.keys[r], task.mask);
  return sum;
}

}  // namespace paceline::models
