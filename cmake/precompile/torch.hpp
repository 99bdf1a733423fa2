// plain.hpp and ATen's tensor; see cmake/Precompile.cmake. Wider ATen headers make the file slower to load than it saves.
#include "plain.hpp"

#include <mutex>
#include <thread>

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
