#include "train/RecordGather.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/Error.hpp"

namespace multicard {

namespace {

/// Calls `visit` with every member of a record, in one order for writing and reading.
template <class Record, class Visit>
void visit_members(Record& record, Visit&& visit) {
  visit(record.clock);
  visit(record.first_step);
  visit(record.steps);
  visit(record.samples);
  visit(record.counts);
  visit(record.extra_times);
  visit(record.epochs);
  visit(record.memory);
  visit(record.communication);
  visit(record.transfers);
}

class Packer {
 public:
  template <class T>
  void operator()(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void operator()(const std::string& text) {
    (*this)(text.size());
    bytes_ += text;
  }
  template <class T>
  void operator()(const std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    (*this)(values.size());
    if (!values.empty()) bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  template <class T>
  void operator()(const std::map<std::string, T>& entries) {
    (*this)(entries.size());
    for (const auto& [name, value] : entries) {
      (*this)(name);
      (*this)(value);
    }
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  void operator()(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::memcpy(&value, next(1, sizeof(T)), sizeof(T));
  }
  void operator()(std::string& text) {
    const std::size_t length = count();
    text.assign(next(length, 1), length);
  }
  template <class T>
  void operator()(std::vector<T>& values) {
    const std::size_t length = count();
    const char* from = next(length, sizeof(T));
    values.resize(length);
    if (length > 0) std::memcpy(values.data(), from, length * sizeof(T));
  }
  template <class T>
  void operator()(std::map<std::string, T>& entries) {
    for (std::size_t left = count(); left > 0; --left) {
      std::string name;
      (*this)(name);
      (*this)(entries[name]);
    }
  }
  bool finished() const { return bytes_.empty(); }

 private:
  std::size_t count() {
    std::size_t value = 0;
    (*this)(value);
    return value;
  }
  const char* next(std::size_t number, std::size_t size) {
    if (number > bytes_.size() / size) throw CommunicationError("a record arrived incomplete");
    const char* at = bytes_.data();
    bytes_.remove_prefix(number * size);
    return at;
  }

  std::string_view bytes_;
};

template <class T>
std::vector<T> tail(const std::vector<T>& values, std::size_t first, std::size_t last) {
  const auto at = [&](std::size_t i) {
    return values.begin() + static_cast<std::ptrdiff_t>(std::min(i, values.size()));
  };
  return {at(first), at(last)};
}

template <class T>
void append_values(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

std::string to_bytes(const RankRecord& record) {
  Packer packer;
  visit_members(record, packer);
  return packer.take();
}

RankRecord record_from_bytes(std::string_view bytes) {
  RankRecord record;
  Unpacker unpacker(bytes);
  visit_members(record, unpacker);
  if (!unpacker.finished()) throw CommunicationError("a record arrived with bytes left over");
  return record;
}

std::vector<RankRecord> RecordGather::gather(const RankRecord& record) {
  const std::size_t first = num_sent_, last = record.steps.size();
  RankRecord piece;
  piece.clock = record.clock;
  piece.first_step = record.first_step;
  piece.steps = tail(record.steps, first, last);
  piece.samples = tail(record.samples, first, last);
  for (const auto& [name, values] : record.counts)
    piece.counts[name] = tail(values, first, last);
  for (const auto& [name, values] : record.extra_times)
    piece.extra_times[name] = tail(values, first, last);
  piece.epochs = record.epochs;
  piece.memory = record.memory;
  piece.communication = record.communication;
  piece.transfers = record.transfers;
  num_sent_ = last;

  const std::vector<std::string> all = communicator_.allgather(to_bytes(piece));
  std::vector<RankRecord> pieces;
  if (communicator_.is_root())
    for (const std::string& bytes : all)
      pieces.push_back(record_from_bytes(bytes));
  return pieces;
}

void append(RankRecord& gathered, RankRecord piece) {
  append_values(gathered.steps, piece.steps);
  append_values(gathered.samples, piece.samples);
  for (const auto& [name, values] : piece.counts)
    append_values(gathered.counts[name], values);
  for (const auto& [name, values] : piece.extra_times)
    append_values(gathered.extra_times[name], values);
  gathered.clock = std::move(piece.clock);
  gathered.first_step = piece.first_step;
  gathered.epochs = std::move(piece.epochs);
  gathered.memory = std::move(piece.memory);
  gathered.communication = std::move(piece.communication);
  gathered.transfers = std::move(piece.transfers);
}

}  // namespace multicard
