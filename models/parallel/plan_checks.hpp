// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "models/parallel/plan.hpp"

/// What a layout must fulfil: each throws a base::Error that names the key and the nearest choice.
namespace paceline::models::detail {

/// "1, 2, 4, 5, 8": the smallest divisors of n, for messages.
std::string divisors(std::int64_t n, std::size_t limit = 12);
void must_divide(const Scenario& s, const std::string& key, std::int64_t divisor,
                 std::int64_t total, const std::string& what);

void check_layers(const Scenario& s);
/// Batch, context parallelism, documents, samples.
void check_batch(const Scenario& s);
/// Both meshes must cut the ranks into the same stages.
void check_same_stages(const Scenario& s, const Mesh& model, const Mesh& experts);
void check_moe(const Scenario& s);
void check_node_limit(const Scenario& s, const Plan& plan);
/// A gradient that is never stored cannot be added to another or sent to other ranks.
void check_epilogue(const Scenario& s, std::int64_t microbatches);

}  // namespace paceline::models::detail
