#include "postproc/reduce/ProfileSum.hpp"

#include <map>
#include <string>
#include <utility>

namespace multicard::post {

namespace {

/// \name What names a row
/// @{
template <class Row>
const std::string& key_of(const Row& row) {
  return row.name;
}
const std::string& key_of(const CopyRow& row) {
  return row.direction;
}
std::pair<std::string, std::string> key_of(const OperatorRow& row) {
  return {row.name, row.phase};
}
/// @}

/// One table, to which rows of the same key add up.
template <class Row>
class RowSum {
 public:
  void add(const std::vector<Row>& more) {
    for (const Row& row : more) {
      const auto [place, is_new] = places_.emplace(key_of(row), rows_.size());
      if (is_new) {
        rows_.push_back(row);
        continue;
      }
      Row& known = rows_[place->second];
      if constexpr (requires { row.time; }) {
        known.time.count += row.time.count;
        known.time.total += row.time.total;
      } else {
        known.calls += row.calls;
        known.ns += row.ns;
      }
      if constexpr (requires { row.cost; }) known.cost.add(row.cost);
      if constexpr (requires { row.bytes; }) known.bytes += row.bytes;
    }
  }

  std::vector<Row> take() { return std::move(rows_); }

 private:
  std::map<std::decay_t<decltype(key_of(std::declval<Row>()))>, std::size_t> places_;
  std::vector<Row> rows_;
};

class ProfileAdder {
 public:
  void add(const Profile& profile, std::int64_t rank_steps) {
    rank_steps_ += rank_steps;
    calls_.add(profile.calls);
    kernels_.add(profile.kernels);
    collectives_.add(profile.collectives);
    copies_.add(profile.copies);
    phases_.add(profile.phases);
    operators_.add(profile.operators);
    mpi_.add(profile.mpi);
  }

  ProfileSum take() {
    ProfileSum sum;
    sum.rank_steps = rank_steps_;
    sum.total.calls = calls_.take();
    sum.total.kernels = kernels_.take();
    sum.total.collectives = collectives_.take();
    sum.total.copies = copies_.take();
    sum.total.phases = phases_.take();
    sum.total.operators = operators_.take();
    sum.total.mpi = mpi_.take();
    return sum;
  }

 private:
  std::int64_t rank_steps_ = 0;
  RowSum<NamedTimes> calls_, kernels_, collectives_;
  RowSum<CopyRow> copies_;
  RowSum<PhaseRow> phases_;
  RowSum<OperatorRow> operators_;
  RowSum<MpiRow> mpi_;
};

}  // namespace

ProfileSum sum_of(const std::vector<Profile>& of_ranks) {
  ProfileAdder adder;
  for (const Profile& profile : of_ranks)
    adder.add(profile, profile.num_steps);
  return adder.take();
}

ProfileSum sum_of(const std::vector<const ProfileSum*>& of_runs) {
  ProfileAdder adder;
  for (const ProfileSum* run : of_runs)
    adder.add(run->total, run->rank_steps);
  ProfileSum sum = adder.take();
  add_shares(sum.total);
  sort_rows(sum.total);
  return sum;
}

}  // namespace multicard::post
