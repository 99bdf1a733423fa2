#pragma once
/// \file What a step of each tuning method does on a simulated GPU (bench/method_counts.sh): counted, not timed.

#include <cstdint>
#include <string>
#include <vector>

namespace multicard::post {

/// A step of one method.
struct CountedMethod {
  std::string method, model;  ///< "lora-dpo, cached"; the model's folder
  bool checkpointing = false;
  std::int64_t tokens = 0;  ///< of the input
  double kernels = 0, products = 0,
         flops = 0;  ///< launches of kernels and of matrix products; operations of the latter
  double host_to_device = 0, device_to_device = 0;  ///< bytes copied
  double reduced = 0;                               ///< bytes of gradients and status that an all-reduce would sum
  /// Bytes: allocated peak, and of it the tensors of each kind.
  double peak = 0, weights = 0, adapters = 0, gradients = 0, optimizer = 0, reference = 0;

  double launches() const { return kernels + products; }
  double rest() const { return peak - weights - adapters - gradients - optimizer - reference; }
};

/// The methods of a file that method_counts.sh wrote. \throws DataError where it cannot be read or is no such file
std::vector<CountedMethod> read_counted_methods(const std::string& path);

/// The method's launches, and its matrix products, over those of "lora" on as many tokens; unknown where that was not
/// counted.
/// @{
double launches_over_lora(const std::vector<CountedMethod>& all, const CountedMethod& method);
double products_over_lora(const std::vector<CountedMethod>& all, const CountedMethod& method);
/// @}

}  // namespace multicard::post
