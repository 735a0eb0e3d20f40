// SPDX-License-Identifier: Apache-2.0
#include "models/cost/nccl_constants.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include "base/error.hpp"
#include "base/message.hpp"

namespace paceline::models {
namespace {

constexpr std::array<NcclRelease, 5> kReleases{{
    {"2.7",
     7,
     {{4.4, 4.4, 0.0}, {0.52, 1.25, 28.0}, {1.0, 1.9, 28.0}, {5.0, 8.5, 28.0}},
     {{3.6, 10.0, 8.4}, {0.57, 1.9, 3.4}, {1.0, 2.5, 5.7}, {2.7, 4.0, 9.6}},
     0,
     0,
     87.7,
     false},
    {"2.12",
     12,
     {{4.4, 4.4, 0.0}, {0.6, 1.25, 28.0}, {1.0, 1.9, 28.0}, {5.0, 8.5, 28.0}},
     {{3.6, 10.0, 8.4}, {0.6, 1.9, 3.4}, {1.0, 2.5, 5.7}, {2.7, 4.0, 28.0}},
     0,
     0,
     87.7,
     false},
    {"2.18",
     18,
     {{6.8, 14.0, 0.0}, {0.6, 1.25, 4.0}, {1.0, 1.9, 4.0}, {5.0, 8.5, 14.0}},
     {{6.6, 14.0, 8.4}, {0.6, 1.9, 3.4}, {1.0, 2.5, 5.7}, {2.7, 4.0, 14.0}},
     23.0,
     14.0,
     87.7,
     false,
     true},  // NCCL 2.18.1 release notes: NVLS with IB SHARP
    {"2.21",
     21,
     {{6.8, 14.0, 0.0}, {0.6, 1.25, 4.0}, {1.0, 1.9, 4.0}, {5.0, 8.5, 14.0}},
     {{6.6, 14.0, 8.4}, {0.6, 1.9, 3.4}, {1.0, 2.5, 5.7}, {2.7, 4.0, 14.0}},
     25.0,
     14.0,
     141.0,
     false,
     true,
     true},  // from 2.20 on (NVIDIA SHARP 3.5.2 release notes)
    {"2.27",
     27,
     {{6.8, 14.0, 8.4}, {0.6, 1.25, 4.0}, {1.0, 1.9, 4.0}, {5.0, 8.5, 14.0}},
     {{6.6, 14.0, 8.4}, {0.6, 1.9, 3.4}, {1.0, 2.5, 5.7}, {2.7, 4.0, 14.0}},
     25.0,
     20.9,
     141.0,
     true,
     true,
     true},
}};
constexpr int kNewestMinor = 30;

constexpr std::array<double, 13> kIntra80{40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
constexpr std::array<double, 16> kInter80{48, 30, 28, 24, 20, 18, 15, 12,
                                          10, 9,  7,  6,  5,  4,  3,  2.4};
constexpr std::array<double, 11> kIntra90{60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
constexpr std::array<double, 12> kInter90{48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6};
constexpr std::array<double, 12> kIntra100{90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
constexpr std::array<double, 11> kInter100{96, 86, 80, 48, 45.1, 42, 40, 30, 24, 22, 20};

constexpr std::array<NcclGeneration, 6> kGenerations{{
    {"volta", 20.0, {26.5, 18.5, 10}, {20, 20, 20}, 20, 20, 39.0, {0, 0}, 0, 0, kIntra80, kInter80},
    {"turing",
     20.0,
     {26.5, 18.5, 10},
     {20, 20, 20},
     20,
     20,
     39.0,
     {0, 0},
     0,
     0,
     kIntra80,
     kInter80},
    {"ampere",
     20.0,
     {24, 23.6, 17.8},
     {20, 20, 20},
     20,
     20,
     87.7,
     {0, 0},
     0,
     0,
     kIntra80,
     kInter80},
    {"ada", 12.0, {24, 23.6, 17.8}, {20, 20, 20}, 20, 20, 87.7, {0, 0}, 0, 0, kIntra80, kInter80},
    {"hopper",
     20.6,
     {38.7, 41.4, 36.0},
     {36.7, 36.7, 29.0},
     36.7,
     30,
     141.0,
     {57.7, 45.5},
     0.85,
     16,
     kIntra90,
     kInter90},
    {"blackwell",
     40.1,
     {70, 42.8, 24},
     {55.6, 31.67, 20},
     40,
     45,
     282.0,
     {96, 80},
     0.74,
     24,
     kIntra100,
     kInter100},
}};
constexpr std::size_t kAmpere = 2;

constexpr std::size_t kCorrectionSizes = 24;
constexpr std::array<std::array<double, kCorrectionSizes>, 3> kTreeCorrection{{
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
     .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9},
}};

/// Minor number of "2.18" or "2.18.5" (also "2.18.5+cuda12.4"); -1 when the text is neither.
int parse_minor(std::string_view version) {
  if (version.substr(0, 2) != "2.") return -1;
  version.remove_prefix(2);
  int minor = -1;
  const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), minor);
  if (error != std::errc()) return -1;
  const bool whole = end == version.data() + version.size();
  return whole || *end == '.' || *end == '+' ? minor : -1;
}

}  // namespace

std::string_view to_text(CollectiveAlgorithm a) {
  switch (a) {
    case CollectiveAlgorithm::Ring:
      return "ring";
    case CollectiveAlgorithm::Tree:
      return "tree";
    case CollectiveAlgorithm::Nvls:
      return "nvls";
    case CollectiveAlgorithm::NvlsTree:
      return "nvls-tree";
    case CollectiveAlgorithm::Pat:
      return "pat";
    case CollectiveAlgorithm::Direct:
      return "direct";
    case CollectiveAlgorithm::Hierarchical:
      return "hierarchical";
    case CollectiveAlgorithm::CollNetDirect:
      return "collnet-direct";
    case CollectiveAlgorithm::CollNetChain:
      return "collnet-chain";
  }
  return "";
}

std::string_view to_text(CollectiveProtocol p) {
  switch (p) {
    case CollectiveProtocol::LL:
      return "ll";
    case CollectiveProtocol::LL128:
      return "ll128";
    case CollectiveProtocol::Simple:
      return "simple";
  }
  return "";
}

std::span<const NcclRelease> nccl_releases() { return kReleases; }

const NcclRelease& nccl_release(std::string_view version) {
  const int minor = parse_minor(version);
  if (minor >= kReleases.front().minor && minor <= kNewestMinor) {
    const auto* found = kReleases.begin();
    for (const auto* r = kReleases.begin(); r != kReleases.end(); ++r)
      if (r->minor <= minor) found = r;
    return *found;
  }
  std::string names;
  for (const NcclRelease& r : kReleases) names += (names.empty() ? "" : ", ") + std::string(r.name);
  throw base::Error(
      "nccl", "unknown release " + base::quote(version),
      "constants are known from " + names + " on, up to 2." + std::to_string(kNewestMinor));
}

const NcclGeneration& nccl_generation(std::string_view generation) {
  for (const NcclGeneration& g : kGenerations)
    if (g.name == generation) return g;
  return kGenerations[kAmpere];
}

double ll_max_rate(const NcclGeneration& generation, const NcclRelease& release, int nodes,
                   std::string_view host) {
  if (nodes == 1) return generation.name == "hopper" ? release.ll_max_hopper : generation.ll_max;
  if (host == "amd") return nodes == 2 ? 22.5 : 19.0;
  return nodes == 2 ? 39.0 : 20.4;
}

double tree_correction(CollectiveProtocol protocol, double bytes) {
  const auto& factors = kTreeCorrection[static_cast<std::size_t>(protocol)];
  const double position = std::log2(std::max(bytes, 64.0) / 64.0);
  const auto index = static_cast<std::size_t>(std::min(position, 1000.0));
  const double here = index < kCorrectionSizes ? factors[index] : 1.0;
  const double next = index + 1 < kCorrectionSizes ? factors[index + 1] : 1.0;
  return here + (next - here) * (position - static_cast<double>(index));
}

NcclChannels nccl_channels(const NcclGeneration& generation, int links, int ports,
                           base::BytesPerSecond port) {
  const double inside = links * generation.per_link;
  const double per_port = port.value / 1e9;
  NcclChannels best;
  for (const double speed : ports > 0 ? generation.inter_speeds : generation.intra_speeds) {
    int channels = static_cast<int>(inside / speed);
    if (ports > 0) channels = std::min(channels, ports * static_cast<int>(per_port / speed));
    // Only a clearly larger total makes the search leave the faster channels it met first.
    if (channels * speed > 1.03 * best.bus()) best = {channels, speed, 0};
  }
  const bool hopper = generation.intra_speeds.front() > kIntra80.front();
  const bool keep = hopper && best.rate < 50 && best.graph > 4;
  if (best.rate >= 25 && !keep) best = {best.graph * 2, best.rate / 2, 0};
  best.launched = std::min(64, best.graph * 2);
  if (generation.name == "blackwell" && ports == 0) best.launched = std::min(32, best.launched);
  return best;
}

double nvls_chunk(double bytes, double queue, double chunk_max) {
  double chunk = chunk_max;
  if (chunk > 64 * 1024 && bytes < 64 * queue * chunk) chunk = 64 * 1024;
  if (chunk > 32 * 1024 && bytes < 8 * queue * chunk) chunk = 32 * 1024;
  if (chunk > 16 * 1024 && bytes < 2 * queue * chunk) chunk = 16 * 1024;
  return chunk;
}

double nvls_tree_chunk(double bytes, double queue, double chunk_max, int nodes) {
  double chunk = nodes >= 4 ? std::min(chunk_max, 64.0 * 1024) : chunk_max;
  if (chunk > 256 * 1024 && bytes < 32 * queue * chunk) chunk = 256 * 1024;
  if (chunk > 128 * 1024 && bytes < 16 * queue * chunk) chunk = 128 * 1024;
  if (chunk > 64 * 1024 && bytes < 4 * queue * chunk) chunk = 64 * 1024;
  if (chunk > 32 * 1024 && bytes < queue * chunk) chunk = 32 * 1024;
  return chunk;
}

}  // namespace paceline::models
