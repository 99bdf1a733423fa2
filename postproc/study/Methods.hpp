#pragma once
/// \file Studies that compare tuning methods: what each takes in time, memory and traffic, and what it reaches.

#include <optional>
#include <string>
#include <vector>

#include "findings/Finding.hpp"
#include "postproc/study/Study.hpp"

namespace multicard::post {

/// What a tuning method is trained to do. Losses and rates of different objectives are not compared.
enum class Objective {
  next_token,  ///< predict the target tokens
  preference   ///< prefer the chosen of two answers
};

/// Peak memory of the rank that needs most, in bytes. All but `peak`, `rest` and `activations` are exact: the bytes of
/// the tensors.
struct MemorySplit {
  double peak = kNone;         ///< measured: what tensors took on a GPU, of a CPU rank the resident memory
  bool on_device = false;      ///< `peak` is of a GPU
  double weights = kNone;      ///< of the base model, trained or frozen, without `reference`
  double adapters = kNone;     ///< trained
  double gradients = kNone;    ///< of what is trained
  double optimizer = kNone;    ///< its state
  double reference = kNone;    ///< the frozen copy that preferences are measured against
  double rest = kNone;         ///< `peak` without those: activations, batches, workspaces; on a CPU also the program
  double activations = kNone;  ///< of `rest`, as predicted before the first step
};

/// A method on one number of ranks.
struct MethodCell {
  const Cell* cell = nullptr;
  std::string label;   ///< of the configuration
  std::string method;  ///< as method_of()
  Objective objective = Objective::next_token;
  std::optional<MemorySplit> memory;  ///< nothing where the file has no parts
  bool on_cpu = false;                ///< there are no copies between host and device
  double host_to_device = kNone;      ///< bytes a step and rank
  double device_to_device = kNone;    ///< bytes a step and rank
  double reduced = kNone;             ///< payload of all-reduces: bytes a step and rank
  double on_bus = kNone;              ///< the same on the bus, by nccl-tests' formula
  Estimate held_out_loss;             ///< of Objective::next_token
  Estimate preference_accuracy;       ///< of Objective::preference: share of held-out pairs, ties wrong
  double num_held_out = kNone;        ///< sequences or pairs
};

/// "lora"; empty where the run is not of a language model.
std::string method_of(const RunReport& run);

/// Whether the study compares tuning methods: language models that were tuned by different ones.
bool compares_methods(const Study& study);

/// Every measured cell, in the order of the study. It must compare methods.
std::vector<MethodCell> method_cells(const Study& study);

/// Where runs differ in what must be equal for a fair comparison (rows, lengths, types, checkpointing); a last sentence
/// names what is equal.
std::vector<std::string> fairness_sentences(const Study& study);

/// "methods-best-RANKS" or "methods-best-preference-RANKS", on the most ranks on which two methods have completed:
/// which needs the least memory and which learns best; empty without two. Next-token prediction comes before
/// preferences.
Finding best_methods_finding(const Study& study);

/// A method and what speaks against it.
struct MethodLimit {
  const MethodCell* cell = nullptr;
  bool is_dominated = false;  ///< one of its objective needs no more memory and is measurably faster
  bool learns_best = false;   ///< of its objective
};

/// Of `all`, the cells of the study: those of each objective on the most ranks on which two completed, by peak memory;
/// where no two did, on the fewest ranks.
std::vector<MethodLimit> method_limits(const Study& study, const std::vector<MethodCell>& all);

/// "methods-RANKS" and "methods-preference-RANKS", for each objective and number of ranks: which method needs the least
/// memory, which is measurably faster with more, and which learns best.
Findings memory_limit_findings(const Study& study);

/// "next-token prediction" or "preferences".
const char* text_of(Objective objective);

}  // namespace multicard::post
