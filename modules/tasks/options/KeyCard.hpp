#pragma once
/// \file One deck key with all that is known of it, for people and for completion.

#include <optional>
#include <string>
#include <vector>

#include "tasks/options/RunOptions.hpp"

namespace multicard {

/// The words that a key takes, "true" and "false" of a boolean; none where it takes numbers, names or lists. With the
/// word that may stand in place of a number ("auto").
std::vector<std::string> words_of(const KeyReading& reading);

/// Overrides that set `key` to something else than its default, with those that it needs: {"optimizer.momentum=0.9",
/// "optimizer.nesterov=true"}. Paths in them are examples.
std::vector<std::string> example_of(const DescribedKey& key);

/// Its meaning, type, default, effect and an example, and where in the documents it stands.
std::string key_card(const DescribedKey& key);

/// The keys that `name` may mean: the one of that path; those of the section of that name; the key of another
/// program's name for it; those whose last part it is. None: there is none.
std::vector<DescribedKey> keys_named(const std::string& name);

}  // namespace multicard
