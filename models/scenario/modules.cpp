// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "base/message.hpp"
#include "models/scenario/context.hpp"
#include "models/scenario/read_parts.hpp"

/// Models made of modules: each becomes a scenario of its own (Module::view), and their edges are
/// checked to be a tree.
namespace paceline::models::detail {
namespace {

using base::Fields;

constexpr int kMaxModules = 64;
constexpr std::int64_t kMaxTokens = std::int64_t{1} << 27;
constexpr std::array<base::Named<Turns>, 2> kTurns{
    {{"each-microbatch", Turns::EachMicrobatch}, {"whole-batch", Turns::WholeBatch}}};

/// A module with the names it uses of others, before they are known.
struct Draft {
  Module module;
  std::shared_ptr<Scenario> view;
  std::string feeds, host;
  std::string where_feeds, where_host;
  bool has_turns = false;
};

int find(const std::vector<Draft>& drafts, const std::string& name, const std::string& where) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    if (drafts[i].module.name == name) return static_cast<int>(i);
    names.push_back(drafts[i].module.name);
  }
  throw base::Error(where, "there is no module " + base::quote(name),
                    base::suggest(name, names, "one of"));
}

/// Ranks of the cluster that modules listed before have not taken.
int end_of(const std::vector<Draft>& drafts) {
  int end = 0;
  for (const Draft& d : drafts)
    end = std::max(end, d.view->parallel.first_rank + d.view->parallel.world_size());
  return end;
}

void read_ranks(Fields& fields, Draft& draft, const std::vector<Draft>& before, const Scenario& s) {
  Scenario& view = *draft.view;
  const int devices = s.cluster.devices();
  int first = end_of(before), free = devices - first;
  if (!draft.host.empty()) {
    const Draft& host =
        before[static_cast<std::size_t>(find(before, draft.host, draft.where_host))];
    first = host.view->parallel.first_rank;
    free = host.view->parallel.world_size();
  }
  if (fields.has("first_rank")) {
    first = static_cast<int>(fields.integer("first_rank", 0, devices - 1));
    free = draft.host.empty() ? devices - first : free;
  }
  if (free < 1)
    fields.fail("name", "no devices are left for module " + draft.module.name,
                "more nodes, smaller degrees, or colocated_with another module");
  const base::Value empty{base::Value::Kind::Map, {}, {}, false, {}, {}};
  view.parallel = read_parallel(
      fields.has("parallel") ? fields.map("parallel") : fields.view(empty, "parallel"), free);
  view.parallel.first_rank = first;
  place_context(view);
}

void read_batch(Fields& fields, Draft& draft, const Scenario& s) {
  Module& m = draft.module;
  const std::int64_t tokens = fields.integer("tokens", 1, kMaxTokens, s.batch.sequence);
  const std::int64_t items = fields.integer("items", 1, 1'000'000, 1);
  m.micro = fields.integer("micro", 1, s.batch.global, std::min(s.batch.global, s.batch.micro));
  if (s.batch.global > std::numeric_limits<std::int64_t>::max() / items / 4)
    fields.fail("items", "times batch.global is too large");
  draft.view->batch = {s.batch.global * items, m.micro * items, tokens, {}, {}};
  m.sent_tokens = fields.integer("sends", 1, kMaxTokens, std::min(tokens * items, kMaxTokens));
}

