// SPDX-License-Identifier: Apache-2.0
#include "kernels/collective/bandwidth.hpp"

#include <string>

#include "base/error.hpp"
#include "base/message.hpp"

namespace paceline::kernels {

std::string_view name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::AllReduce:
      return "all_reduce";
    case CollectiveKind::AllGather:
      return "all_gather";
    case CollectiveKind::ReduceScatter:
      return "reduce_scatter";
    case CollectiveKind::AllToAll:
      return "all_to_all";
    case CollectiveKind::Broadcast:
      return "broadcast";
    case CollectiveKind::SendRecv:
      return "send_recv";
  }
  return "";
}

CollectiveKind collective_named(std::string_view name) {
  std::string names;
  for (const CollectiveKind kind : kCollectiveKinds) {
    if (name_of(kind) == name) return kind;
    names += (names.empty() ? "" : ", ") + std::string(name_of(kind));
  }
  throw base::Error("collective", base::quote(name) + " is not one", "there are " + names);
}

double bus_factor(CollectiveKind kind, int ranks) {
  PACELINE_CHECK(ranks >= 1);
  const double n = ranks;
  switch (kind) {
    case CollectiveKind::AllReduce:
      return 2 * (n - 1) / n;
    case CollectiveKind::AllGather:
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::AllToAll:
      return (n - 1) / n;
    case CollectiveKind::Broadcast:
    case CollectiveKind::SendRecv:
      break;
  }
  return 1;
}

Bandwidth bandwidth(CollectiveKind kind, base::Bytes size, int ranks, base::Seconds time) {
  if (time.value <= 0) return {};
  const base::BytesPerSecond algorithm = size / time;
  return {algorithm, algorithm * bus_factor(kind, ranks)};
}

}  // namespace paceline::kernels
