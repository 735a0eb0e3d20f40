// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "models/hardware/topology.hpp"
#include "tests/fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace models = paceline::models;
  const std::string text(data, data + size);
  paceline::fuzz::only_clear_errors([&] {
    const models::NodeTopology node = models::parse_topology(text, "input.txt");
    PACELINE_CHECK(node.devices == static_cast<int>(node.device_switch.size()));
    PACELINE_CHECK(node.ports == static_cast<int>(node.port_switch.size()));
    for (const auto* list : {&node.device_switch, &node.port_switch})
      for (const int at : *list)
        PACELINE_CHECK(at >= 0 && at < static_cast<int>(node.switch_socket.size()));
  });
  return 0;
}
