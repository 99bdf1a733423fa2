#include "profiler/KinetoTrace.hpp"

#include <charconv>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <ATen/record_function.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "profile/trace/ApiNames.hpp"
#include "profile/trace/TraceKeys.hpp"

namespace multicard {

namespace {

using torch::autograd::profiler::KinetoEvent;

/// libkineto::ActivityType, whose header is not part of every LibTorch.
enum Activity : std::uint8_t { cpu_op = 0, copy = 3, set = 4, kernel = 5, runtime_call = 7, driver_call = 8 };

/// The number at `key` of the metadata of an event, which is the inside of a JSON object; -1 where it has none.
std::int64_t metadata_number(const KinetoEvent& event, std::string_view key) {
  const std::string json = event.metadataJson();
  const std::string quoted = fmt::format("\"{}\": ", key);
  const std::size_t at = json.find(quoted);
  std::int64_t number = -1;
  if (at != std::string::npos) std::from_chars(json.data() + at + quoted.size(), json.data() + json.size(), number);
  return number;
}

class KinetoReader {
 public:
  explicit KinetoReader(Shapes shapes) : shapes_(shapes) {}

  KinetoTrace read(const std::vector<KinetoEvent>& events) {
    trace_.num_events = static_cast<std::int64_t>(events.size());
    // Autograd nodes name the thread of their forward pass by a number of at::RecordFunction's.
    for (const KinetoEvent& event : events)
      if (event.activityType() == cpu_op) recorded_threads_.emplace(event.startThreadId(), thread(event));
    for (const KinetoEvent& event : events)
      add(event);
    trace_.streams = streams_.keys();
    trace_.num_threads = static_cast<std::int32_t>(threads_.size());
    return {std::move(trace_), std::move(threads_)};
  }

 private:
  void add(const KinetoEvent& event) {
    switch (event.activityType()) {
      case cpu_op:
        return add_operator(event);
      case runtime_call:
      case driver_call: {
        const std::string name = event.name();
        const bool is_named = !has_no_name(name);
        const std::int64_t callback = is_named ? -1 : metadata_number(event, "cbid");
        trace_.calls.push_back({span(event), static_cast<std::int64_t>(event.correlationId()),
                                trace_.names.id(api_name(name, callback)), thread(event)});
        return;
      }
      case kernel:
        return add_gpu(GpuWork::kernel, event, -1);
      case copy:
        return add_gpu(GpuWork::copy, event, metadata_number(event, "bytes"));
      case set:
        return add_gpu(GpuWork::set, event, metadata_number(event, "bytes"));
      default:
        return;
    }
  }

  void add_operator(const KinetoEvent& event) {
    HostRange range;
    static_cast<Span&>(range) = span(event);
    range.name = trace_.names.id(shapes_ == Shapes::in_names ? name_with_shapes(event) : operator_name(event));
    range.thread = thread(event);
    AutogradNode node;
    if (event.scope() == static_cast<std::uint8_t>(at::RecordScope::BACKWARD_FUNCTION)) {
      const auto forward = recorded_threads_.find(event.fwdThreadId());
      node = {event.sequenceNr(), forward == recorded_threads_.end() ? range.thread : forward->second};
    }
    trace_.operators.push_back(range);
    trace_.nodes.push_back(node);
  }

  /// "multicard::SwiGlu backward" of "torch::autograd::CppNode<multicard::(anonymous namespace)::SwiGlu>".
  static std::string operator_name(const KinetoEvent& event) {
    constexpr std::string_view kNode = "torch::autograd::CppNode<", kUnnamed = "(anonymous namespace)::";
    std::string name = event.name();
    if (!name.starts_with(kNode) || !name.ends_with('>')) return name;
    name = name.substr(kNode.size(), name.size() - kNode.size() - 1);
    if (const std::size_t at = name.find(kUnnamed); at != std::string::npos) name.erase(at, kUnnamed.size());
    return name + " backward";
  }

  static std::string name_with_shapes(const KinetoEvent& event) {
    std::string name = operator_name(event);
    if (!event.hasShapes()) return name;
    for (const std::vector<std::int64_t>& shape : event.shapes())
      if (!shape.empty()) name += fmt::format(" [{}]", fmt::join(shape, ", "));
    return name;
  }

  void add_gpu(GpuWork work, const KinetoEvent& event, std::int64_t bytes) {
    const std::int32_t stream = streams_.number({event.deviceIndex(), event.deviceResourceId()});
    trace_.gpu.push_back({span(event), static_cast<std::int64_t>(event.correlationId()), bytes,
                          trace_.names.id(event.name()), stream, work});
  }

  static Span span(const KinetoEvent& event) {
    return {static_cast<std::int64_t>(event.startNs()), static_cast<std::int64_t>(event.endNs())};
  }

  std::int32_t thread(const KinetoEvent& event) {
    return threads_.emplace(event.deviceResourceId(), static_cast<std::int32_t>(threads_.size())).first->second;
  }

  Shapes shapes_;
  Trace trace_;
  Numbers<TraceStream> streams_;
  std::map<std::int64_t, std::int32_t> threads_;
  std::map<std::uint64_t, std::int32_t> recorded_threads_;
};

}  // namespace

KinetoTrace trace_of(const std::vector<KinetoEvent>& events, Shapes shapes) {
  return KinetoReader(shapes).read(events);
}

}  // namespace multicard
