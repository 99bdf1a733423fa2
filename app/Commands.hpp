#pragma once
/// \file One function per command. Each is collective over `world`, returns the exit code and throws Error.

#include <string>
#include <vector>

#include "base/Error.hpp"
#include "comm/Communicator.hpp"
#include "data/Prepare.hpp"

namespace multicard {

/// `multicard run` and `multicard sweep`.
struct DeckArguments {
  std::string deck;
  std::vector<std::string> overrides;  ///< key.path=value
  std::string command_line;            ///< as it was typed, for provenance
  bool dry_run = false;
  bool quick = false;  ///< of a sweep: with the section `quick` of its deck
  bool print_config = false;
  bool quiet = false;
};

struct EvalArguments {
  std::string source;                  ///< a deck, or the folder of a checkpoint
  std::vector<std::string> overrides;  ///< key.path=value
  std::string output;                  ///< results file; empty: eval.h5 in run.output
  std::string command_line;            ///< as it was typed, for provenance
  bool json = false;
};

struct InfoArguments {
  bool selftest = false;
  bool json = false;
  std::string deck;  ///< selftest at this deck's model and shards; may be empty
};

ExitCode run_command(const DeckArguments& arguments, const Communicator& world);
ExitCode sweep_command(const DeckArguments& arguments, const Communicator& world);
ExitCode prepare_images_command(const PrepareOptions& options, const Communicator& world);
ExitCode eval_command(const EvalArguments& arguments, const Communicator& world);
ExitCode info_command(const InfoArguments& arguments, const Communicator& world);

}  // namespace multicard
