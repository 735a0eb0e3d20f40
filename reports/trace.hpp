// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <string_view>

#include "reports/answer.hpp"
#include "sim/predict.hpp"

namespace paceline::reports {

/// Receives a document piece by piece.
using Sink = std::function<void(std::string_view)>;

/// Above this many events viewers become slow: worth a warning.
inline constexpr std::size_t kComfortableEvents = 1'000'000;

/// The timeline in the Chrome trace event format (JSON object form), as Perfetto and
/// chrome://tracing read it: a process per rank class, a thread per stream, a complete event per
/// task, a flow arrow per message that another class waits for, a counter per part of memory.
/// Times are rounded to whole nanoseconds. Returns the number of events.
std::size_t write_trace(const Answer& answer, const sim::Prediction& prediction, const Sink& sink);

}  // namespace paceline::reports
