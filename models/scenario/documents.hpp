// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "base/config.hpp"
#include "models/context/documents.hpp"

namespace paceline::models {

/// `documents: {kind: fixed, lengths: [8192, 512]}`, `{kind: file, file: lengths.txt}`,
/// `{kind: lognormal, median: 1200, sigma: 1.5}`, `{kind: long-tail, shortest: 200, shape: 1.2}`,
/// each with packing, seed and steps, for windows of so many tokens. A document that is longer than
/// a window that cannot be cut is an Error naming it.
Documents read_documents(base::Fields fields, const std::string& folder, std::int64_t tokens);

std::string_view to_text(Packing packing);

}  // namespace paceline::models
