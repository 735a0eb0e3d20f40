// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "models/context/order.hpp"
#include "models/cost/collective.hpp"

/// What context parallelism makes of the attention of one layer: who computes which scores in which
/// step, and what travels. Pure counting; times come later.
namespace paceline::models {

/// Of the ranks of a context group: all, `inner` neighbours, or those `inner` apart. Servers: those
/// of all replicas of data parallelism.
enum class ContextGroup : std::uint8_t { All, Inner, Outer, Servers };

/// One exchange of a layer. Amounts are tokens whose queries (outputs; keys with values) are in the
/// array as collective_time counts it, on the heads of the tensor-parallel rank: a share of the
/// heads is a share of the tokens.
struct ContextExchange {
  std::string_view name;
  CollectiveOp op = CollectiveOp::SendRecv;
  ContextGroup group = ContextGroup::All;
  double queries = 0, keys = 0, outputs = 0;
  int steps = 1;  ///< where it runs beside steps: how many until it is needed
  static constexpr int kRest = 1 << 20;  ///< steps: beside all that follows in the pass
};

/// One attention kernel on every rank.
struct ContextStep {
  std::vector<ContextExchange> beside;    ///< start with the kernel
  std::vector<std::int64_t> twice_areas;  ///< of the masks of the ranks' scores
  double heads = 1;                       ///< share of the heads that a rank computes
  double rows = 0;                        ///< queries of the busiest rank
  double length = 0;                      ///< of its documents, for the kernel's efficiency
  bool merges = false;                    ///< its outputs are added to those of earlier steps
};

struct ContextWork {
  std::vector<ContextExchange> before;  ///< waited for
  std::vector<ContextStep> steps;
  std::vector<ContextExchange> after;  ///< waited for
  /// Tokens held beside the rank's own while the layer runs, in the units of ContextExchange.
  double queries = 0, keys = 0, outputs = 0;
};

/// Scores of one rank against the keys of another.
struct Block {
  std::int64_t twice_area = 0;
  /// Sum over documents of twice area / queries: the harmonic mean of the lengths of documents,
  /// weighted with their work, is area / per_row. Rates of kernels of the form s / (s + c) are then
  /// exact for mixed lengths.
  double per_row = 0;
  void add(const Block& other);
  double length() const;
};

/// What a method works on: the tokens of one window as an order has dealt them.
struct ContextTask {
  int ranks = 1;
  int inner = 1;   ///< ranks of ContextGroup::Inner
  int chunks = 1;  ///< pieces of the heads that go one after another
  /// Tokens whose queries are computed, and those whose keys are held (more, where a slice or a
  /// chunk follows earlier ones).
  std::vector<Holding> queries, keys;
  std::vector<std::int64_t> lengths;  ///< by document, up to its last key
  Mask mask;
  double heads = 1, kv_heads = 1;  ///< of the tensor-parallel rank
  bool backward = false;
};

/// The tasks of several windows as one, on the ranks of all of them.
ContextTask pooled(const std::vector<ContextTask>& tasks);
/// Deals a window. `earlier`: of the documents' tokens before the window those whose keys are held.
ContextTask context_task(const ContextOrder& order, std::span<const Run> window,
                         std::span<const Run> earlier, int ranks, const Mask& mask);

/// Scores of rank `q` against the keys of rank `k`, and against all keys.
Block block_of(const ContextTask& task, std::size_t q, std::size_t k);
Block row_of(const ContextTask& task, std::size_t q);
/// Most queries, and most keys, that a rank holds.
double most_queries(const ContextTask& task);
double most_keys(const ContextTask& task);
/// All scores of all ranks, with the documents' own lengths.
Block whole_of(const ContextTask& task);
/// The same tokens on groups of `size` neighbours that stand for one rank each.
ContextTask joined(const ContextTask& task, int size);
/// Tokens whose keys rank `r` gets from others, because its queries see them.
std::int64_t needed_keys(const ContextTask& task, std::size_t r);
/// Tokens of rank `r` whose keys others get, each as often as it is sent.
std::int64_t sent_keys(const ContextTask& task, std::size_t r);
/// A step from the ranks' blocks, in which every rank computes a share of the heads.
ContextStep step_of(const ContextTask& task, std::span<const Block> blocks, double heads = 1);

}  // namespace paceline::models
