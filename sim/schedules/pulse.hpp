// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <vector>

/// Where the layers of a network with skip connections go: layer i of the first half feeds layer
/// L-1-i of the second one.
namespace paceline::sim {

/// First layer of each of 2 * ranks stages, then the number of layers. Stage i and its mirror stage
/// 2 * ranks - 1 - i, which share a rank, hold mirrored layers, so that no skip connection leaves
/// the rank; a middle layer goes to the last rank. Of all such partitions one whose slowest rank is
/// fastest, by dynamic programming over pairs of layers. `seconds` by layer, of one microbatch, at
/// least 2 * ranks of them; throws base::Error otherwise.
std::vector<int> mirrored_partition(std::span<const double> seconds, int ranks);

/// Bytes that skip connections carry between ranks for one microbatch in one direction. Connection
/// i, of `bytes[i]`, leads from layer i to layer L-1-i through every stage boundary between them
/// unless both ends are on one rank. `first_layer` as of mirrored_partition, `rank` by stage.
double skip_bytes(std::span<const int> first_layer, std::span<const int> rank,
                  std::span<const double> bytes);

}  // namespace paceline::sim
