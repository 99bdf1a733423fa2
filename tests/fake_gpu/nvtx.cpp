// What NVTX loads where a profiler would be (NVTX_INJECTION64_PATH): the program's ranges are counted, and the
// innermost is the phase of what is launched.
#include <string>
#include <vector>

#include <nvtx3/nvToolsExt.h>

#include "Fake.hpp"

namespace {

thread_local std::vector<std::string> ranges;

int range_push(const char* name) {
  fake::counter("range", name).add();
  ranges.emplace_back(name);
  fake::enter_phase(name);
  return static_cast<int>(ranges.size());
}

int range_pop() {
  if (!ranges.empty()) ranges.pop_back();
  fake::enter_phase(ranges.empty() ? nullptr : ranges.back().c_str());
  return static_cast<int>(ranges.size());
}

template <typename Function>
void set(NvtxFunctionTable table, std::uint32_t number, Function* function) {
  *table[number] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

FAKE_API int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size)) return 0;
  set(table, NVTX_CBID_CORE_RangePushA, range_push);
  set(table, NVTX_CBID_CORE_RangePop, range_pop);
  return 1;
}
