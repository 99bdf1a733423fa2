#pragma once
/// \file The fields of one event of a trace, as they stand in the file.

#include <cstdint>
#include <string_view>

#include <simdjson.h>

namespace multicard {

/// What the categories of events mean here.
enum class EventKind : std::uint8_t { api_call, kernel, copy, set, host_operator, range, known, unknown };

EventKind event_kind(std::string_view category);

/// Texts are tokens of the file, strings with their quotation marks and escapes; empty: not there.
struct EventFields {
  std::string_view phase, category, name, pid, tid, begin, duration;
  std::int64_t correlation = -1, callback = -1, bytes = -1, device = -1, stream = -1;

  /// Complete events are the only ones of Kineto that have a duration.
  bool is_complete() const { return phase == "\"X\""; }
};

/// Reads the rest of the event. \throws simdjson::simdjson_error, or WrongEvent where an argument is not a value
EventFields read_event(simdjson::ondemand::object event);

}  // namespace multicard
