#pragma once
/// \file What a training reached.

#include "findings/Finding.hpp"
#include "postproc/study/Study.hpp"

namespace multicard::post {

/// "training": "Test accuracy 0.8398 after 313 steps in 49 s of training, 500 images/s." By what was measured:
/// preference accuracy, test accuracy, test loss (with what it was before the first step), or the training loss of a
/// single run of at least kLeastLosses steps. Empty where the study is not one configuration on one number of ranks, or
/// nothing of that was measured: then speed is all there is to say.
Finding training_finding(const Study& study);

}  // namespace multicard::post
