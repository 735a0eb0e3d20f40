// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "base/sample.hpp"
#include "models/hardware/device.hpp"

/// What becomes of a tensor that is sent encoded: bytes on the wire, kernels that encode and decode
/// it and what they cost, memory that stays between steps, and the numbers that come out again.
namespace paceline::models {

struct KernelModel;

/// What is encoded: one or more matrices of rows x columns in 16 or 32 bits. Gradients: outputs x
/// inputs of a linear layer. Activations: tokens x hidden.
struct CodecTensor {
  double rows = 0, columns = 0;
  double matrices = 1;
  double element_bytes = 2;
  double count() const { return rows * columns * matrices; }
  double bytes() const { return count() * element_bytes; }
};

/// The parameters of all codecs; which of them one takes, Codec::keys says.
struct CodecSettings {
  double keep = 0.01;        ///< share of the elements that are sent, in (0, 1]
  double density = 0.01;     ///< share of elements that are not zero, in (0, 1]
  std::int64_t rank = 32;    ///< columns of the thin factors, or of the subspace
  std::int64_t block = 0;    ///< elements that share a scale, or a transform; 0: the whole tensor
  std::int64_t refresh = 1;  ///< steps from one update of statistics or bases to the next
  std::int64_t workers = 2;  ///< whose votes are counted
  double tokens = 4096;      ///< rows that statistics are taken over
  /// Residual vector quantisation: words of a codebook (0: none), into how many vectors the
  /// coordinates of a row are split, and how often what is left is quantised again.
  std::int64_t codebook = 0, split = 1, levels = 1;
  Precision values = Precision::Bf16;  ///< of what is sent as numbers: kept values, factors
  bool operator==(const CodecSettings&) const = default;
};

/// One run of a kernel. Where the profile has a curve of it, that is its time; else the longer one
/// of its memory traffic and its product C[m,n] = A[m,k] B[k,n], if it is one.
struct CodecKernel {
  std::string kernel, pass, type;  ///< of kernels/, as in profiles
  base::Extents extents;
  double bytes = 0;
  double m = 0, n = 0, k = 0;
  double share = 1;  ///< of the steps it runs in
  double times = 1;  ///< runs one after another in such a step
};

/// How ranks add up what each of them has encoded.
enum class CodecSum : std::uint8_t {
  Values,     ///< codes are numbers that the collective itself can add
  Exchanged,  ///< parts go to the rank that adds them, sums are encoded once more and gathered
  Gathered,   ///< everyone gets everyone's codes
};

struct Encoded {
  double wire_bytes = 0;  ///< of one rank's whole tensor
  CodecSum sum = CodecSum::Exchanged;
  std::vector<CodecKernel> encode, decode;
  /// Run beside other work, off the way of the message: masks of the next step, new bases.
  std::vector<CodecKernel> aside;
  double aside_bytes = 0;  ///< per rank, sent beside other work: masks
  double state_bytes = 0;  ///< on every rank, from one step to the next
};

/// What a round trip keeps from one step to the next.
struct CodecState {
  std::vector<float> residual;          ///< not sent yet; as long as the tensor
  std::vector<float> basis;             ///< columns x rank
  std::vector<float> moment;            ///< running mean of what was decoded
  std::vector<float> input_covariance;  ///< columns x columns; given by the caller
  std::uint64_t seed = 1;
  std::int64_t step = 0;
};

/// A matrix, row by row.
struct CodecMatrix {
  std::span<float> values;
  std::size_t rows = 0, columns = 0;
};

struct Codec {
  std::string_view name, about;
  /// What of CodecSettings the scenario may say, by its key; the rest means nothing to the codec.
  std::vector<std::string_view> keys;
  Encoded (*encoded)(const CodecSettings&, const CodecTensor&);
  /// Values as they come out at the other end, in place: encoded, sent and decoded.
  void (*round_trip)(const CodecSettings&, const CodecMatrix&, CodecState&);
};

/// All codecs, in the order of codecs.def.
const std::vector<Codec>& codecs();
/// base::Error (`where` first) with the nearest names for a codec there is none of.
const Codec& codec_named(std::string_view name, const std::string& where);

/// The settings of a codec from a map of the scenario: its own keys only, in their ranges.
CodecSettings read_codec_settings(const Codec& codec, base::Fields& fields);

/// Time of kernels run one after another, on average over steps.
base::Seconds codec_time(const KernelModel& model, std::span<const CodecKernel> kernels);

}  // namespace paceline::models
