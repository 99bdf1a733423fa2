#include "dist/RankConditions.hpp"

#include <exception>

#include <ATen/ops/zeros.h>

namespace multicard {

namespace {

/// What ranks say, in memory that is there before it is needed.
class Answers {
 public:
  explicit Answers(TensorCollectives& collectives)
      : collectives_(collectives),
        number_(at::zeros({1}, at::TensorOptions().dtype(at::kFloat).device(collectives.device()))) {}

  bool is_true_on_any(bool mine) {
    number_.fill_(mine ? 1.0 : 0.0);
    collectives_.all_reduce(number_);
    return number_.item<float>() > 0;
  }

 private:
  TensorCollectives& collectives_;
  at::Tensor number_;
};

}  // namespace

bool on_any_rank(TensorCollectives& collectives, bool mine) {
  return Answers(collectives).is_true_on_any(mine);
}

bool on_every_rank(TensorCollectives& collectives, bool mine) {
  return !on_any_rank(collectives, !mine);
}

// `body` may use up the memory of a rank, which has to answer then, too.
bool done_on_every_rank(TensorCollectives& collectives, const std::function<void()>& body) {
  Answers answers(collectives);
  std::exception_ptr error;
  try {
    body();
  } catch (...) {
    error = std::current_exception();
  }
  const bool is_done = !answers.is_true_on_any(error != nullptr);
  if (error) std::rethrow_exception(error);
  return is_done;
}

}  // namespace multicard
