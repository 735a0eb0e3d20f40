// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "models/cost/collective.hpp"

/// Ring collectives of sparse arrays inside NCCL's ring, after SpCCL and its Pici format
/// (hpcgroup/spccl-reproducer-sc26 and torchcomms-sparse, comms/ncclx/v2_28/src/device/ccd.cuh and
/// prims_simple.h). Every chunk travels dense, as a bitvector or as coordinates, whichever is the
/// smallest at the density predicted for it; reductions fill chunks up as they go round.
namespace paceline::models {

enum class SparseFormat { Dense, Bitvector, Coordinates };
std::string_view to_text(SparseFormat format);

inline constexpr double kSparseTile = 64 * 64;  ///< elements with one prefix count
inline constexpr double kSparseHeader = 48;     ///< bytes of every slot
inline constexpr double kSparsePadding = 16;    ///< slots are multiples of this

/// Bytes of `elements` with a `density` (0 to 1) of nonzeros of `value_bytes` each, without header
/// and padding: dense E v; bitvector nnz v + ceil(E/8) + 4 ceil(E/4096), a bit per element and a
/// 4-byte prefix count per tile; coordinates nnz (v + 4).
base::Bytes sparse_bytes(SparseFormat format, double elements, double density, int value_bytes);
/// The same as a slot of the ring: with its header, padded.
base::Bytes sparse_slot_bytes(SparseFormat format, double elements, double density,
                              int value_bytes);

/// Densities between which the bitvector is the smallest format of large chunks: above `low`
/// coordinates are larger, above `high` dense is smaller.
struct BitvectorRange {
  double low = 0, high = 0;
};
BitvectorRange bitvector_range(int value_bytes);

/// Dense at density `1 - threshold` and above, else the smaller of the other two.
SparseFormat choose_format(double elements, double density, int value_bytes, double threshold);

/// Density of the sum of `addends` independent arrays: 1 - (1 - density)^addends. Masks that
/// overlap fill up more slowly.
double summed_density(double density, int addends);

/// What the ring cannot know from the array.
struct SparseSettings {
  /// Thresholds of choose_format while reducing over the device link and the network, and while
  /// gathering; the values of the artifact.
  double reduce_inside = 0.6, reduce_across = 0.5, gather = 0.1;
  /// Dense bytes one GPU packs, or unpacks and adds, per second. No public figure: assumed that the
  /// codec runs in the collective's own 64 blocks of an A100 (of 108 multiprocessors) and reads and
  /// writes every dense byte once, 64 / 108 x 1555 GB/s / 2.
  base::BytesPerSecond codec{460e9};
};

/// Ring time of AllGather, ReduceScatter or AllReduce (scatter, then gather) of an array of `size`
/// dense bytes, as collective_time counts it. Every step takes the longer of the wire (what the
/// white box's Simple ring takes for the step's bytes) and the codec; the dense array goes through
/// the same ring. One rank takes no time. Any other operation is a broken invariant.
struct SparseTime {
  base::Seconds time;
  base::Bytes sent;          ///< by one rank
  double final_density = 0;  ///< of the result
};
SparseTime sparse_collective_time(CollectiveOp op, base::Bytes size, double density,
                                  int value_bytes, const CollectiveGroup& group,
                                  const NcclRelease& release, const SparseSettings& settings = {});

/// Time of the dense collective over that of the sparse one at a `sparsity` of 0 to 1.
double sparse_speed_up(CollectiveOp op, base::Bytes size, double sparsity, int value_bytes,
                       const CollectiveGroup& group, const NcclRelease& release,
                       const SparseSettings& settings = {});

}  // namespace paceline::models
