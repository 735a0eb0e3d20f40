// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/offload.hpp"

#include <array>

namespace paceline::models {

Offload read_offload(base::Fields fields) {
  enum class Target { Host, Nvme };
  constexpr std::array<base::Named<Target>, 2> kTargets{
      {{"host", Target::Host}, {"nvme", Target::Nvme}}};
  Offload offload;
  offload.share = fields.number("activations", 0, 1);
  const Target target = fields.choice<Target>("to", kTargets, Target::Host);
  offload.bandwidth = fields.rate("bandwidth", base::BytesPerSecond(0));
  if (fields.has("bandwidth") && offload.bandwidth.value <= 0)
    fields.fail("bandwidth", "is not above 0", "for example 25 GB/s; left out, that of the device");
  if (target == Target::Nvme && offload.bandwidth.value <= 0) {
    fields.fail("bandwidth", "is needed for nvme", "what the drives of one device take, 6 GB/s");
  }
  fields.done();
  return offload;
}

}  // namespace paceline::models
