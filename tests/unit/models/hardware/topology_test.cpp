// SPDX-License-Identifier: Apache-2.0
#include "models/hardware/topology.hpp"

#include <catch2/catch.hpp>

#include "models/hardware/fabric.hpp"

using namespace paceline;
using models::NodeTopology;

namespace {

const std::string kFolder = PACELINE_SOURCE "/tests/data/topology/";

NodeTopology read_shared(const std::string& name) { return models::read_topology(kFolder + name); }

std::string topology_error(const std::string& text) {
  try {
    models::parse_topology(text, "node.txt");
  } catch (const base::Error& e) {
    return e.what();
  }
  return "no error";
}

void check_topology_error(const std::string& text, const std::string& expected) {
  const std::string error = topology_error(text);
  INFO(text << "\n" << error);
  CHECK(error.find(expected) != std::string::npos);
  CHECK(error.find("node.txt") == 0);
  CHECK(error.find('\n') == std::string::npos);
}

models::Cluster cluster(const std::string& node) {
  const base::Document document =
      base::parse_yaml("cluster: {nodes: 2, node: {" + node + "}}", kFolder + "s.yaml");
  base::Fields fields(document, document.root);
  return models::read_cluster(fields.map("cluster"));
}

std::string cluster_error(const std::string& node) {
  try {
    cluster(node);
  } catch (const base::Error& e) {
    return e.what();
  }
  return "no error";
}

using List = std::vector<int>;

}  // namespace

