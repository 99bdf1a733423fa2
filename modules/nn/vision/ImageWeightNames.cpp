#include "nn/vision/ImageWeightNames.hpp"

#include "state/TensorFile.hpp"

namespace multicard {

namespace {

using enum KeyUse;

constexpr const char* kLastLayer = "the last layer; of another number of classes it is initialised from scratch";

constexpr ForeignKey kMobileNet[] = {
    {"features.*", used, "the layers"},
    {"classifier.1.*", used, kLastLayer},
};

constexpr ForeignKey kResNet[] = {
    {"conv1.*", used, "the first layer"},
    {"bn1.*", used, "its normalisation"},
    {"layer[1-4].*", used, "the blocks"},
    {"fc.*", used, kLastLayer},
};

constexpr ForeignKey kEfficientNet[] = {
    {"features.*", used, "the layers"},
    {"classifier.1.*", used, kLastLayer},
};

// Checkpoints of wrapped models have the wrapper's prefix in front of every name.
constexpr ForeignKey kAny[] = {
    {"*.num_batches_tracked", used, "may be missing: then it stays 0"},
    {"module.*", used, "any of these: what DataParallel and DDP put in front of all names"},
    {"_orig_mod.*", used, "any of these: what torch.compile puts in front of all names"},
};

}  // namespace

std::vector<ForeignFormat> image_weight_formats() {
  return {{"mobilenet_v2", "Tensors of mobilenet_v2's weights", {kMobileNet}},
          {"resnet", "Tensors of resnet18's and resnet50's weights", {kResNet}},
          {"efficientnet_b0", "Tensors of efficientnet_b0's weights", {kEfficientNet}},
          {"image-weights", "Tensors of any image model's weights", {kAny, extra_tensors()}}};
}

}  // namespace multicard
