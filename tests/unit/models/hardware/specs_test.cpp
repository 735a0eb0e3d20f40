// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "models/hardware/device.hpp"
#include "tests/temporary_folder.hpp"

using namespace paceline;
using models::Precision;

namespace {

/// Every number of a spec has a source; only what is absent may have none.
void check_facts(const std::vector<models::Fact>& facts) {
  CHECK_FALSE(facts.empty());
  for (const auto& fact : facts) {
    INFO(fact.key << " = " << fact.value);
    if (fact.value == "unknown" || fact.value == "not supported")
      CHECK(fact.source.empty());
    else
      CHECK_FALSE(fact.source.empty());
  }
}

double peak(const models::Device& d, Precision p) {
  return d.matrix_rate[static_cast<std::size_t>(p)].value;
}

/// A folder of specs of our own, named by PACELINE_SPECS while it lives.
class SpecFolder {
 public:
  SpecFolder() {
    for (const char* kind : {"device", "link", "cluster"})
      std::filesystem::create_directories(folder_.path() / kind);
    setenv("PACELINE_SPECS", folder_.path().c_str(), 1);
  }
  ~SpecFolder() { unsetenv("PACELINE_SPECS"); }
  SpecFolder(const SpecFolder&) = delete;
  SpecFolder& operator=(const SpecFolder&) = delete;
  void write(const std::string& path, const std::string& text) const {
    std::ofstream(folder_.path() / path) << text;
  }

