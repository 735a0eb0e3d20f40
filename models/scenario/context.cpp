// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/context.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "base/message.hpp"
#include "models/hardware/placement.hpp"

namespace paceline::models {
namespace {

constexpr int kMaxHeadChunks = 1024;
constexpr int kUsualChunks = 4;  ///< HCMS: its sweep over chunks is flat between 4 and 5

/// Of a table whose entries have names: the one named, or an Error with the nearest.
template <class Entry>
const Entry* named(base::Fields& fields, std::string_view key, const std::string& name,
                   std::span<const Entry> entries, std::string_view what) {
  std::vector<std::string> names;
  std::string all;
  for (const Entry& entry : entries) {
    if (entry.name == name) return &entry;
    names.emplace_back(entry.name);
    all += (all.empty() ? "" : ", ") + names.back();
  }
  const std::string near = base::nearest(name, names);
  fields.fail(
      key, "unknown " + std::string(what) + " " + base::quote(name),
      near.empty() ? "one of " + all : "did you mean " + base::quote(near) + "? One of " + all);
}

void read_numbers(base::Fields& fields, ContextChoice& choice, int cp) {
  const ContextTraits& traits = choice.method->traits;
  const std::string method(choice.method->name);
  const auto refuse = [&](const char* key, const std::string& fix) {
    fields.fail(key, "means nothing with method " + method, fix);
  };
  if (fields.has("inner")) {
    if (!traits.inner) refuse("inner", "usp, double-ring and hsap take it");
    choice.inner = static_cast<int>(fields.integer("inner", 1, 1 << 22));
    if (cp % choice.inner != 0)
      fields.fail("inner",
                  std::to_string(choice.inner) + " does not divide cp = " + std::to_string(cp),
                  "a divisor of cp");
  }
  if (fields.has("chunks")) {
    if (!traits.chunks) refuse("chunks", "hcms takes it");
    choice.chunks = static_cast<int>(fields.integer("chunks", 1, kMaxHeadChunks));
  }
}

/// Heads of one tensor-parallel rank, by kind of layer.
bool heads_divide(const Scenario& s, int ranks) {
  return std::all_of(s.model.kinds.begin(), s.model.kinds.end(), [&](const Layer& layer) {
    return layer.attention.heads % (std::int64_t{s.parallel.tp} * ranks) == 0;
  });
}

}  // namespace

namespace {

/// What is not said depends on the method.
void set_method(ContextChoice& choice, const ContextMethod* method) {
  choice.method = method;
  choice.order = context_order(method->traits.contiguous ? "contiguous" : "zigzag");
  choice.inner = method->traits.inner ? 0 : 1;
  choice.chunks = method->traits.chunks ? kUsualChunks : 1;
}

}  // namespace

ContextChoice read_context(base::Fields& parallel, int cp) {
  ContextChoice choice = default_context();
  const base::Value* value = parallel.find("context");
  if (value == nullptr) return choice;
  constexpr std::string_view kMethod = "method of context parallelism";
  if (value->kind != base::Value::Kind::Map) {
    set_method(choice,
               named(parallel, "context", parallel.text("context"), context_methods(), kMethod));
    return choice;
  }
  base::Fields fields = parallel.map("context");
  set_method(choice,
             named(fields, "method", fields.text("method", "ring"), context_methods(), kMethod));
  const std::string_view usual = choice.order->name;
  choice.order = named(fields, "order", fields.text("order", std::string(usual)), context_orders(),
                       "order of tokens");
  if (choice.method->traits.contiguous && choice.order->name != usual)
    fields.fail("order", "means nothing with method " + std::string(choice.method->name),
                "leave it out: its tokens are contiguous");
  read_numbers(fields, choice, cp);
  fields.done();
  return choice;
}

void place_context(Scenario& s) {
  Parallel& p = s.parallel;
  if (p.context.inner > 0) return;
  std::int64_t stride = 1;
  for (const std::string& axis : p.order) {
    if (axis == "cp") break;
    stride *= axis == "tp" ? p.tp : axis == "dp" ? p.dp : axis == "pp" ? p.pp : 1;
  }
  p.context.inner = 1;
  for (int inner = 2; inner <= p.cp; ++inner) {
    if (p.cp % inner != 0 || (p.context.method->traits.heads && !heads_divide(s, inner))) continue;
    if (layout_of(s.cluster, p.first_rank, stride, inner).domains > 1) continue;
    p.context.inner = inner;
  }
}

}  // namespace paceline::models
