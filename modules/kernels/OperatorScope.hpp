#pragma once
/// \file How this program's own operators appear in profiles.

#include <ATen/record_function.h>

namespace multicard {

/// For its lifetime this thread computes the operator `name`, as LibTorch's operators do. Outside profiles it costs a
/// few nanoseconds. Backward has an operator without it: the run of the autograd node.
class OperatorScope {
 public:
  explicit OperatorScope(const char* name) : record_(at::RecordScope::FUNCTION) {
    if (record_.isActive()) record_.before(name);
  }

 private:
  at::RecordFunction record_;
};

}  // namespace multicard
