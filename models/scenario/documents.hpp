// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "base/config.hpp"
#include "models/scenario/scenario.hpp"

namespace paceline::models {

/// `documents: {kind: fixed, lengths: [8192, 512]}`, `{kind: file, file: lengths.txt}`,
/// `{kind: lognormal, median: 1200, sigma: 1.5}`, `{kind: long-tail, shortest: 200, shape: 1.2}`,
/// each with packing, seed and steps, for windows of so many tokens. A document that is longer than
/// a window that cannot be cut is an Error naming it.
Documents read_documents(base::Fields fields, const std::string& folder, std::int64_t tokens);

/// `samples: {kind: …, degrees: [1, 2, 4, 8]}` with the lengths of documents: none is longer than
/// `tokens`. Degrees are powers of 2, in any order.
Samples read_samples(base::Fields fields, const std::string& folder, std::int64_t tokens);

std::string_view to_text(Packing packing);

}  // namespace paceline::models
