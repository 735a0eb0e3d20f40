// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/convergence/cross_entropy.hpp"

namespace paceline::sim::convergence {
namespace {

/// Labelled points.
struct Points {
  Matrix x;  ///< samples x inputs
  std::vector<int> labels;
};

struct MlpOptions {
  std::vector<int> widths;  ///< inputs, hidden layers, classes
  std::int64_t samples = 0, held_out = 0;
  int teacher = 48;
  double noise = 0;
};

int place_of_largest(std::span<const double> row) {
  return static_cast<int>(std::max_element(row.begin(), row.end()) - row.begin());
}

/// Classes by argmax of tanh(2 x T1) T2, T1 and T2 normal over the root of their rows.
Points teacher_points(base::Rng& rng, const Matrix& t1, const Matrix& t2, std::int64_t count) {
  Points points;
  points.x = normal_matrix(rng, count, t1.rows());
  Matrix hidden = 2 * (points.x * t1);
  hidden.each([](double& x) { x = std::tanh(x); });
  const Matrix scores = hidden * t2;
  points.labels.resize(static_cast<std::size_t>(count));
  for (Index i = 0; i < count; ++i)
    points.labels[static_cast<std::size_t>(i)] = place_of_largest(scores.row(i));
  return points;
}

/// What the layers make of x: one entry per layer, the last without ReLU.
std::vector<Matrix> layer_outputs(const std::vector<Block>& blocks, std::span<const float> w,
                                  const Matrix& x) {
  std::vector<Matrix> outputs;
  for (std::size_t l = 0; l < blocks.size(); ++l) {
    outputs.push_back((l == 0 ? x : outputs.back()) * matrix_of(w, blocks[l]));
    if (l + 1 < blocks.size()) relu(outputs.back());
  }
  return outputs;
}

double mlp_gradient(const std::vector<Block>& blocks, const Points& points,
                    std::span<const float> w, std::span<const float> back, const Batch& batch,
                    std::span<float> gradient) {
  Matrix x(static_cast<Index>(batch.size()), points.x.columns());
  std::vector<int> labels(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    copy(points.x.row(batch[i]), x.row(static_cast<Index>(i)));
    labels[i] = points.labels[batch[i]];
  }
  std::vector<Matrix> outputs = layer_outputs(blocks, w, x);
  const double loss = cross_entropy(outputs.back(), labels);
  Matrix delta = outputs.back();
  for (std::size_t l = blocks.size(); l-- > 0;) {
    const Matrix& input = l == 0 ? x : outputs[l - 1];
    store(input.transpose() * delta, blocks[l], gradient);
    if (l == 0) break;
    delta = delta * matrix_of(back, blocks[l]).transpose();
    relu_back(input, delta);
  }
  return loss;
}

double points_loss(const std::vector<Block>& blocks, const Points& points,
                   std::span<const float> w) {
  Matrix logits = layer_outputs(blocks, w, points.x).back();
  return cross_entropy(logits, points.labels);
}

double points_accuracy(const std::vector<Block>& blocks, const Points& points,
                       std::span<const float> w) {
  const Matrix logits = layer_outputs(blocks, w, points.x).back();
  std::size_t right = 0;
  for (Index i = 0; i < logits.rows(); ++i)
    right += place_of_largest(logits.row(i)) == points.labels[static_cast<std::size_t>(i)] ? 1 : 0;
  return static_cast<double>(right) / static_cast<double>(points.labels.size());
}

void add_layers(Objective& f, const std::vector<int>& widths, std::uint64_t seed) {
  base::Rng rng(stream_seed(seed, Stream::Start));
  for (std::size_t l = 0; l + 1 < widths.size(); ++l) {
    const bool last = l + 2 == widths.size();
    const Block block = add_block(f, "layer " + std::to_string(l), widths[l], widths[l + 1],
                                  last ? Role::Head : Role::Matrix);
    // Before a ReLU: He et al., Delving deep into rectifiers (arXiv:1502.01852), equation 10.
    const double deviation = std::sqrt((last ? 1.0 : 2.0) / widths[l]);
    store(normal_matrix(rng, widths[l], widths[l + 1], deviation), block, f.start);
  }
}

Objective make_mlp(const MlpOptions& o, std::uint64_t seed) {
  Objective f;
  add_layers(f, o.widths, seed);
  base::Rng rng(stream_seed(seed, Stream::Data));
  const int inputs = o.widths.front(), classes = o.widths.back();
  const Matrix t1 = normal_matrix(rng, inputs, o.teacher, 1 / std::sqrt(inputs));
  const Matrix t2 = normal_matrix(rng, o.teacher, classes, 1 / std::sqrt(o.teacher));
  Points train = teacher_points(rng, t1, t2, o.samples);
  Points shown = o.held_out > 0 ? teacher_points(rng, t1, t2, o.held_out) : train;
  f.samples = train.labels.size();
  f.labels = train.labels;
  f.noise = o.noise;
  const std::vector<Block> blocks = f.blocks;
  f.gradient = [blocks, train = std::move(train)](std::span<const float> w,
                                                  std::span<const float> back, const Batch& batch,
                                                  std::span<float> gradient) {
    return mlp_gradient(blocks, train, w, back, batch, gradient);
  };
  f.accuracy = [blocks, shown](std::span<const float> w) {
    return points_accuracy(blocks, shown, w);
  };
  f.loss = [blocks, shown = std::move(shown)](std::span<const float> w) {
    return points_loss(blocks, shown, w);
  };
  return f;
}

MlpOptions mlp_options(base::Fields& fields) {
  MlpOptions o;
  o.samples = fields.integer("samples", 1, 1'000'000, 4096);
  o.held_out = fields.integer("held_out", 0, 1'000'000, 0);
  o.teacher = static_cast<int>(fields.integer("teacher", 1, 10'000, 48));
  o.noise = fields.number("noise", 0, 1e6, 0);
  return o;
}

}  // namespace

ObjectiveMaker read_mlp(base::Fields& fields) {
  MlpOptions o = mlp_options(fields);
  const std::string where = fields.where("widths");
  if (fields.has("widths")) {
    for (const base::Value& item : fields.list("widths")) {
      o.widths.push_back(
          static_cast<int>(base::parse_integer(item.text, fields.where(item, "widths"), 1, 4096)));
    }
    if (o.widths.size() < 3) fields.fail("widths", "needs inputs, hidden layers and classes");
  } else {
    o.widths = {32, 64, 10};
  }
  return [o](std::uint64_t seed) { return make_mlp(o, seed); };
}

ObjectiveMaker read_softmax(base::Fields& fields) {
  MlpOptions o = mlp_options(fields);
  o.widths = {static_cast<int>(fields.integer("inputs", 1, 4096, 64)),
              static_cast<int>(fields.integer("classes", 2, 4096, 16))};
  return [o](std::uint64_t seed) { return make_mlp(o, seed); };
}

}  // namespace paceline::sim::convergence
