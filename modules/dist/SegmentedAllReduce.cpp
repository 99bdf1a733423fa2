#include "dist/SegmentedAllReduce.hpp"

#include <algorithm>
#include <chrono>

#include "base/Clock.hpp"
#include "dist/OpenMessages.hpp"

namespace multicard {

// Protocol: part p of the array belongs to rank p, and consists of segments. For each segment of a part
//   1. every other rank sends its values to the owner (tag 2 s);
//   2. when all have come, the owner adds them to its own, in rank order, and sends the sum to every other rank (tag
//      2 s + 1), which receives it where its own values were, once these have been sent.
// All messages are posted as early as that allows, so that messages of the second kind are under way while others of
// the first kind still do, in both directions. Messages of the next array cannot overtake these: between two ranks MPI
// keeps the order of messages with one tag.

namespace {

/// Elements [begin, end) of an array.
struct Range {
  std::size_t begin, end;

  std::size_t size() const { return end - begin; }
};

Range part_of(std::size_t count, std::size_t part, std::size_t num_parts) {
  return {count * part / num_parts, count * (part + 1) / num_parts};
}

/// One array on its way.
class Exchange {
 public:
  Exchange(std::byte* data, std::size_t count, std::size_t width, const SegmentedAllReduce::Add& add,
           const Communicator& communicator, std::vector<std::byte>& received)
      : data_(data),
        count_(count),
        width_(width),
        add_(add),
        num_ranks_(static_cast<std::size_t>(communicator.size())),
        me_(static_cast<std::size_t>(communicator.rank())),
        mine_(part_of(count, me_, num_ranks_)),
        arrivals_(num_ranks_),
        received_(received),
        open_(communicator) {
    received_.resize(mine_.size() * width_ * num_ranks_);
  }

  void run() {
    begin();
    open_.wait([this](std::size_t number) { handle(messages_[number]); });
  }

  /// What has come of values, which no rank waits for others to send.
  void count(ReceivedCounter& counter) const {
    for (std::size_t rank = 0; rank < num_ranks_; ++rank)
      if (const Arrival& arrival = arrivals_[rank]; arrival.bytes > 0)
        counter.add(static_cast<int>(rank), {static_cast<double>(arrival.bytes),
                                             std::chrono::duration<double>(arrival.last - arrival.first).count()});
  }

 private:
  /// From the first message on, so that a rank that comes late is not taken for a slow link.
  struct Arrival {
    bool has_begun = false;
    TimePoint first, last;
    std::size_t bytes = 0;  ///< after the first message
  };
  enum class Kind { value_received, value_sent, sum_received, sum_sent };
  struct Message {
    Kind kind;
    std::size_t rank, segment;
  };

  std::size_t segment_elements() const { return std::max<std::size_t>(kSegmentBytes / width_, 1); }
  Range segment_of(const Range& part, std::size_t s) const {
    const std::size_t begin = part.begin + s * segment_elements();
    return {begin, std::min(begin + segment_elements(), part.end)};
  }
  std::size_t num_segments(const Range& part) const {
    return (part.size() + segment_elements() - 1) / segment_elements();
  }
  std::byte* values(const Range& range) const { return data_ + range.begin * width_; }
  std::byte* received(std::size_t rank, const Range& range) const {
    return received_.data() + (rank * mine_.size() + range.begin - mine_.begin) * width_;
  }

  void begin() {
    const std::size_t own = num_segments(mine_);
    missing_.assign(own, num_ranks_ - 1);
    for (std::size_t step = 1; step < num_ranks_; ++step) {
      // Each rank begins with another one, so that none is sent to by all at once.
      const std::size_t rank = (me_ + step) % num_ranks_;
      for (std::size_t s = 0; s < own; ++s)
        receive({Kind::value_received, rank, s}, received(rank, segment_of(mine_, s)), segment_of(mine_, s).size());
      const Range theirs = part_of(count_, rank, num_ranks_);
      for (std::size_t s = 0; s < num_segments(theirs); ++s)
        send({Kind::value_sent, rank, s}, values(segment_of(theirs, s)), segment_of(theirs, s).size());
    }
  }

  void note_arrival(const Message& message) {
    Arrival& arrival = arrivals_[message.rank];
    arrival.last = SteadyClock::now();
    if (arrival.has_begun) arrival.bytes += segment_of(mine_, message.segment).size() * width_;
    if (!arrival.has_begun) arrival.first = arrival.last;
    arrival.has_begun = true;
  }

  void handle(const Message message) {
    if (message.kind == Kind::value_received) note_arrival(message);
    if (message.kind == Kind::value_received && --missing_[message.segment] == 0) {
      const Range range = segment_of(mine_, message.segment);
      add(range);
      for (std::size_t step = 1; step < num_ranks_; ++step)
        send({Kind::sum_sent, (me_ + step) % num_ranks_, message.segment}, values(range), range.size());
    } else if (message.kind == Kind::value_sent) {
      const Range range = segment_of(part_of(count_, message.rank, num_ranks_), message.segment);
      receive({Kind::sum_received, message.rank, message.segment}, values(range), range.size());
    }
  }

  void add(const Range& range) {
    std::vector<std::byte*> sources;
    sources.reserve(num_ranks_);
    for (std::size_t rank = 0; rank < num_ranks_; ++rank)
      sources.push_back(rank == me_ ? values(range) : received(rank, range));
    add_(sources, values(range), range.size());
  }

  static int tag_of(const Message& message) {
    const bool is_sum = message.kind == Kind::sum_sent || message.kind == Kind::sum_received;
    return static_cast<int>(2 * message.segment + (is_sum ? 1 : 0));
  }

  void send(const Message& message, const std::byte* from, std::size_t count) {
    messages_.push_back(message);
    open_.send(static_cast<int>(message.rank), tag_of(message), from, count * width_);
  }

  void receive(const Message& message, std::byte* to, std::size_t count) {
    messages_.push_back(message);
    open_.receive(static_cast<int>(message.rank), tag_of(message), to, count * width_);
  }

  std::byte* data_;
  std::size_t count_, width_;
  const SegmentedAllReduce::Add& add_;
  std::size_t num_ranks_, me_;
  Range mine_;
  std::vector<Arrival> arrivals_;  ///< of the values of each rank
  std::vector<std::byte>& received_;
  std::vector<std::size_t> missing_;  ///< of each own segment: ranks whose values are still to come
  OpenMessages open_;
  std::vector<Message> messages_;  ///< by number
};

}  // namespace

void SegmentedAllReduce::all_reduce(std::byte* data, std::size_t count, std::size_t width, const Add& add) {
  if (communicator_.size() == 1 || count == 0) return;
  Exchange exchange(data, count, width, add, communicator_, received_);
  exchange.run();
  if (counter_) exchange.count(*counter_);
}

}  // namespace multicard
