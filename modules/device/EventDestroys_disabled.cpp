#include "device/EventDestroys.hpp"

namespace multicard {

void observe_event_destroys(EventDestroyObserver) {}

}  // namespace multicard
