#include "postproc/study/ScalingPrediction.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/Number.hpp"
#include "postproc/study/Axes.hpp"
#include "postproc/study/Study.hpp"
#include "results/DeckText.hpp"
#include "scheduling/model/FittedModel.hpp"
#include "scheduling/model/StepTimeModel.hpp"

namespace multicard::post {

namespace {

constexpr std::size_t kLeastCounts = 3;
constexpr int kFarthest = 16;  ///< times the largest measured number of ranks
constexpr int kFine = 256;     ///< up to here every number of ranks is looked at; steps of less than 0.5 % beyond

std::optional<double> positive_number(const std::string& text) {
  const auto value = parse_number<double>(text);
  return value && *value > 0 ? value : std::nullopt;
}

/// Rows of a step, by ranks.
struct Rows {
  double global = 0;    ///< of all ranks, whatever their number; 0: it is that of a rank which is fixed
  double per_rank = 0;  ///< whatever their number; 0: see above
  double micro = 0;     ///< that a rank computes at once; 0: all of them

  double of_step(int ranks) const { return global > 0 ? global : per_rank * ranks; }
  /// Of the rank that has the most of them.
  double of_rank(int ranks) const { return global > 0 ? std::ceil(global / ranks) : per_rank; }
};

/// Nothing where neither the global batch nor that of a rank is the same everywhere, or micro-batches differ.
std::optional<Rows> rows_of(const Study& study, const std::vector<const Cell*>& cells) {
  std::set<double> global, per_rank, micro;
  for (const Cell* cell : cells)
    for (const std::size_t index : cell->measured) {
      const RunReport& run = study.runs[index];
      // global_batch is what a run resolved, so that it is there whichever of the two its deck fixes.
      const auto batch = positive_number(setting(run, "global_batch"));
      if (!batch || !(run.step_time.value > 0)) return std::nullopt;
      global.insert(*batch);
      per_rank.insert(*batch / run.ranks);
      micro.insert(positive_number(deck_value(run.deck, "run.micro_batch")).value_or(0));
    }
  if (micro.size() != 1) return std::nullopt;
  if (global.size() == 1) return Rows{*global.begin(), 0, *micro.begin()};
  if (per_rank.size() == 1) return Rows{0, *per_rank.begin(), *micro.begin()};
  return std::nullopt;
}

/// The ranks of a job by nodes.
class Nodes {
 public:
  explicit Nodes(const std::vector<std::string>& hosts) {
    std::map<std::string, std::size_t> known;
    for (const std::string& host : hosts) {
      node_of_.push_back(known.try_emplace(host, known.size()).first->second);
      num_nodes_ = known.size();
    }
    for (const int count : of(static_cast<int>(hosts.size())))
      fullest_ = std::max(fullest_, count);
  }

  bool is_one() const { return num_nodes_ < 2; }
  /// Ranks on each node that has some, when the first `ranks` are used; more than there were fill further nodes.
  std::vector<int> of(int ranks) const {
    if (num_nodes_ < 2) return {ranks};
    std::vector<int> nodes(num_nodes_);
    const int known = std::min(ranks, static_cast<int>(node_of_.size()));
    for (int rank = 0; rank < known; ++rank)
      ++nodes[node_of_[static_cast<std::size_t>(rank)]];
    std::erase(nodes, 0);
    for (int left = ranks - known; left > 0; left -= fullest_)
      nodes.push_back(std::min(left, fullest_));
    return nodes;
  }

 private:
  std::vector<std::size_t> node_of_;  ///< by rank
  std::size_t num_nodes_ = 0;
  int fullest_ = 1;
};

/// The model of one configuration.
class Predictor {
 public:
  Predictor(const Study& study, std::size_t configuration, std::vector<const Cell*> cells, const Rows& rows)
      // Further ranks are placed as those of the largest run are.
      : study_(study),
        cells_(std::move(cells)),
        rows_(rows),
        nodes_(study.sources[study.runs[cells_.back()->measured.front()].source].hosts) {
    prediction_.configuration = configuration;
    prediction_.is_on_one_node = nodes_.is_one();
    fit();
  }

