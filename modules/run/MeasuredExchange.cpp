#include "run/MeasuredExchange.hpp"

#include "base/Clock.hpp"

namespace multicard {

namespace {

ExchangeFacts exchange_facts(const TrainingSetup& setup, std::int64_t num_done) {
  std::int64_t bytes = 0;
  for (const NamedTensor& parameter : setup.model().parameters())
    bytes += parameter.tensor.numel() * static_cast<std::int64_t>(parameter.tensor.element_size());
  return {setup.communicator.size(), bytes, setup.collectives->bucket_bytes(), setup.num_steps - num_done};
}

}  // namespace

MeasuredExchange::MeasuredExchange(const TrainingSetup& setup)
    : setup_(setup), trials_(setup.options.parallel, exchange_facts(setup, 0)) {}

void MeasuredExchange::resume(const TrainerState& state) {
  trials_ = ExchangeTrials(setup_.options.parallel, exchange_facts(setup_, state.step));
  trials_.resume(state.extra, state.text);
}

bool MeasuredExchange::begin() {
  if (!setup_.options.parallel.measures()) return false;
  setup_.strategy->set_exchange(trials_.setting());
  return !trials_.is_under_way();
}

// The time of the slowest rank counts, which all ranks get, so that all choose alike. On a GPU reading the results
// waits for the end of the step.
bool MeasuredExchange::step(Trainer& trainer, const Requests& mine) {
  if (!trials_.is_under_way()) {
    trainer.step(mine);
    return false;
  }
  const TimePoint start = SteadyClock::now();
  trainer.step(mine);
  trainer.read_all_results();
  trials_.note(setup_.communicator.allreduce(seconds_since(start), ReduceOp::max));
  setup_.strategy->set_exchange(trials_.setting());
  return !trials_.is_under_way();
}

void MeasuredExchange::add_to(RunSummary& summary) const {
  for (const auto& [key, reason] : trials_.reasons())
    summary.text["measured_" + key] = reason;
}

void MeasuredExchange::add_to(TrainerState& state) const {
  state.extra.merge(trials_.numbers());
  state.text.merge(trials_.texts());
}

}  // namespace multicard
