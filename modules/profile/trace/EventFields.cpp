#include "profile/trace/EventFields.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "base/Shown.hpp"
#include "profile/trace/JsonToken.hpp"
#include "profile/trace/TraceKeys.hpp"

namespace multicard {

namespace {

using simdjson::ondemand::raw_json_string;
using simdjson::ondemand::value;

std::string_view token_of(value from) {
  return trimmed_token(from.raw_json_token());
}

/// A whole number; where there is another value, `number` stays. \returns the token
std::string_view read_integer(const char* name, value from, std::int64_t& number) {
  const std::string_view token = token_of(from);
  if (const auto found = whole_number(token))
    number = *found;
  else if (!is_json_value(token))
    throw WrongEvent{fmt::format("its {} {} is not JSON", name, shown(token))};
  return token;
}

void read_bytes(value from, std::int64_t& number) {
  const std::string_view token = read_integer("bytes", from, number);
  const bool is_whole = is_json_number(token) && token.find_first_of(".eE") == token.npos;
  if (is_whole && !whole_number(token)) throw WrongEvent{kTooManyBytes};
}

void read_arguments(simdjson::ondemand::object arguments, EventFields& fields) {
  for (auto argument : arguments) {
    const raw_json_string key = argument.key();
    if (key == "correlation")
      read_integer("correlation", argument.value(), fields.correlation);
    else if (key == "bytes")
      read_bytes(argument.value(), fields.bytes);
    else if (key == "cbid")
      read_integer("cbid", argument.value(), fields.callback);
    else if (key == "device")
      read_integer("device", argument.value(), fields.device);
    else if (key == "stream")
      read_integer("stream", argument.value(), fields.stream);
  }
}

/// Arguments of operators are long, and none is needed. Of an event whose category comes later they are read.
bool has_wanted_arguments(const EventFields& fields) {
  if (!fields.phase.empty() && !fields.is_complete()) return false;
  if (fields.category.empty()) return true;
  return event_kind(fields.category) <= EventKind::set;
}

}  // namespace

EventKind event_kind(std::string_view category) {
  // With quotation marks, as tokens have them. The known ones have no place in a table: arrows between events, copies
  // of ranges on the GPU's time line, waits that are calls as well, the profiler's own work, frames of Python.
  static constexpr std::array<std::pair<std::string_view, EventKind>, 20> kKinds = {{
      {"\"cpu_op\"", EventKind::host_operator},
      {"\"Operator\"", EventKind::host_operator},
      {"\"cuda_runtime\"", EventKind::api_call},
      {"\"Runtime\"", EventKind::api_call},
      {"\"cuda_driver\"", EventKind::api_call},
      {"\"kernel\"", EventKind::kernel},
      {"\"Kernel\"", EventKind::kernel},
      {"\"gpu_memcpy\"", EventKind::copy},
      {"\"Memcpy\"", EventKind::copy},
      {"\"gpu_memset\"", EventKind::set},
      {"\"Memset\"", EventKind::set},
      {"\"user_annotation\"", EventKind::range},
      {"\"gpu_user_annotation\"", EventKind::known},
      {"\"cuda_sync\"", EventKind::known},
      {"\"cuda_event\"", EventKind::known},
      {"\"Trace\"", EventKind::known},
      {"\"overhead\"", EventKind::known},
      {"\"python_function\"", EventKind::known},
      {"\"cpu_instant_event\"", EventKind::known},
      {"\"cuda_profiler_range\"", EventKind::known},
  }};
  const auto* found =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& row) { return row.first == category; });
  return found == kKinds.end() ? EventKind::unknown : found->second;
}

EventFields read_event(simdjson::ondemand::object event) {
  EventFields fields;
  for (auto field : event) {
    const raw_json_string key = field.key();
    if (key == "ph")
      fields.phase = token_of(field.value());
    else if (key == "cat")
      fields.category = token_of(field.value());
    else if (key == "name")
      fields.name = token_of(field.value());
    else if (key == "pid")
      fields.pid = token_of(field.value());
    else if (key == "tid")
      fields.tid = token_of(field.value());
    else if (key == "ts")
      fields.begin = token_of(field.value());
    else if (key == "dur")
      fields.duration = token_of(field.value());
    else if (key == "args" && has_wanted_arguments(fields)) {
      simdjson::ondemand::object arguments;
      if (field.value().get_object().get(arguments) == simdjson::SUCCESS) read_arguments(arguments, fields);
    }
  }
  return fields;
}

}  // namespace multicard