  ScalingPrediction prediction() {
    std::vector<int> counts;
    for (const Cell* cell : cells_)
      counts.push_back(cell->ranks);
    for (const int ranks : counts)
      prediction_.points.push_back(point(ranks));
    const int farthest = counts.back() * kFarthest;
    int trusted = counts.back();
    for (int ranks = 2 * counts.back(); ranks <= farthest && is_trusted(ranks); ranks *= 2) {
      prediction_.points.push_back(point(ranks));
      trusted = ranks;
    }
    for (int ranks = counts.front(); ranks <= trusted && !prediction_.inefficient_from; ranks += 1 + ranks / kFine)
      if (efficiency(ranks) < kWorthwhileEfficiency) prediction_.inefficient_from = ranks;
    return prediction_;
  }

 private:
  StepPoint at(int ranks, const Nodes& nodes) const {
    const double rows = rows_.of_rank(ranks);
    const double parts = rows_.micro > 0 ? std::ceil(rows / rows_.micro) : 1;  // the last may be smaller
    StepPoint point = placed(nodes.of(ranks), rows / parts);
    point.accumulation = static_cast<int>(parts) - 1;
    return point;
  }
  StepPoint at(int ranks) const { return at(ranks, nodes_); }

  void fit() {
    std::vector<StepObservation> observations;
    std::vector<double> work;  // of a step, in what rates count, by rows
    for (const Cell* cell : cells_)
      for (const std::size_t index : cell->measured) {
        const RunReport& run = study_.runs[index];
        const Nodes nodes(study_.sources[run.source].hosts);
        observations.push_back({at(cell->ranks, nodes), run.step_time.value});
        work.push_back(run.rate.value * run.step_time.value / rows_.of_step(cell->ranks));
      }
    model_ = std::make_unique<FittedModel>(std::make_shared<StepTimeModel>(), observations);
    work_of_row_ = median(work);
    prediction_.error = model_->error();
  }

  double work(int ranks) const { return work_of_row_ * rows_.of_step(ranks); }

  double efficiency(int ranks) const {
    const int base = cells_.front()->ranks;
    const double rate = work(ranks) / model_->seconds(at(ranks)), of_base = work(base) / model_->seconds(at(base));
    return rate / of_base * base / ranks;
  }

  bool is_trusted(int ranks) const {
    return rows_.of_step(ranks) >= ranks && model_->predict(at(ranks)).trust != Trust::refused;
  }

  PredictedRate point(int ranks) const {
    const Prediction step = model_->predict(at(ranks));
    PredictedRate out{ranks, {}, efficiency(ranks), ranks <= cells_.back()->ranks};
    out.rate.value = work(ranks) / step.seconds;
    out.rate.interval = Interval{work(ranks) / step.high, work(ranks) / step.low};
    return out;
  }

  const Study& study_;
  std::vector<const Cell*> cells_;
  Rows rows_;
  Nodes nodes_;
  ScalingPrediction prediction_;
  std::unique_ptr<FittedModel> model_;
  double work_of_row_ = 1;
};

}  // namespace

std::vector<ScalingPrediction> predict_scaling(const Study& study) {
  std::vector<ScalingPrediction> out;
  for (std::size_t configuration = 0; configuration < study.configurations.size(); ++configuration) {
    std::vector<const Cell*> cells = study.cells_of(configuration);
    std::erase_if(cells, [](const Cell* cell) { return !cell->counts(); });
    if (cells.size() < kLeastCounts) continue;
    if (const std::optional<Rows> rows = rows_of(study, cells))
      out.push_back(Predictor(study, configuration, std::move(cells), *rows).prediction());
  }
  return out;
}

}  // namespace multicard::post
