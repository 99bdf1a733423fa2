#include <algorithm>

#include "postproc/reduce/ReduceParts.hpp"

namespace multicard::post {

namespace {

using Counts = RankMatrix<std::int64_t>;

double total(const Counts& counts, std::size_t step) {
  double sum = 0;
  for (std::size_t rank = 0; rank < counts.ranks; ++rank)
    sum += static_cast<double>(counts.at(rank, step));
  return sum;
}

/// Means, so that trained and computed tokens are shares of the same total; unknown where a column is missing.
double mean_total(const RunData& run, const char* column, const std::vector<std::size_t>& measured) {
  const auto found = run.counts.find(column);
  if (found == run.counts.end()) return kNone;
  double sum = 0;
  for (const std::size_t step : measured)
    sum += total(found->second, step);
  return sum / static_cast<double>(measured.size());
}

/// Mean over steps of the largest rank's tokens over the mean rank's.
double imbalance_of(const Counts& tokens, const std::vector<std::size_t>& measured) {
  std::vector<double> ratios;
  for (const std::size_t step : measured) {
    std::int64_t most = 0;
    for (std::size_t rank = 0; rank < tokens.ranks; ++rank)
      most = std::max(most, tokens.at(rank, step));
    const double all = total(tokens, step);
    if (all > 0) ratios.push_back(static_cast<double>(most) * static_cast<double>(tokens.ranks) / all);
  }
  return mean(ratios);
}

}  // namespace

std::optional<TextReport> reduce_text(const RunData& run, const std::vector<std::size_t>& measured) {
  const auto tokens = run.counts.find("tokens");
  if (tokens == run.counts.end()) return std::nullopt;
  TextReport text;
  text.rows = mean_total(run, "samples", measured);
  text.tokens = mean_total(run, "tokens", measured);
  text.trained = mean_total(run, "trained_tokens", measured);
  text.computed = mean_total(run, "computed_tokens", measured);
  text.imbalance = imbalance_of(tokens->second, measured);
  if (const auto longest = run.summary.integers.find("max_length"); longest != run.summary.integers.end())
    text.longest_row = longest->second;
  return text;
}

}  // namespace multicard::post
