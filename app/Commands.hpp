#pragma once
/// \file One function per command. Each is collective over `world`, returns the exit code and throws Error.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/Error.hpp"
#include "comm/Communicator.hpp"
#include "config/Words.hpp"
#include "nn/options/ModelOptions.hpp"
#include "prepare/sets/Prepare.hpp"
#include "prepare/sets/TextPrepare.hpp"

namespace multicard {

/// `multicard run`, `multicard sweep` and `multicard share`.
struct DeckArguments {
  std::string deck;
  std::vector<std::string> overrides;  ///< key.path=value
  std::string command_line;            ///< as it was typed, for provenance
  bool dry_run = false;
  bool quick = false;  ///< of a sweep: with the section `quick` of its deck
  bool smoke = false;  ///< as a smoke run (config/Smoke.hpp)
  bool print_config = false;
  bool quiet = false;
  bool what_fits = false;                  ///< of a run: show what fits the memory instead
  std::optional<std::string> memory = {};  ///< of what_fits: how much there is; none: the device's own

  /// Whether nothing is trained, so that a signal ends the command at once.
  bool only_shows() const { return dry_run || print_config || what_fits; }
};

struct EvalArguments {
  std::string source;                  ///< a deck, or the folder of a checkpoint
  std::vector<std::string> overrides;  ///< key.path=value
  std::string output;                  ///< results file; empty: as evaluation_file() names it
  std::string command_line;            ///< as it was typed, for provenance
  bool json = false;
};

struct GenerateArguments {
  std::string model;                  ///< model folder, or a checkpoint of a language run
  std::optional<std::string> prompt;  ///< "-": standard input; none with prompts
  std::string prompts;                ///< file of prompts; empty: there is one prompt
  std::string adapter;                ///< PEFT folder; may be empty
  std::optional<WeightDtype> dtype;   ///< none: the folder's own
  std::string template_name;          ///< empty: that of the training, else the folder's own
  std::string date;                   ///< YYYY-MM-DD, which the template writes; empty: its default
  double temperature = 1.0, top_p = 1.0, repetition_penalty = 1.0;
  std::int64_t top_k = 0;  ///< 0: all tokens
  std::uint64_t seed = 1;
  std::int64_t max_new = 128;
  std::int64_t batch = 8;          ///< prompts of a file that are answered at once
  std::vector<std::string> stops;  ///< strings that end an answer
  bool greedy = false, ignore_eos = false, raw = false, json = false;
  bool shard = false;  ///< the weights are split over the ranks
};

struct PlanArguments {
  std::string deck;
  std::vector<std::string> overrides;  ///< key.path=value
  bool json = false;
  std::string svg;  ///< file for the picture; empty: none
};

struct InfoArguments {
  bool selftest = false;
  bool json = false;
  std::string deck;  ///< selftest at this deck's model, shards and folder of outputs; may be empty
};

/// What an adapter is added to.
enum class MergeBase { original, dequantised };
inline constexpr Word<MergeBase> kMergeBaseWords[] = {{"original", MergeBase::original},
                                                      {"dequantised", MergeBase::dequantised}};

struct ExportArguments {
  std::string checkpoint;
  std::string folder;                ///< that is made
  std::optional<MergeBase> merge;    ///< none: not merged
  std::optional<WeightDtype> dtype;  ///< none: as it is
  bool int4 = false;                 ///< convert linear layers to int4
  bool nf4 = false;                  ///< store linear layers in NF4
};

struct WatchArguments {
  std::vector<std::string> outputs;  ///< folders of runs, sweeps and shares
  bool once = false, json = false;
  double interval_s = 1;
};

struct TokenizeArguments {
  std::string tokenizer;    ///< a model folder or a tokenizer file
  bool no_special = false;  ///< add no special tokens
  bool decode = false;      ///< ids in, strings out
};

ExitCode run_command(const DeckArguments& arguments, const Communicator& world);
ExitCode share_command(const DeckArguments& arguments, const Communicator& world);
ExitCode sweep_command(const DeckArguments& arguments, const Communicator& world);
ExitCode plan_command(const PlanArguments& arguments, const Communicator& world);
ExitCode prepare_images_command(const PrepareOptions& options, const Communicator& world);
ExitCode prepare_text_command(const TextPrepareOptions& options, const Communicator& world);
ExitCode eval_command(const EvalArguments& arguments, const Communicator& world);
ExitCode export_command(const ExportArguments& arguments, const Communicator& world);
ExitCode tokenize_command(const TokenizeArguments& arguments, const Communicator& world);
ExitCode generate_command(const GenerateArguments& arguments, const Communicator& world);
ExitCode info_command(const InfoArguments& arguments, const Communicator& world);
/// Not collective: it needs no MPI.
ExitCode watch_command(const WatchArguments& arguments);

}  // namespace multicard
