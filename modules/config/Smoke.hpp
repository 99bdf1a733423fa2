#pragma once
/// \file Smoke runs: a few steps on a few rows of any deck, which show before a long job that its whole path works
/// (docs/decks.md, Smoke runs).

#include <string>
#include <vector>

#include "config/Deck.hpp"

namespace multicard {

/// Where a run deck that names no output leaves its results.
inline constexpr const char* kDefaultRunOutput = "results/fashion";

/// Whether a run or a share is started as written or as a smoke run.
enum class RunScale { full, smoke };

/// Takes the section `name` (of keys that count in one kind of launch only) out of a deck, or nothing where the deck
/// has none. Deck::merge applies it. \throws UsageError for a section that is not a map.
Value take_section(Deck& deck, const std::string& name);

/// Reads a run deck without its section `smoke`, which counts in smoke runs alone. \throws UsageError as Deck::load
Deck load_run_deck(const std::string& path, const std::vector<std::string>& overrides = {});

/// Reads a run deck for a smoke run on `num_ranks` ranks: its section `smoke`, then shorten_run() and write_apart(),
/// then the overrides, which have the last word. \throws UsageError as Deck::load
Deck load_smoke_run_deck(const std::string& path, const std::vector<std::string>& overrides, int num_ranks);

/// Makes a run deck short: at most 4 steps of at most 8 rows a rank, the first not measured, a warm-up of at most one
/// step, and an evaluation of limit_evaluation() at the end where there is test data. Values that are smaller already,
/// or no numbers, stay.
void shorten_run(Deck& deck, int num_ranks);

/// Makes a sweep deck short: at most 4 steps, the first not measured, two repeats, two values of every axis (of the
/// axis `ranks` the two smallest that the job has), no axis of lengths, and limit_evaluation() where it evaluates.
/// \param base the run deck that the sweep varies; its evaluation is limited too
void shorten_sweep(Deck& sweep, Deck& base, int num_ranks);

/// Makes a share deck whose tasks hold their decks short: at most 12 steps of every task, decisions and waits of at
/// most a second, and limit_evaluation().
void shorten_share(Deck& share);

/// At most 32 test samples, 2 questions, 2 prompts and 32 tokens an answer.
void limit_evaluation(Deck& deck);

/// Adds the ending _smoke to run.output (`output` where the deck names none) and sets run.resume to never, so that each
/// smoke run replaces the one before. Where `overrides` name an output, nothing is changed.
void write_apart(Deck& deck, const std::string& output, const Deck::Assignments& overrides);

}  // namespace multicard
