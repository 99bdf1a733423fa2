#pragma once
/// \file Trainings that went wrong although every loss was a finite number.

#include <optional>
#include <span>
#include <string>

namespace multicard {

/// "the training loss rose from 2.3 to 1e+29" when the median of the last losses (a tenth of them) is more than ten
/// times the first loss and more than 10, which no useful model has: a batch normalisation, for example, keeps the loss
/// finite at any learning rate. nullopt for all others, and for fewer than 5 losses.
std::optional<std::string> divergence(std::span<const double> train_losses);

}  // namespace multicard
