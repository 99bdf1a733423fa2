#include "postproc/study/CountedMethods.hpp"

#include <algorithm>

#include "base/CsvTable.hpp"
#include "base/Estimate.hpp"

namespace multicard::post {

namespace {

/// Beyond any count of a step: a larger number is damage.
constexpr double kMost = 1e18;

/// The reference of a method: LoRA at the same size of a step, of the same model.
const CountedMethod* lora_of(const std::vector<CountedMethod>& all, const CountedMethod& like) {
  const auto found = std::ranges::find_if(all, [&](const CountedMethod& one) {
    return one.method == "lora" && one.tokens == like.tokens && one.checkpointing == like.checkpointing &&
           one.model == like.model;
  });
  return found == all.end() ? nullptr : &*found;
}

CountedMethod method_of_row(const CsvTable& table, std::size_t row) {
  CountedMethod method;
  method.method = table.text(row, "method");
  method.model = table.text(row, "model");
  method.checkpointing = table.whole(row, "checkpointing", 0, 1) == 1;
  method.tokens = table.whole(row, "tokens", 1, 1'000'000'000);
  const std::pair<const char*, double CountedMethod::*> numbers[] = {
      {"kernels", &CountedMethod::kernels},
      {"matrix_products", &CountedMethod::products},
      {"flops", &CountedMethod::flops},
      {"host_to_device_bytes", &CountedMethod::host_to_device},
      {"device_to_device_bytes", &CountedMethod::device_to_device},
      {"all_reduce_bytes", &CountedMethod::reduced},
      {"peak_bytes", &CountedMethod::peak},
      {"weights_bytes", &CountedMethod::weights},
      {"adapters_bytes", &CountedMethod::adapters},
      {"gradients_bytes", &CountedMethod::gradients},
      {"optimizer_bytes", &CountedMethod::optimizer},
      {"reference_bytes", &CountedMethod::reference}};
  for (const auto& [column, member] : numbers)
    method.*member = table.number(row, column, 0, kMost);
  return method;
}

}  // namespace

std::vector<CountedMethod> read_counted_methods(const std::string& path) {
  const CsvTable table(path);
  std::vector<CountedMethod> out;
  for (std::size_t row = 0; row < table.num_rows(); ++row)
    out.push_back(method_of_row(table, row));
  return out;
}

double launches_over_lora(const std::vector<CountedMethod>& all, const CountedMethod& method) {
  const CountedMethod* const lora = lora_of(all, method);
  return lora && lora->launches() > 0 ? method.launches() / lora->launches() : kNone;
}

double products_over_lora(const std::vector<CountedMethod>& all, const CountedMethod& method) {
  const CountedMethod* const lora = lora_of(all, method);
  return lora && lora->products > 0 ? method.products / lora->products : kNone;
}

}  // namespace multicard::post
