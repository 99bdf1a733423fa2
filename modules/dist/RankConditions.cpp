#include "dist/RankConditions.hpp"

#include <exception>

#include <ATen/ops/full.h>

namespace multicard {

bool on_any_rank(TensorCollectives& collectives, bool mine) {
  const at::Tensor ranks =
      at::full({1}, mine ? 1.0 : 0.0, at::TensorOptions().dtype(at::kFloat).device(collectives.device()));
  collectives.all_reduce(ranks);
  return ranks.item<float>() > 0;
}

bool on_every_rank(TensorCollectives& collectives, bool mine) {
  return !on_any_rank(collectives, !mine);
}

bool done_on_every_rank(TensorCollectives& collectives, const std::function<void()>& body) {
  std::exception_ptr error;
  try {
    body();
  } catch (...) {
    error = std::current_exception();
  }
  const bool is_done = on_every_rank(collectives, error == nullptr);
  if (error) std::rethrow_exception(error);
  return is_done;
}

}  // namespace multicard
