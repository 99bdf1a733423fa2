#include "train/RecordGather.hpp"

#include <algorithm>

#include "base/Error.hpp"
#include "train/Packing.hpp"

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