TEST_CASE("NCCL's topology: devices, NVLinks to switches, ports and PCIe", "[models]") {
  const NodeTopology node = read_shared("h100-8-nccl.xml");
  CHECK(node.devices == 8);
  CHECK(node.nvlinks == 18);
  CHECK(node.nvswitch);
  CHECK(node.ports == 16);
  CHECK(node.host == "intel");
  CHECK(node.device_switch == List{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(node.port_switch == List{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7});
  CHECK(node.switch_socket == List{0, 0, 0, 0, 1, 1, 1, 1});

  const NodeTopology bare = read_shared("a100-8-virtual.xml");
  CHECK(bare.devices == 8);
  CHECK(bare.ports == 8);
  CHECK(bare.nvlinks == 0);
  CHECK(bare.host == "amd");
  CHECK(bare.device_switch == List{0, 0, 1, 1, 2, 2, 3, 3});
  CHECK(bare.switch_socket == List{0, 0, 0, 0});
}

TEST_CASE("nvidia-smi's table: tabs or spaces, colours, ports, legends", "[models]") {
  const NodeTopology node = read_shared("h200-8-nics.txt");
  CHECK(node.devices == 8);
  CHECK(node.ports == 8);
  CHECK(node.nvlinks == 18);
  CHECK(node.nvswitch);
  CHECK(node.device_switch == List{0, 0, 1, 1, 2, 2, 3, 3});
  CHECK(node.port_switch == node.device_switch);
  CHECK(node.switch_socket == List{0, 0, 1, 1});
  CHECK(node.host.empty());

  const NodeTopology spaces = read_shared("a100-8-spaces.txt");
  CHECK(spaces.nvlinks == 12);
  CHECK(spaces.nvswitch);
  CHECK(spaces.ports == 0);
  CHECK(spaces.switch_socket == List{0, 0, 0, 0, 1, 1, 1, 1});

  const NodeTopology two = read_shared("two-gpus-host-bridge.txt");
  CHECK(two.devices == 2);
  CHECK(two.nvlinks == 0);
  CHECK(two.device_switch == List{0, 1});
  CHECK(two.switch_socket == List{0, 0});

  const NodeTopology direct = read_shared("a100-4-direct.txt");
  CHECK(direct.nvlinks == 12);  // four to each of three others
  CHECK_FALSE(direct.nvswitch);
  CHECK(direct.ports == 1);
  CHECK(direct.switch_socket == List{0, 1, 2, 3, 0});
}

TEST_CASE("what is wrong with a topology is said where it stands", "[models]") {
  check_topology_error("", "no table of GPUs");
  check_topology_error("hello\nworld\n", "no table of GPUs");
  check_topology_error(" GPU0 GPU1\nGPU0 X NV4\n", "'GPU1' has a column and no row");
  check_topology_error(" GPU0 GPU1\nGPU0 X NV4\nGPU1 NV2 X\n",
                       "node.txt:3:1: 'GPU1' and 'GPU0' are joined");
  check_topology_error(" GPU0 GPU1\nGPU0 X\n", "node.txt:2:6: row of 1 cells for 2 columns");
  check_topology_error(" GPU0 GPU1\nGPU0 X QPI\nGPU1 QPI X\n",
                       "node.txt:2:8: unknown connection 'QPI'");
  check_topology_error(" GPU0 GPU1\nGPU0 SYS X\n", "X stands where row and column meet");
  check_topology_error(" GPU0 GPU0\n", "'GPU0' stands twice");
  check_topology_error(" GPU0 GPU1\nGPU0 X SYS\nGPU0 X SYS\n", "has a second row");
  check_topology_error(" GPU0 GPU1 GPU2\nGPU0 X NV4 SYS\nGPU1 NV4 X SYS\nGPU2 SYS SYS X\n",
                       "'GPU2' has 0 NVLinks");
  check_topology_error("<a/>", "the root is 'a'");
  check_topology_error("<system>", "node.txt:1:1: element 'system' is not closed");
  check_topology_error("<system></cpu>", "node.txt:1:9: closes another element");
  check_topology_error("<system/><system/>", "second root");
  check_topology_error("<system>text</system>", "node.txt:1:9: text outside of tags");
  check_topology_error("<!DOCTYPE x [<!ENTITY a \"b\">]><system/>", "document type");
  check_topology_error("<system a=\"&b;\"/>", "entity");
  check_topology_error("<system a=\"1\" a=\"2\"/>", "stands twice");
  check_topology_error("<system a=\"1/>", "is missing");
  check_topology_error("<system a=1/>", "is missing");
  check_topology_error("<system/>", "no GPU in it");
  check_topology_error("<system><gpus/></system>", "unknown element 'gpus'");
  check_topology_error("<system><pci class=\"0x030200\" busid=\"0\"/></system>",
                       "outside of any <cpu>");
  check_topology_error("<system><cpu><pci class=\"0x030200\" busid=\"0\"/></cpu></system>",
                       "'numaid'");
  check_topology_error(
      "<system><cpu numaid=\"0\"><pci class=\"0x030200\" busid=\"0\"/>"
      "<pci class=\"0x030200\" busid=\"0\"/></cpu></system>",
      "bus '0' stands twice");
  std::string deep = "<system>";
  for (int i = 0; i < 100'000; ++i) deep += "<pci class=\"0\">";
  check_topology_error(deep, "more than 64 levels");
}

TEST_CASE("a node described by its topology file", "[models]") {
  const std::string pcie = "pcie: {slot: pcie5-x16, root_port: pcie5-x16, socket_link: pcie5-x16}";
  const models::Cluster c = cluster(
      "device: h200, topology: h200-8-nics.txt, link: nvlink4-nvswitch, network: roce-400, host: "
      "intel, " +
      pcie);
  CHECK(c.groups[0].devices_per_node == 8);
  CHECK(c.groups[0].ports_per_node == 8);
  const models::Fabric f = models::make_fabric(c);
  std::string way;
  for (const int w : models::route(f, 3, 8)) way += f.wires[static_cast<std::size_t>(w)].name + " ";
  CHECK(way ==
        "n0.g3>n0.pcie1 n0.pcie1>n0.nic3 n0.nic3>switch switch>n1.nic0 n1.nic0>n1.pcie0 "
        "n1.pcie0>n1.g0 ");
  CHECK(cluster("device: h100-sxm, topology: h100-8-nccl.xml, link: nvlink4-nvswitch, network: "
                "hdr200")
            .groups[0]
            .host == "intel");

  const auto wrong = [](const std::string& node, const std::string& expected) {
    INFO(cluster_error(node));
    CHECK(cluster_error(node).find(expected) != std::string::npos);
    CHECK(cluster_error(node).find("s.yaml:1:") != std::string::npos);
  };
  wrong("device: h200, topology: none.txt, link: pcie5-x16, host: intel", "no file");
  wrong("device: h200, devices: 4, topology: h200-8-nics.txt, link: nvlink4-nvswitch, host: intel",
        "4, but the topology has 8");
  wrong("device: a100-80gb-sxm, topology: a100-8-virtual.xml, link: nvlink3-nvswitch",
        "has no NVLinks");
  wrong("device: h200, topology: a100-8-spaces.txt, link: nvlink4-nvswitch, host: intel",
        "has 12 NVLinks a device");
  wrong("device: h200, topology: h200-8-nics.txt, link: nvlink4, host: intel", "to switches");
  wrong(
      "device: h200, topology: h200-8-nics.txt, link: nvlink4-nvswitch, network: roce-400, ports: "
      "4, host: intel, "
      "pcie: {slot: pcie5-x16, root_port: pcie5-x16}",
      "4, but the topology has 8");
}