 private:
  scratch::Folder folder_;
};

template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const base::Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("every device spec loads and states a source for every number", "[models]") {
  const auto names = models::spec_names("device");
  REQUIRE(names.size() >= 28);
  for (const auto& name : names) {
    INFO(name);
    const models::Device d = models::read_device(name);
    CHECK(d.name == name);
    check_facts(d.facts);
    CHECK_FALSE(d.source.empty());
    CHECK(d.multiprocessors >= 32);
    // Plausible ranges: a slip of a unit or a digit shows.
    CHECK(d.memory.value > 14e9);
    CHECK(d.memory.value < 320e9);
    CHECK(d.memory_bandwidth.value >= 300e9);
    CHECK(d.memory_bandwidth.value <= 8.2e12);
    REQUIRE(d.tdp);
    CHECK(d.tdp->value >= 70);
    CHECK(d.tdp->value <= 1400);
    CHECK(peak(d, Precision::Fp16) >= 1.99 * d.vector_rate.value);
    CHECK(peak(d, Precision::Fp32) >= d.vector_rate.value);
    if (peak(d, Precision::Fp8) > 0)
      CHECK(peak(d, Precision::Fp8) == Approx(2 * peak(d, Precision::Fp16)).epsilon(0.03));
    if (peak(d, Precision::Bf16) > 0) CHECK(peak(d, Precision::Bf16) == peak(d, Precision::Fp16));
    CHECK(describe(d).find(d.summary) != std::string::npos);
  }
}

TEST_CASE("every link spec loads and states a source for every number", "[models]") {
  const auto names = models::spec_names("link");
  REQUIRE(names.size() >= 35);
  for (const auto& name : names) {
    INFO(name);
    const models::Link l = models::read_link(name);
    check_facts(l.facts);
    const bool memory = l.kind == models::LinkKind::SharedMemory;  // no wire
    CHECK(l.facts.size() >= (memory ? 3 : 4));
    CHECK(l.rate().value > 0);
    CHECK(l.rate() <= l.bandwidth);
    CHECK(l.latency.value >= (memory ? 0.1e-6 : 0.5e-6));
    CHECK(l.latency.value <= 500e-6);
    CHECK(l.multicast == (l.multicast_efficiency > 0));
    CHECK(describe(l).find("bandwidth") != std::string::npos);
  }
}

TEST_CASE("every cluster spec loads and states a source for every number", "[models]") {
  const auto names = models::spec_names("cluster");
  REQUIRE(names.size() >= 45);
  for (const auto& name : names) {
    INFO(name);
    const models::Cluster c = models::read_cluster(name);
    check_facts(c.facts);
    CHECK(c.devices() >= 1);
    for (const auto& g : c.groups) {
      if (g.devices_per_node > 1) CHECK(g.levels.back().size >= g.devices_per_node);
      if (!g.levels.empty()) CHECK(g.levels.back().link.bandwidth.value > 1e9);
      // The devices of a node never share more network than a device link carries.
      if (g.ports_per_node > 0) {
        const double per_device = g.network.rate().value * g.ports_per_node / g.devices_per_node;
        if (!g.levels.empty() && g.levels.back().link.kind != models::LinkKind::Pcie)
          CHECK(per_device < g.levels.back().link.rate().value);
      }
    }
    CHECK(describe(c).find(c.groups[0].device.name) != std::string::npos);
  }
}

TEST_CASE("figures of the data sheets arrive unchanged", "[models]") {
  const auto a100 = models::read_device("a100-80gb-sxm");
  CHECK(peak(a100, Precision::Bf16) == 312e12);
  CHECK(peak(a100, Precision::Fp8) == 0);
  CHECK(a100.multiprocessors == 108);
  CHECK(a100.memory_bandwidth.value == 2039e9);
  CHECK_FALSE(a100.idle.has_value());
  const auto h100 = models::read_device("h100-sxm");
  CHECK(peak(h100, Precision::Fp8) == 1978.9e12);
  CHECK(h100.multiprocessors == 132);
  const auto mi250x = models::read_device("mi250x");  // one die of two
  CHECK(mi250x.multiprocessors == 110);
  const auto nvlink = models::read_link("nvlink4-nvswitch");
  CHECK(nvlink.bandwidth.value == 450e9);
  CHECK(nvlink.lanes == 18);
  CHECK(nvlink.multicast);
  CHECK(nvlink.rate().value / nvlink.lanes == Approx(20.4e9).epsilon(0.001));
  const auto hdr = models::read_link("hdr200");
  CHECK(hdr.bandwidth.value == 25e9);
  CHECK(hdr.latency.value == Approx(5e-6));
  CHECK_FALSE(hdr.sharp);
}

TEST_CASE("a description holds every number, its unit and its source", "[models]") {
  const std::string device = describe(models::read_device("h100-sxm"));
  for (const char* part :
       {"h100-sxm: NVIDIA H100 SXM5, 80 GB (hopper, profile h100-sxm)",
        "matrix_rate.fp8   1978.9 TFLOP/s  NVIDIA H100 Tensor Core GPU architecture whitepaper, "
        "2022",
        "memory            79.11 GiB ", "tdp               700 W ", "idle              unknown\n"})
    CHECK(device.find(part) != std::string::npos);
  const std::string link = describe(models::read_link("hdr200"));
  CHECK(link.find("bandwidth   200 Gb/s  InfiniBand Trade Association roadmap") !=
        std::string::npos);
  const std::string cluster = describe(models::read_cluster("gb200-nvl72"));
  CHECK(
      cluster.find("18 nodes of 4 x gb200, nvlink5-nvl72 joins 72, network 4 x ndr400, host arm") !=
      std::string::npos);
}

TEST_CASE("a number without its source is refused", "[models]") {
  const SpecFolder folder;
  const std::string head = "summary: x\nkind: nvlink\nsources:\n  sheet: \"A\"\n";
  folder.write("link/bare.yaml", head +
                                     "bandwidth: 1 GB/s\nlatency: {value: 1 us, source: sheet}\n"
                                     "efficiency: {value: 1, source: sheet}\n");
  folder.write("link/loose.yaml", head +
                                      "bandwidth: {value: 1 GB/s}\nlatency: {value: 1 us, source: "
                                      "sheet}\nefficiency: {value: 1, source: sheet}\n");
  folder.write("link/stray.yaml",
               head +
                   "bandwidth: {value: 1 GB/s, source: sheat}\nlatency: {value: 1 us, source: "
                   "sheet}\nefficiency: {value: 1, source: sheet}\n");
  const auto error = [](const std::string& name) {
    return error_of([&] { models::read_link(name); });
  };
  CHECK(error("bare").find("bandwidth: a number without its source") != std::string::npos);
  CHECK(error("bare").find("bare.yaml:5:") != std::string::npos);
  CHECK(error("loose").find("source") != std::string::npos);
  CHECK(error("stray").find("'sheat' is not under 'sources'; did you mean 'sheet'?") !=
        std::string::npos);
}

TEST_CASE("impossible spec values are refused", "[models]") {
  const SpecFolder folder;
  const auto link = [&](const std::string& name, const std::string& lines) {
    folder.write("link/" + name + ".yaml", "summary: x\nkind: nvlink\nsources: {s: A}\n" + lines);
    return error_of([&] { models::read_link(name); });
  };
  const std::string rest = "latency: {value: 1 us, source: s}\n";
  CHECK(link("zero",
             "bandwidth: {value: 0 GB/s, source: s}\nefficiency: {value: 1, source: s}\n" + rest)
            .find("bandwidth: must be above 0") != std::string::npos);
  CHECK(link("over",
             "bandwidth: {value: 1 GB/s, source: s}\nefficiency: {value: 1.2, source: s}\n" + rest)
            .find("efficiency") != std::string::npos);
  CHECK(link("unit",
             "bandwidth: {value: 1 GB, source: s}\nefficiency: {value: 1, source: s}\n" + rest)
            .find("bandwidth") != std::string::npos);
  CHECK(link("cast", "bandwidth: {value: 1 GB/s, source: s}\nefficiency: {value: 1, source: s}\n" +
                         rest + "multicast: true\n")
            .find("needs multicast_efficiency") != std::string::npos);
  CHECK(link("roce", "bandwidth: {value: 1 GB/s, source: s}\nefficiency: {value: 1, source: s}\n" +
                         rest + "sharp: true\n")
            .find("only InfiniBand switches reduce") != std::string::npos);
  CHECK(link("none", rest).find("efficiency") != std::string::npos);
  CHECK(link("twice", "bandwidth: {value: 1 GB/s, source: s}\nefficiency: {value: 1, source: s}\n" +
                          rest + "speed: 3\n")
            .find("unknown key") != std::string::npos);
}

TEST_CASE("unknown and unsafe spec names are refused with the nearest valid one", "[models]") {
  const auto error = [](const std::string& name) {
    return error_of([&] { models::spec_path("device", name, "s.yaml:3:5: cluster.device"); });
  };
  CHECK(error("h100-sxn")
            .find("s.yaml:3:5: cluster.device: unknown device 'h100-sxn'; did you mean "
                  "'h100-sxm'?") == 0);
  for (const std::string name : {"../device/h100-sxm", "/etc/passwd", "", ".hidden", "a/b"})
    CHECK(error(name).find("is no name of a device") != std::string::npos);
}

TEST_CASE("folders of PACELINE_SPECS come first and must exist", "[models]") {
  {
    const SpecFolder folder;
    folder.write(
        "link/hdr200.yaml",
        "summary: mine\nkind: infiniband\nsources: {s: A}\nbandwidth: {value: 1 GB/s, source: "
        "s}\nlatency: {value: 1 us, source: s}\nefficiency: {value: 1, source: s}\n");
    folder.write("link/zz-own.yaml", "");
    CHECK(models::read_link("hdr200").summary == "mine");
    const auto names = models::spec_names("link");
    CHECK(std::count(names.begin(), names.end(), "zz-own") == 1);
    CHECK(std::count(names.begin(), names.end(), "hdr200") == 1);
  }
  setenv("PACELINE_SPECS", "/no/such/folder", 1);
  CHECK(error_of([] { models::spec_names("link"); }).find("'/no/such/folder' is no folder") !=
        std::string::npos);
  unsetenv("PACELINE_SPECS");
  CHECK(models::read_link("hdr200").summary != "mine");
}
