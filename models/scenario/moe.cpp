// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/moe.hpp"

#include <array>
#include <limits>

namespace paceline::models {
namespace {

using base::Fields;
using base::Named;

constexpr std::array kDispatchers{
#define PACELINE_DISPATCHER(id, function, name, summary) Named<Dispatcher>{name, Dispatcher::id},
#include "models/workload/dispatchers/list.def"
#undef PACELINE_DISPATCHER
};

constexpr std::array<Named<ImbalanceLaw>, 5> kLaws{{{"balanced", ImbalanceLaw::Balanced},
                                                    {"lognormal", ImbalanceLaw::Lognormal},
                                                    {"zipf", ImbalanceLaw::Zipf},
                                                    {"adversarial", ImbalanceLaw::Adversarial},
                                                    {"measured", ImbalanceLaw::Measured}}};
constexpr std::array<Named<bool>, 2> kOverlaps{{{"none", false}, {"1f1b", true}}};
constexpr std::array<Named<bool>, 2> kDispatchTypes{{{"16-bit", false}, {"fp8", true}}};

constexpr double kMaxCapacity = 1000;
constexpr double kMaxSkew = 5, kMaxExponent = 10, kMaxLoad = 1e6;

Imbalance read_imbalance(Fields& moe) {
  Imbalance imbalance;
  const base::Value* value = moe.find("imbalance");
  if (value == nullptr) return imbalance;
  if (value->kind == base::Value::Kind::Scalar) {
    imbalance.law = moe.choice<ImbalanceLaw>("imbalance", kLaws, ImbalanceLaw::Balanced);
    const bool needs =
        imbalance.law != ImbalanceLaw::Balanced && imbalance.law != ImbalanceLaw::Adversarial;
    if (needs)
      moe.fail("imbalance", "needs a figure",
               "{law: lognormal, sigma: 0.5}, {law: zipf, exponent: 0.5}, {law: measured, load: "
               "1.2}, balanced or adversarial");
    return imbalance;
  }
  Fields fields = moe.map("imbalance");
  if (!fields.has("law")) fields.fail("law", "is missing", "for example lognormal");
  imbalance.law = fields.choice<ImbalanceLaw>("law", kLaws, ImbalanceLaw::Balanced);
  switch (imbalance.law) {
    case ImbalanceLaw::Balanced:
    case ImbalanceLaw::Adversarial:
      break;
    case ImbalanceLaw::Lognormal:
      imbalance.value = fields.number("sigma", 0, kMaxSkew);
      break;
    case ImbalanceLaw::Zipf:
      imbalance.value = fields.number("exponent", 0, kMaxExponent);
      break;
    case ImbalanceLaw::Measured:
      imbalance.value = fields.number("load", 1, kMaxLoad);
      break;
  }
  imbalance.seed = static_cast<std::uint64_t>(
      fields.integer("seed", 0, std::numeric_limits<std::int64_t>::max(), 1));
  fields.done();
  return imbalance;
}

}  // namespace

MoeSettings read_moe(Fields fields) {
  MoeSettings moe;
  moe.dispatcher = fields.choice<Dispatcher>("dispatcher", kDispatchers, Dispatcher::AllToAll);
  if (fields.has("capacity")) {
    moe.capacity = fields.number("capacity", 0, kMaxCapacity);
    if (moe.capacity <= 0)
      fields.fail("capacity", "is not above 0", "for example 1.25; left out, no token is dropped");
  }
  moe.node_limit = static_cast<int>(fields.integer("node_limit", 0, 1 << 20, 0));
  moe.pad = static_cast<int>(fields.integer("pad", 0, 4096, 0));
  moe.fp8_dispatch = fields.choice<bool>("dispatch", kDispatchTypes, false);
  if (moe.fp8_dispatch && moe.dispatcher == Dispatcher::Slice)
    fields.fail("dispatch", "means nothing with dispatcher slice: no token travels before",
                "another dispatcher, or leave it out");
  moe.imbalance = read_imbalance(fields);
  moe.overlap = fields.choice<bool>("overlap", kOverlaps, false);
  moe.shared_overlap = fields.flag("shared_overlap", false);
  fields.done();
  return moe;
}

std::string_view to_text(Dispatcher dispatcher) {
  return kDispatchers[static_cast<std::size_t>(dispatcher)].first;
}
std::string_view to_text(ImbalanceLaw law) { return kLaws[static_cast<std::size_t>(law)].first; }

}  // namespace paceline::models
