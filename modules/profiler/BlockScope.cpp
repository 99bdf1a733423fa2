#include "profiler/BlockScope.hpp"

#include <string>

#include <ATen/SequenceNumber.h>
#include <unistd.h>

namespace multicard {

void BlockScope::begin(const char* name, std::int64_t number) {
  name_ = name;
  number_ = number;
  first_node_ = static_cast<std::int64_t>(at::sequence_number::peek());
  begin_ = wall_clock_ns();
}

void BlockScope::end() {
  const std::int64_t end = wall_clock_ns();
  log_->add({number_ == kNone ? std::string(name_) : std::string(name_) + "." + std::to_string(number_), gettid(),
             begin_, end, first_node_, static_cast<std::int64_t>(at::sequence_number::peek())});
}

}  // namespace multicard
