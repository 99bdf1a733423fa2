#pragma once
/// \file Steps of AdamW with moments of 8 bits on a GPU, many tensors in one launch.

#include "kernels/Adamw.hpp"

namespace multicard {

/// Whether the function below can compute on such values: on a GPU, in float32, float16 or bfloat16, by a program that
/// was built with nvcc. It queues on the current stream.
bool has_cuda_adamw(const at::Tensor& values);

/// As adamw_step(), of tensors of one type.
void cuda_adamw_step(std::span<const AdamwTensor> tensors, const AdamwStep& step);

}  // namespace multicard
