#pragma once
// MobileNetV2 against torchvision's results (tests/data/oracles/mobilenet/README.md).

#include <cmath>
#include <fstream>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>
#include <nlohmann/json.hpp>

#include "nn/losses/Losses.hpp"
#include "nn/vision/NetworkFactory.hpp"
#include "state/TensorFile.hpp"
#include "support/test_world.hpp"

namespace multicard::test {

inline std::string oracle_path(const std::string& file) {
  return source_path("tests/data/oracles/mobilenet/" + file).string();
}

inline const nlohmann::json& oracle() {
  static const nlohmann::json results = nlohmann::json::parse(std::ifstream(oracle_path("oracle.json")));
  return results;
}

struct Arithmetic {
  at::ScalarType dtype = at::kDouble;
  at::MemoryFormat layout = at::MemoryFormat::Contiguous;
  at::Device device = at::kCPU;
};

inline std::unique_ptr<Network> oracle_network(const std::string& weights, const Arithmetic& arithmetic) {
  auto network = make_network("mobilenet_v2", {.width = 0.25, .classes = 10, .dropout = 0.0});
  copy_into(network->state(), TensorFile(oracle_path(weights)));
  network->to(arithmetic.device, arithmetic.dtype, arithmetic.layout);
  return network;
}

struct Samples {
  at::Tensor images, labels;

  Samples rows(std::int64_t first, std::int64_t count) const {
    return {images.narrow(0, first, count), labels.narrow(0, first, count)};
  }
};

inline Samples oracle_batch(std::int64_t index, const Arithmetic& arithmetic) {
  static const TensorFile file(oracle_path("batches.safetensors"));
  const at::Tensor images = file.view("images").select(0, index).to(arithmetic.dtype).contiguous(arithmetic.layout);
  return {images.to(arithmetic.device), file.view("labels").select(0, index).clone().to(arithmetic.device)};
}

inline double l2(const at::Tensor& tensor) {
  return tensor.detach().to(at::kDouble).norm().item<double>();
}

inline void clear_gradients(const Network& network) {
  for (const NamedTensor& parameter : network.parameters())
    at::Tensor(parameter.tensor).mutable_grad().reset();
}

// The loss of these rows as a part of a batch of `global_rows`; leaves gradients.
inline double forward_backward(Network& network, const Samples& samples, std::int64_t global_rows) {
  clear_gradients(network);
  const at::Tensor loss = cross_entropy(network.forward(samples.images), samples.labels, global_rows);
  loss.backward();
  return loss.item<double>();
}

inline double gradient_norm(const Network& network) {
  double sum = 0;
  for (const NamedTensor& parameter : network.parameters())
    sum += std::pow(l2(parameter.tensor.grad()), 2);
  return std::sqrt(sum);
}

// Gives every replica the sum of all replicas' gradients.
inline void sum_gradients(const std::vector<std::unique_ptr<Network>>& replicas) {
  for (std::size_t i = 0; i < replicas[0]->parameters().size(); ++i) {
    at::Tensor total = replicas[0]->parameters()[i].tensor.grad().clone();
    for (std::size_t r = 1; r < replicas.size(); ++r)
      total.add_(replicas[r]->parameters()[i].tensor.grad());
    for (const auto& replica : replicas)
      at::Tensor(replica->parameters()[i].tensor.grad()).copy_(total);
  }
}

class Sgd {
 public:
  explicit Sgd(const Network& network) : parameters_(network.parameters()) {
    for (const NamedTensor& parameter : parameters_)
      momenta_.push_back(at::zeros_like(parameter.tensor.detach()));
  }
  void step() {
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      at::Tensor parameter = parameters_[i].tensor;
      momenta_[i].mul_(0.9).add_(parameter.grad()).add_(parameter, 4e-5);
      parameter.sub_(momenta_[i], 0.05);
    }
  }

 private:
  NamedTensors parameters_;
  std::vector<at::Tensor> momenta_;
};

}  // namespace multicard::test
