#include "data/loading/DataSource.hpp"

#include <utility>

#include "base/Blocks.hpp"

namespace multicard {

DataSource::DataSource(Sampler sampler, at::Device device, Finishing finishing)
    : sampler_(std::move(sampler)), device_(device), finishing_(finishing), uploader_(make_batch_uploader(device)) {}

void DataSource::start_reading(const ReadPlan& plan) {
  close_loader();
  plan_ = plan;
  if (plan.reading == Reading::none) return;
  const bool is_sharded = plan.reading == Reading::sharded;
  // Reading::replicated and root read all rows, which is part 0 of 1.
  open_loader(is_sharded ? plan.rank : 0, is_sharded ? plan.num_ranks : 1, plan.first_step, plan.last_step);
}

// Where finishing is the device's work, all rows that were read are uploaded and finished together, and this rank's
// part is taken afterwards, in finish().
Batch DataSource::next() {
  Batch batch = read();
  return finishing_ == Finishing::on_device ? batch : local_shard(std::move(batch), plan_);
}

Batch DataSource::to_device(Batch batch) {
  uploader_->start({batch.inputs, batch.targets, batch.windows});
  std::vector<at::Tensor> moved = uploader_->take();
  batch.inputs = std::move(moved[0]);
  batch.targets = std::move(moved[1]);
  batch.windows = std::move(moved[2]);
  return batch;
}

Batch DataSource::finish(Batch batch) const {
  if (finishing_ == Finishing::on_host) return batch;
  return local_shard(finish_on_device(std::move(batch)), plan_);
}

std::int64_t DataSource::local_rows(std::int64_t step) const {
  return block_of(rows_in(step), plan_.rank, plan_.num_ranks).count;
}

void for_each_batch(DataSource& source, const Communicator& communicator,
                    const std::function<void(const Batch& batch)>& body) {
  const std::int64_t num_steps = source.steps_per_epoch();
  source.start_reading({communicator.rank(), communicator.size(), 0, num_steps, Reading::sharded});
  // A rank without rows in a step skips it, so that what `body` does must not be collective.
  for (std::int64_t step = 0; step < num_steps; ++step) {
    Batch batch = source.next();
    if (batch.num_rows > 0) body(source.finish(source.to_device(std::move(batch))));
  }
  source.stop_reading();
}

}  // namespace multicard
