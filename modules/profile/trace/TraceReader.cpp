#include "profile/trace/TraceReader.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>

#include <fmt/format.h>
#include <simdjson.h>

#include "base/Error.hpp"
#include "base/Number.hpp"
#include "base/Shown.hpp"
#include "base/Utf8.hpp"
#include "profile/trace/ApiNames.hpp"
#include "profile/trace/EventFields.hpp"
#include "profile/trace/TraceKeys.hpp"
#include "profile/trace/TraceText.hpp"
#include "profile/trace/TraceTime.hpp"

namespace multicard {

namespace {

namespace ondemand = simdjson::ondemand;

/// The token of a call's name.
std::string_view api_token(const EventFields& fields) {
  if (fields.name.size() < 2) return fields.name;
  const std::string_view text = fields.name.substr(1, fields.name.size() - 2);
  return api_name(text, fields.callback) == text ? fields.name : "\"cudaLaunchKernel\"";
}

class Reader {
 public:
  Reader(const std::string& path, const TraceText& text) : path_(path), text_(text), tokens_(trace_.names) {}

  Trace read() {
    try {
      parse();
    } catch (const simdjson::simdjson_error& error) {
      throw_malformed(error.error());
    }
    if (!has_events_)
      throw DataError(fmt::format("{} is not a trace", path_), "it has no traceEvents",
                      "multicard-post trace reads what the profiler of PyTorch exports.");
    trace_.streams = streams_.keys();
    trace_.num_threads = static_cast<std::int32_t>(threads_.keys().size());
    add_notices();
    return std::move(trace_);
  }

 private:
  void parse() {
    const std::string_view text = text_.text();
    document_ = parser_.iterate(text.data(), text.size(), text_.capacity());
    ondemand::json_type type = document_.type();
    if (type == ondemand::json_type::array) {
      read_events(document_.get_array());
    } else {
      for (auto field : document_.get_object())
        read_member(field.key(), field.value());
    }
    const char* place = nullptr;  // there is none at the end
    if (document_.current_location().get(place) == simdjson::SUCCESS)
      throw simdjson::simdjson_error(simdjson::TRAILING_CONTENT);
  }

  void read_member(ondemand::raw_json_string key, ondemand::value value) {
    if (key == "traceEvents")
      read_events(value.get_array());
    else if (key == "distributedInfo")
      read_distributed(value.get_object());
    else if (key == "multicard_trace")
      throw UsageError(fmt::format("{} is a time line of a multicard run", path_), "it shows all ranks, for Perfetto",
                       "multicard-post profile makes the tables of that run, from its results.h5.");
  }

  void read_distributed(ondemand::object info) {
    for (auto field : info) {
      std::int64_t number = 0;
      const ondemand::raw_json_string key = field.key();
      if (key == "rank" && field.value().get_int64().get(number) == simdjson::SUCCESS)
        trace_.rank = number;
      else if (key == "world_size" && field.value().get_int64().get(number) == simdjson::SUCCESS)
        trace_.world_size = number;
    }
  }

  void read_events(ondemand::array events) {
    has_events_ = true;
    for (ondemand::value event : events) {
      const char* place = nullptr;
      if (event.current_location().get(place) != simdjson::SUCCESS) place = nullptr;
      try {
        add(read_event(event.get_object()));
      } catch (const WrongEvent& wrong) {
        throw DataError(fmt::format("Event {} of {}, at byte {}, is damaged", trace_.num_events, path_,
                                    place ? place - text_.text().data() : 0),
                        wrong.what);
      }
      ++trace_.num_events;
    }
  }

  void add(const EventFields& fields) {
    if (!fields.is_complete()) {
      // Begin and end of a range, which other programs write instead; all others have no duration.
      if (fields.phase == "\"B\"" || fields.phase == "\"E\"") ++num_begins_and_ends_;
      return;
    }
    const EventKind kind = event_kind(fields.category);
    if (kind == EventKind::known) return;
    if (kind == EventKind::unknown) return count_unknown(fields.category);
    Span span;
    if (!read_span(fields, span)) return;
    add(kind, fields, span);
  }

  void add(EventKind kind, const EventFields& fields, const Span& span) {
    switch (kind) {
      case EventKind::api_call:
        trace_.calls.push_back({span, fields.correlation, name_id(api_token(fields)), thread(fields)});
        return;
      case EventKind::kernel:
        return add_gpu(GpuWork::kernel, fields, span);
      case EventKind::copy:
        return add_gpu(GpuWork::copy, fields, span);
      case EventKind::set:
        return add_gpu(GpuWork::set, fields, span);
      case EventKind::host_operator:
        trace_.operators.push_back({span, name_id(fields.name), thread(fields)});
        return;
      case EventKind::range:
        trace_.ranges.push_back({span, name_id(fields.name), thread(fields)});
        return;
      case EventKind::known:
      case EventKind::unknown:
        return;
    }
  }

