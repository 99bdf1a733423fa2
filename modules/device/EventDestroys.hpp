#pragma once
/// \file Calls of cudaEventDestroy by LibTorch and the program. Kineto leaves them out of every trace, whereas papers
/// report them (figure 3 of arXiv 2503.15252).

#include <cstdint>

namespace multicard {

/// Told of a call by the thread that made it, once it is over. Times are nanoseconds since 1970.
using EventDestroyObserver = void (*)(std::int64_t begin, std::int64_t end);

/// From now on calls are told to `observer`, if it is not null. A call under way may be told to the one before.
void observe_event_destroys(EventDestroyObserver observer);

}  // namespace multicard
