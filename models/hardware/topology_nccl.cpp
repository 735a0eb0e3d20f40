// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>

#include "base/config.hpp"
#include "base/message.hpp"
#include "models/hardware/topology.hpp"
#include "models/hardware/xml.hpp"

namespace paceline::models {
namespace {

constexpr std::array<std::string_view, 12> kKnown{
    "system", "cpu", "pci", "gpu", "nvlink", "nic", "net", "c2c", "pcilink", "xgmi", "grp", "sw"};

struct Seen {
  int order = 0;  ///< `dev` of NCCL, or the place in the file
  int root = 0;   ///< element just below the socket
  int socket = 0;
};

class TopologyReader {
 public:
  TopologyReader(std::string_view text, const std::string& file)
      : elements_(parse_xml(text, file)), file_(file) {}

  NodeTopology read() {
    check_names();
    for (std::size_t e = 0; e < elements_.size(); ++e) look_at(e);
    if (gpus_.empty()) throw base::Error(file_, "no GPU in it");
    if (gpus_.size() > static_cast<std::size_t>(kMaxTopologyDevices))
      throw base::Error(file_, "more than 1024 GPUs");
    return settle();
  }

 private:
  const XmlElement& at(int e) const { return elements_[static_cast<std::size_t>(e)]; }

  void check_names() const {
    if (elements_[0].name != "system")
      throw base::Error(elements_[0].where, "the root is " + base::quote(elements_[0].name),
                        "a topology file of NCCL has <system>");
    for (const XmlElement& element : elements_)
      if (std::find(kKnown.begin(), kKnown.end(), element.name) == kKnown.end())
        throw base::Error(element.where, "unknown element " + base::quote(element.name));
  }

  int number(const XmlElement& element, std::string_view key, int low, int high) const {
    const std::string* text = element.find(key);
    if (!text) throw base::Error(element.where, "no attribute '" + std::string(key) + "'");
    return static_cast<int>(
        base::parse_integer(*text, element.where + ": " + std::string(key), low, high));
  }

  /// Climbs to the socket.
  Seen place(int e) const {
    Seen seen{0, e, -1};
    for (int up = e; up >= 0; up = at(up).parent) {
      if (at(up).name == "cpu") {
        seen.socket = number(at(up), "numaid", -1, 1023);
        return seen;
      }
      seen.root = up;
    }
    throw base::Error(at(e).where, "outside of any <cpu>");
  }

  void look_at(std::size_t e) {
    const XmlElement& element = elements_[e];
    if (element.name == "cpu") return look_at_cpu(element);
    if (element.name == "nvlink") return look_at_nvlink(element);
    if (element.name == "net") ++nets_[nic_above(static_cast<int>(e))];
    if (element.name != "pci") return;
    const std::string* kind = element.find("class");
    if (!kind) throw base::Error(element.where, "no attribute 'class'");
    const bool gpu = kind->starts_with("0x0302") || kind->starts_with("0x0300");
    const bool nic = kind->starts_with("0x0200") || kind->starts_with("0x0207");
    if (!gpu && !nic) return;  // bridges, NVSwitches, storage
    const std::string* bus = element.find("busid");
    if (!bus) throw base::Error(element.where, "no attribute 'busid'");
    if (!buses_.emplace(*bus, 0).second)
      throw base::Error(element.where, "bus " + base::quote(*bus) + " stands twice");
    Seen seen = place(static_cast<int>(e));
    auto& list = gpu ? gpus_ : nics_;
    seen.order = static_cast<int>(list.size());
    if (gpu) seen.order = device_number(e, seen.order);
    list.emplace(static_cast<int>(e), seen);
  }

  /// `dev` of the <gpu> inside, where NCCL has written one.
  int device_number(std::size_t pci, int fallback) const {
    for (std::size_t e = pci + 1;
         e < elements_.size() && elements_[e].parent >= static_cast<int>(pci); ++e)
      if (elements_[e].name == "gpu" && elements_[e].parent == static_cast<int>(pci))
        return number(elements_[e], "dev", 0, 1 << 20);
    return fallback;
  }

  int nic_above(int e) const {
    while (e >= 0 && at(e).name != "pci") e = at(e).parent;
    return e;
  }

  void look_at_cpu(const XmlElement& cpu) {
    const std::string *vendor = cpu.find("vendor"), *arch = cpu.find("arch");
    if (vendor && *vendor == "GenuineIntel") host_ = "intel";
    if (vendor && *vendor == "AuthenticAMD") host_ = "amd";
    if (arch && (*arch == "arm64" || *arch == "aarch64")) host_ = "arm";
  }

  void look_at_nvlink(const XmlElement& link) {
    const std::string* target = link.find("tclass");
    nvlinks_[link.parent] += number(link, "count", 1, 1024);
    if (target && target->starts_with("0x0680")) nvswitch_ = true;
  }

  NodeTopology settle() const {
    NodeTopology node;
    node.host = host_;
    node.nvswitch = nvswitch_;
    node.devices = static_cast<int>(gpus_.size());
    for (const auto& [gpu, count] : nvlinks_) {
      if (node.nvlinks > 0 && count != node.nvlinks)
        throw base::Error(at(gpu).where, std::to_string(count) + " NVLinks where another GPU has " +
                                             std::to_string(node.nvlinks));
      node.nvlinks = count;
    }
    if (!nvlinks_.empty() && nvlinks_.size() != gpus_.size())
      throw base::Error(file_, "some GPUs have NVLinks and others none");
    std::map<int, int> sockets, switches;  // as in the file -> numbered from 0
    for (const auto* list : {&gpus_, &nics_})
      for (const auto& [e, seen] : *list) sockets.emplace(seen.socket, 0);
    int count = 0;
    for (auto& [id, index] : sockets) index = count++;
    for (const auto* list : {&gpus_, &nics_})
      for (const auto& [e, seen] : *list) switches.emplace(seen.root, sockets[seen.socket]);
    std::map<int, int> index;
    for (const auto& [root, socket] : switches) {
      index[root] = static_cast<int>(node.switch_socket.size());
      node.switch_socket.push_back(socket);
    }
    std::vector<Seen> devices;
    for (const auto& [e, seen] : gpus_) devices.push_back(seen);
    std::stable_sort(devices.begin(), devices.end(),
                     [](const Seen& a, const Seen& b) { return a.order < b.order; });
    for (std::size_t d = 0; d < devices.size(); ++d) {
      if (d > 0 && devices[d].order == devices[d - 1].order)
        throw base::Error(file_, "two GPUs have the number " + std::to_string(devices[d].order));
      node.device_switch.push_back(index[devices[d].root]);
    }
    for (const auto& [e, seen] : nics_) {
      const auto nets = nets_.find(e);  // ports of one card
      for (int p = 0; p < (nets == nets_.end() ? 1 : nets->second); ++p)
        node.port_switch.push_back(index[seen.root]);
    }
    node.ports = static_cast<int>(node.port_switch.size());
    return node;
  }

  std::vector<XmlElement> elements_;
  std::string file_, host_;
  std::map<int, Seen> gpus_, nics_;  // by element
  std::map<int, int> nets_, nvlinks_;
  std::map<std::string, int> buses_;
  bool nvswitch_ = false;
};

}  // namespace

NodeTopology parse_nccl_topology(std::string_view text, const std::string& file) {
  return TopologyReader(text, file).read();
}

}  // namespace paceline::models