  void add_gpu(GpuWork work, const EventFields& fields, const Span& span) {
    trace_.gpu.push_back({span, fields.correlation, fields.bytes, name_id(fields.name), stream(fields), work});
  }

  /// False where the event was left out.
  bool read_span(const EventFields& fields, Span& span) {
    const auto begin = nanoseconds_of(fields.begin);
    if (!begin) throw WrongEvent{"ts is not a number of microseconds"};
    const auto duration = fields.duration.empty() ? std::int64_t{0} : nanoseconds_of(fields.duration);
    if (!duration) throw WrongEvent{"dur is not a number of microseconds"};
    if (*duration < 0) {
      ++num_negative_;
      return false;
    }
    if (*duration > std::numeric_limits<std::int64_t>::max() - std::max<std::int64_t>(*begin, 0))
      throw WrongEvent{"it ends later than nanoseconds can count"};
    span = {*begin, *begin + *duration};
    return true;
  }

  std::int32_t name_id(std::string_view token) { return tokens_.id(token); }

  /// Processes and threads have numbers, or names.
  std::int64_t number_or_name(std::string_view token) {
    if (const auto number = parse_number<std::int64_t>(token)) return *number;
    return -1 - places_.id(token);
  }
  std::int32_t thread(const EventFields& fields) {
    return threads_.number({number_or_name(fields.pid), number_or_name(fields.tid)});
  }

  /// Kineto writes device and stream as process and thread too.
  std::int32_t stream(const EventFields& fields) {
    return streams_.number({fields.device >= 0 ? fields.device : number_or_name(fields.pid),
                            fields.stream >= 0 ? fields.stream : number_or_name(fields.tid)});
  }

  void count_unknown(std::string_view category) {
    const auto found = unknown_.find(category);
    if (found == unknown_.end())
      unknown_.emplace(category, 1);
    else
      ++found->second;
  }

  void add_notices() {
    for (const auto& [category, count] : unknown_)
      trace_.notices.push_back(fmt::format("{}: {} events of the category {} are not in any table", path_, count,
                                           category.empty() ? "\"\"" : shown(category)));
    if (num_begins_and_ends_ > 0)
      trace_.notices.push_back(
          fmt::format("{}: {} events of the phases B and E are not in any table; complete events "
                      "(X) are",
                      path_, num_begins_and_ends_));
    if (num_negative_ > 0)
      trace_.notices.push_back(
          fmt::format("{}: {} events with a negative duration are left out", path_, num_negative_));
  }

  [[noreturn]] void throw_malformed(simdjson::error_code code);

  const std::string& path_;
  const TraceText& text_;
  Trace trace_;
  TokenNames tokens_;
  NameTable places_;
  Numbers<std::pair<std::int64_t, std::int64_t>> threads_;
  Numbers<TraceStream> streams_;
  std::map<std::string, std::int64_t, std::less<>> unknown_;
  std::int64_t num_begins_and_ends_ = 0, num_negative_ = 0;
  bool has_events_ = false;
  ondemand::parser parser_;
  ondemand::document document_;
};

/// Where and why the text is not JSON. A file that was cut off is one whose last bracket is open.
void Reader::throw_malformed(simdjson::error_code code) {
  const std::string_view text = text_.text();
  std::size_t at = text.size();
  std::string why = simdjson::error_message(code);
  const char* place = nullptr;
  if (code == simdjson::UTF8_ERROR) {
    for (at = 0; at < text.size(); at += std::max<std::size_t>(1, valid_length(text, at)))
      if (valid_length(text, at) == 0) break;
    why = "it is not UTF-8";
  } else if (code == simdjson::UNCLOSED_STRING) {
    why = "it ends within a string: it is cut off, or a quotation mark is missing before";
  } else if (code == simdjson::INCOMPLETE_ARRAY_OR_OBJECT || code == simdjson::EMPTY) {
    why = "it is cut off: brackets are open at its end";
  } else if (document_.current_location().get(place) == simdjson::SUCCESS) {
    at = static_cast<std::size_t>(place - text.data());
  }
  throw DataError(fmt::format("{} is not JSON from byte {} on", path_, at), why);
}

}  // namespace

Trace read_trace(const std::string& path) {
  const TraceText text = TraceText::read(path);
  return Reader(path, text).read();
}

}  // namespace multicard
