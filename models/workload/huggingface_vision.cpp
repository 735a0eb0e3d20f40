// SPDX-License-Identifier: Apache-2.0
#include "models/workload/huggingface_config.hpp"

/// Image towers. Paceline models the language part only; the towers are counted because published
/// totals include them.
namespace paceline::models::huggingface {
namespace {

struct Tower {
  Size hidden = 0, layers = 0, width = 0, patch = 0, patches = 0;
};

Tower read_tower(Config& v) {
  Tower t;
  t.hidden = v.size({"hidden_size"}, limits::kHeadDim);
  t.layers = v.size({"num_hidden_layers"}, 1024);
  t.width = v.size({"intermediate_size"}, limits::kHidden);
  t.patch = v.size({"patch_size"}, 256);
  const Size side = v.size({"image_size"}, limits::kHeadDim) / t.patch;
  t.patches = side * side;
  return t;
}

/// Encoder block of both towers: four projections and two MLP matrices with biases, two layer
/// norms.
Size block(const Tower& t) {
  return 4 * (t.hidden * t.hidden + t.hidden) + 2 * t.hidden * t.width + t.width + t.hidden +
         4 * t.hidden;
}

// modeling_llama4.py: class token, norms before and behind, an adapter of two matrices, a
// projector.
Size llama4_tower(Config& v, Size text_hidden) {
  const Tower t = read_tower(v);
  const Size in = v.size({"projector_input_dim"}, limits::kHidden);
  const Size out = v.size({"projector_output_dim"}, limits::kHidden);
  const Size embedding = 3 * t.patch * t.patch * t.hidden + (t.patches + 2) * t.hidden;
  return t.layers * block(t) + embedding + 4 * t.hidden + t.width * in + in * out +
         out * text_hidden;
}

// modeling_siglip.py and the projector of modeling_gemma3.py.
Size siglip_tower(Config& v, Size text_hidden) {
  const Tower t = read_tower(v);
  const Size embedding = (3 * t.patch * t.patch + 1) * t.hidden + t.patches * t.hidden;
  return t.layers * block(t) + embedding + 2 * t.hidden + t.hidden + t.hidden * text_hidden;
}

// modeling_pixtral.py and the projector of modeling_mistral3.py: RMS norms, gated MLP, no biases.
Size pixtral_tower(Config& v, Config& outer, Size text_hidden) {
  const Size hidden = v.size({"hidden_size"}, limits::kHeadDim);
  const Size layers = v.size({"num_hidden_layers"}, 1024);
  const Size width = v.size({"intermediate_size"}, limits::kHidden);
  const Size patch = v.size({"patch_size"}, 256);
  const Size merge = outer.size({"spatial_merge_size"}, 64, 2);
  const Size block = 4 * hidden * hidden + 3 * hidden * width + 2 * hidden;
  const Size projector =
      hidden + merge * merge * hidden * hidden + hidden * text_hidden + text_hidden * text_hidden;
  return layers * block + 3 * patch * patch * hidden + hidden + projector;
}

}  // namespace

void read_vision(Input& in, Model& model) {
  std::optional<Config> v = in.outer.map("vision_config");
  if (!v) {
    if (in.outer.type() == "llama4")
      model.notes.push_back("no vision_config: the image tower is not counted");
    return;
  }
  const std::string type = v->text({"model_type"}, "");
  if (type == "llama4_vision_model") model.vision_parameters = llama4_tower(*v, model.hidden);
  if (type == "siglip_vision_model") model.vision_parameters = siglip_tower(*v, model.hidden);
  if (type == "pixtral" && in.outer.type() == "mistral3")
    model.vision_parameters = pixtral_tower(*v, in.outer, model.hidden);
  model.notes.push_back(model.vision_parameters > 0
                            ? "the image tower is counted apart and not modelled"
                            : "the image tower is neither counted nor modelled");
}

}  // namespace paceline::models::huggingface
