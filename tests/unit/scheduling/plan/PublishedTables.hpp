#pragma once
/// \file Tasks with published rates (tests/data/allocation).

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "scheduling/rates/RateTableFile.hpp"
#include "scheduling/solve/SplitProblem.hpp"
#include "support/test_world.hpp"

namespace multicard::test {

inline std::string allocation_data(const std::string& file) {
  return source_path("tests/data/allocation/" + file).string();
}

inline std::vector<RateTable> rubick_tables() {
  std::vector<RateTable> tables;
  for (const char* model : {"vit", "roberta", "bert", "t5", "gpt2", "llama7"})
    tables.push_back(read_rate_table(allocation_data(std::string("rubick/") + model + ".csv"), TableLayout::rubick));
  return tables;
}

inline std::vector<RateTable> elasticflow_tables() {
  const std::pair<const char*, std::vector<int>> files[] = {{"bert", {64, 128}},
                                                            {"gpt2", {128, 256}},
                                                            {"inception3", {64, 128}},
                                                            {"resnet50", {64, 128, 256}},
                                                            {"vgg16", {64, 128, 256}}};
  std::vector<RateTable> tables;
  for (const auto& [model, batches] : files)
    for (const int batch : batches)
      tables.push_back(read_rate_table(allocation_data(std::string("elasticflow/") + model + ".csv"),
                                       TableLayout::elasticflow, batch));
  return tables;
}

inline std::vector<RateTable> published_tables() {
  std::vector<RateTable> tables = rubick_tables();
  for (RateTable& table : elasticflow_tables())
    tables.push_back(std::move(table));
  return tables;
}

/// Tasks with random tables, work for 100 to 1000 s on the whole machine, and weights from 1 to 3.
inline AllocationProblem published_mix(std::mt19937& random, const std::vector<RateTable>& tables, int num_tasks,
                                       int gpus, Objective objective) {
  AllocationProblem problem{objective, {1, gpus}, {}};
  for (int task = 0; task < num_tasks; ++task) {
    AllocationTask one;
    one.table = tables[std::uniform_int_distribution<std::size_t>(0, tables.size() - 1)(random)];
    one.work = one.table.best(problem.machine).rate * std::uniform_real_distribution<double>(100, 1000)(random);
    one.weight = std::uniform_int_distribution<int>(1, 3)(random);
    problem.tasks.push_back(one);
  }
  return problem;
}

}  // namespace multicard::test