Draft read_module(Fields fields, const base::Document& document, const std::string& folder,
                  const std::string& prefix, const std::vector<Draft>& before, const Scenario& s) {
  Draft draft;
  draft.view = std::make_shared<Scenario>(s);
  Scenario& view = *draft.view;
  view.assumptions.clear();
  Module& m = draft.module;
  m.name = fields.text("name");
  if (m.name.empty()) fields.fail("name", "is empty");
  for (const Draft& other : before)
    if (other.module.name == m.name)
      fields.fail("name", "two modules are called " + base::quote(m.name));
  draft.feeds = fields.text("feeds", "");
  draft.host = fields.text("colocated_with", "");
  draft.where_feeds = fields.where(fields.has("feeds") ? "feeds" : "name");
  draft.where_host = fields.where(fields.has("colocated_with") ? "colocated_with" : "name");
  view.model = read_model(fields.map("model"), folder, ModelUse::Module);
  view.frozen = fields.flag("frozen", false);
  read_ranks(fields, draft, before, s);
  read_batch(fields, draft, s);
  draft.has_turns = fields.has("turns");
  m.turns = fields.choice<Turns>("turns", kTurns, Turns::EachMicrobatch);
  m.ahead = static_cast<int>(fields.integer("ahead", 1, 10'000, m.ahead));
  if (fields.has("recompute")) read_recompute(fields, view);
  if (fields.has("attention")) read_attention(fields, view);
  view.costs.reset();
  if (fields.has("costs")) view.costs = read_costs(fields.map("costs"));
  m.width = fields.integer("width", 1, 1 << 20, view.model.hidden);
  fields.done();
  view.name = m.name;
  remember_places(document, prefix, m.name + ".", view);
  return draft;
}

/// Follows what every module feeds: exactly one feeds nothing, and nobody feeds itself in the end.
void connect(std::vector<Draft>& drafts) {
  int main = -1;
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    Draft& d = drafts[i];
    if (!d.host.empty()) d.module.host = find(drafts, d.host, d.where_host);
    if (!d.feeds.empty()) {
      d.module.feeds = find(drafts, d.feeds, d.where_feeds);
    } else if (main >= 0) {
      throw base::Error(d.where_feeds,
                        "modules " + drafts[static_cast<std::size_t>(main)].module.name + " and " +
                            d.module.name + " have no boundary: neither feeds another",
                        "say which module reads the output, feeds: NAME, of all but one");
    } else {
      main = static_cast<int>(i);
    }
  }
  for (const Draft& d : drafts) {
    std::string way = d.module.name;
    int at = d.module.feeds;
    for (std::size_t steps = 0; at >= 0; ++steps) {
      const Module& next = drafts[static_cast<std::size_t>(at)].module;
      way += " -> " + next.name;
      if (next.name == d.module.name || steps > drafts.size())
        throw base::Error(d.where_feeds, "modules feed each other in a circle: " + way,
                          "take out one feeds");
      at = next.feeds;
    }
  }
}

/// Gradients go back as far as something is trained.
void find_backward(std::vector<Module>& modules, const std::string& where) {
  for (Module& m : modules) m.backward = !m.view->frozen;
  for (const Module& m : modules) {
    if (m.view->frozen) continue;
    for (int at = m.feeds; at >= 0; at = modules[static_cast<std::size_t>(at)].feeds)
      modules[static_cast<std::size_t>(at)].backward = true;
  }
  if (std::none_of(modules.begin(), modules.end(), [](const Module& m) { return m.backward; }))
    throw base::Error(where, "every module is frozen: nothing is trained",
                      "take frozen out of one of them");
}

/// The main module is the scenario's own model where one is asked for.
void adopt_main(const Module& main, Scenario& s) {
  const Scenario& view = *main.view;
  s.model = view.model;
  s.parallel = view.parallel;
  s.recompute = view.recompute;
  s.recompute_layers = view.recompute_layers;
  s.recompute_parts = view.recompute_parts;
  s.attention = view.attention;
  s.costs = view.costs;
  if (s.modules.size() == 1) {
    s.batch = view.batch;
    s.frozen = view.frozen;
  }
}

}  // namespace

void read_modules(Fields model, const base::Document& document, const std::string& folder,
                  Scenario& s) {
  const std::vector<base::Value>& items = model.list("modules");
  if (items.empty() || items.size() > kMaxModules)
    model.fail("modules", "has " + std::to_string(items.size()) + " entries",
               "1 to " + std::to_string(kMaxModules));
  if (s.batch.documents)
    throw base::Error(where(s, "batch.documents"), "documents are not sampled in models of modules",
                      "leave them out, or a model without modules");
  if (s.batch.samples)
    throw base::Error(where(s, "batch.samples"), "samples of several lengths are of one model",
                      "leave them out, or a model without modules");
  std::vector<Draft> drafts;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string number = std::to_string(i);
    drafts.push_back(read_module(model.view(items[i], "modules." + number), document, folder,
                                 "model.modules." + number + ".", drafts, s));
  }
  model.done();
  connect(drafts);
  for (const Draft& d : drafts)
    if (drafts.size() > 1 && (d.view->choose_recompute || d.view->choose_offload))
      throw base::Error(where(*d.view, "recompute"), "auto is for models of one module",
                        "none, selective, blockwise or full");
  for (Draft& d : drafts) {
    Module& m = d.module;
    if (m.feeds >= 0) d.view->schedule = {};
    const Scenario* host =
        m.host < 0 ? nullptr : drafts[static_cast<std::size_t>(m.host)].view.get();
    // On several stages of its host it works for all of them: it cannot keep step with each.
    if (host != nullptr && !d.has_turns &&
        d.view->parallel.world_size() > host->parallel.world_size() / host->parallel.pp)
      m.turns = Turns::WholeBatch;
    std::vector<std::string> notes = d.view->assumptions;
    if (drafts.size() > 1)
      notes.insert(notes.begin(), d.view->model.notes.begin(), d.view->model.notes.end());
    for (const std::string& note : notes)
      s.assumptions.push_back(drafts.size() == 1 ? note : m.name + ": " + note);
    m.view = d.view;
    s.modules.push_back(m);
  }
  find_backward(s.modules, model.where("modules"));
  const auto main =
      std::find_if(s.modules.begin(), s.modules.end(), [](const Module& m) { return m.feeds < 0; });
  adopt_main(*main, s);
}

}  // namespace paceline::models::detail
