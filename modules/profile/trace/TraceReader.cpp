#include "profile/trace/TraceReader.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <simdjson.h>

#include "base/Error.hpp"
#include "base/Shown.hpp"
#include "base/Text.hpp"
#include "base/Utf8.hpp"
#include "profile/trace/ApiNames.hpp"
#include "profile/trace/EventFields.hpp"
#include "profile/trace/JsonToken.hpp"
#include "profile/trace/TraceDamage.hpp"
#include "profile/trace/TraceKeys.hpp"
#include "profile/trace/TraceText.hpp"
#include "profile/trace/TraceTime.hpp"

namespace multicard {

namespace {

namespace ondemand = simdjson::ondemand;

/// Times lie within 146 years of 0, and so do the sums of all durations: differences and sums of tables fit.
constexpr std::int64_t kMostTime = std::int64_t{1} << 62;
/// What a double holds exactly, and what all copies together may have.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 53, kMostBytesInAll = std::int64_t{1} << 62;

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
    require_object_or_array(path_, text_);
    try {
      parse();
    } catch (const simdjson::simdjson_error& error) {
      throw_not_json(path_, text_, error.error(), where_it_stopped());
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
    const std::size_t marked = text_.text().starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
    const std::string_view text = text_.text().substr(marked);
    document_ = parser_.iterate(text.data(), text.size(), text_.capacity() - marked);
    is_parsed_ = true;
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

  /// None where the text has no document yet: a parser that has not begun has no place.
  std::optional<std::size_t> where_it_stopped() {
    const char* place = nullptr;
    if (!is_parsed_ || document_.current_location().get(place) != simdjson::SUCCESS) return std::nullopt;
    return static_cast<std::size_t>(place - text_.text().data());
  }

  void read_member(ondemand::raw_json_string key, ondemand::value value) {
    if (key == "traceEvents") {
      require_type(value, ondemand::json_type::array, "its traceEvents is not an array");
      read_events(value.get_array());
    } else if (key == "distributedInfo") {
      require_type(value, ondemand::json_type::object, "its distributedInfo is not an object");
      read_distributed(value.get_object());
    } else if (key == "multicard_trace") {
      throw_time_line(path_);
    }
  }

  void require_type(ondemand::value value, ondemand::json_type type, const char* why_not) {
    if (value.type() != type)
      throw DataError(fmt::format("{} is not a trace", path_), why_not,
                      "multicard-post trace reads what the profiler of PyTorch exports.");
  }

  void read_distributed(ondemand::object info) {
    for (auto field : info) {
      const ondemand::raw_json_string key = field.key();
      if (key == "rank")
        trace_.rank = number_of_job("rank", field.value(), 0);
      else if (key == "world_size")
        trace_.world_size = number_of_job("world_size", field.value(), 1);
    }
    if (trace_.rank && trace_.world_size && *trace_.rank >= *trace_.world_size)
      throw DataError(fmt::format("{} is damaged", path_),
                      fmt::format("its distributedInfo has the rank {} of a job of {}", *trace_.rank,
                                  counted(*trace_.world_size, "rank")));
  }

  std::int64_t number_of_job(const char* key, ondemand::value value, std::int64_t least) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    const std::string_view token = trimmed_token(value.raw_json_token());
    const auto number = whole_number(token);
    if (!number || *number < least || *number > kMost)
      throw DataError(fmt::format("{} is damaged", path_),
                      fmt::format("its distributedInfo has the {} {}, which is not a whole number from {} to {}", key,
                                  shown(token), least, kMost));
    return *number;
  }

  void read_events(ondemand::array events) {
    has_events_ = true;
    for (ondemand::value event : events) {
      const char* place = nullptr;
      if (event.current_location().get(place) != simdjson::SUCCESS) place = text_.text().data();
      try {
        if (event.type() != ondemand::json_type::object) throw WrongEvent{"it is not an object"};
        add(read_event(event.get_object()));
      } catch (const WrongEvent& wrong) {
        const auto at = static_cast<std::size_t>(place - text_.text().data());
        throw DataError(fmt::format("Event {} of {}, at {}, is damaged", trace_.num_events, path_, place_in(text_, at)),
                        wrong.what);
      }
      ++trace_.num_events;
    }
  }

  void add(const EventFields& fields) {
    require_text("ph", fields.phase);
    require_text("cat", fields.category);
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

  /// What a text is looked for in may be missing, but nothing else.
  static void require_text(const char* key, std::string_view token) {
    if (!token.empty() && !is_json_string(token)) throw WrongEvent{fmt::format("{} is not a string", key)};
  }

  void add_gpu(GpuWork work, const EventFields& fields, const Span& span) {
    if (fields.bytes > kMostBytes || fields.bytes > kMostBytesInAll - num_bytes_) throw WrongEvent{kTooManyBytes};
    num_bytes_ += std::max<std::int64_t>(0, fields.bytes);
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
    if (*begin <= -kMostTime || *begin >= kMostTime || *duration >= kMostTime - *begin)
      throw WrongEvent{"it begins or ends more than 2^62 ns from 0"};
    if (*duration > kMostTime - total_time_) throw WrongEvent{"the events up to it last more than 2^62 ns in all"};
    total_time_ += *duration;
    span = {*begin, *begin + *duration};
    return true;
  }

  std::int32_t name_id(std::string_view token) { return tokens_.id(token); }

  /// Processes and threads have numbers, or names, or neither; the latter two have negative numbers here.
  std::int64_t number_or_name(const char* key, std::string_view token) {
    if (!token.empty() && !is_json_string(token) && !is_json_number(token))
      throw WrongEvent{fmt::format("{} is neither a number nor a string", key)};
    const auto number = whole_number(token);
    return number && *number >= 0 ? *number : -1 - places_.id(token);
  }
  std::int32_t thread(const EventFields& fields) {
    return threads_.number({number_or_name("pid", fields.pid), number_or_name("tid", fields.tid)});
  }

  /// Kineto writes device and stream as process and thread too.
  std::int32_t stream(const EventFields& fields) {
    return streams_.number({fields.device >= 0 ? fields.device : number_or_name("pid", fields.pid),
                            fields.stream >= 0 ? fields.stream : number_or_name("tid", fields.tid)});
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

  const std::string& path_;
  const TraceText& text_;
  Trace trace_;
  TokenNames tokens_;
  NameTable places_;
  Numbers<std::pair<std::int64_t, std::int64_t>> threads_;
  Numbers<TraceStream> streams_;
  std::map<std::string, std::int64_t, std::less<>> unknown_;
  std::int64_t num_begins_and_ends_ = 0, num_negative_ = 0, total_time_ = 0, num_bytes_ = 0;
  bool has_events_ = false, is_parsed_ = false;
  ondemand::parser parser_;
  ondemand::document document_;
};

}  // namespace

Trace read_trace(const std::string& path) {
  require_no_time_line(path);
  const TraceText text = TraceText::read(path);
  return Reader(path, text).read();
}

}  // namespace multicard
