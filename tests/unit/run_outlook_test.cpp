// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <string>

#include "reports/outlook.hpp"
#include "sim/outer/failures.hpp"
#include "sim/predict.hpp"
#include "tests/scenario_of.hpp"

using namespace paceline;
using Catch::Matchers::Contains;

namespace {

sim::Result outlook_of(const std::string& failures, const std::string& more = "") {
  return sim::predict(
             tests::small_gpt("run: {tokens: 1e12}\nfailures: {" + failures + "}\n" + more))
      .result;
}

}  // namespace

TEST_CASE("Goodput of a run is Daly's for one process and blocking checkpoints", "[failures]") {
  const sim::Result r = outlook_of(
      "job_mtbf: 8 h, detect: 1 min, restart: 10 min, runs: 400, checkpoints: {storage: 50 MB/s}");
  REQUIRE(r.outlook);
  const sim::RunOutlook& o = *r.outlook;
  CHECK(o.mtbf == 8 * 3600);
  CHECK(o.blocking == Approx(o.checkpoint_bytes / 50e6));
  CHECK(o.every == Approx(sim::daly_interval(o.blocking, o.mtbf)));
  const double exact = sim::exact_goodput({o.every, o.blocking, 0}, {"job", 8 * 3600, 1, 60, 600});
  CHECK(o.goodput.value == Approx(exact).epsilon(0.01));
  CHECK(o.run_seconds.value == Approx(r.run_seconds / o.goodput.value).epsilon(0.005));
}

TEST_CASE("Checkpoints beside the steps cost less than those that block", "[failures]") {
  const std::string job = "device_mtbf: 400 h, restart: 5 min, checkpoints: ";
  const auto blocking = *outlook_of(job + "{storage: 50 MB/s}").outlook;
  const auto background = *outlook_of(job + "{mode: background, storage: 50 MB/s}").outlook;
  const auto memory = *outlook_of(job + "{mode: memory}").outlook;
  CHECK(background.blocking < blocking.blocking);
  CHECK(background.goodput.value > blocking.goodput.value);
  CHECK(memory.goodput.value >= background.goodput.value);
  CHECK(blocking.mtbf == Approx(400 * 3600.0));  // one device
}

TEST_CASE("An outlook is written and read back, and told in lines", "[failures]") {
  const sim::Result r = outlook_of("job_mtbf: 100 h, restart: 5 min, checkpoints: {mode: memory}",
                                   "prices: {device_hour: 2 USD/h}\n");
  base::JsonWriter json;
  json.begin_object();
  reports::write_outlook(json, *r.outlook);
  json.end_object();
  const base::Document document = base::parse_json(json.finish(), "x.json");
  const sim::RunOutlook back =
      reports::read_outlook(base::Fields(document, document.root).map("failures"));
  CHECK(back.goodput.value == r.outlook->goodput.value);
  CHECK(back.run_money->value == r.outlook->run_money->value);
  CHECK(back.run_money->value > r.money->run);
  CHECK(back.sample.size() == r.outlook->sample.size());
  CHECK(back.sample.back().end == Approx(back.sample_seconds));
  CHECK(reports::outlook_lines(back) == reports::outlook_lines(*r.outlook));
  CHECK_THAT(reports::outlook_lines(back)[1], Contains("USD"));
}
