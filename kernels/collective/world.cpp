// SPDX-License-Identifier: Apache-2.0
#include "kernels/collective/world.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>

#include "base/error.hpp"
#include "kernels/collective/nccl.hpp"
#include "kernels/collective/ranks.hpp"

namespace paceline::kernels {
namespace {

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// Of all ranks: numbers that are equal where the texts are.
std::vector<double> gather_texts(const Communicator& world, const std::string& text) {
  constexpr unsigned kBitsOfDouble = 52;
  const auto number = std::hash<std::string>()(text) >> (64 - kBitsOfDouble);
  return gather_values(world, static_cast<double>(number));
}

}  // namespace

void require_world(const Backend& backend, int ranks) {
  if (backend.enqueues && ranks > 1) nccl_version();
}

bool on_one_machine(const Communicator& world) {
  const std::vector<double> all = gather_texts(world, host_name());
  return std::all_of(all.begin(), all.end(), [&](double other) { return other == all.front(); });
}

Communicator world_of(const Backend& backend) {
  const std::optional<Launch> launched = launch();
  const std::string device = backend.take_device(launched ? launched->local_rank : 0);
  Communicator world = world_communicator();
  if (!backend.enqueues || world.size() == 1) return world;
  std::vector<double> all = gather_texts(world, host_name() + " " + device);
  std::sort(all.begin(), all.end());
  if (std::adjacent_find(all.begin(), all.end()) != all.end())
    throw base::MissingError(std::string(backend.name) + ": " + std::to_string(world.size()) +
                             " ranks need as many GPUs: some would share one here");
  return nccl_communicator(std::move(world));
}

}  // namespace paceline::kernels
