#pragma once
/// \file Findings about single runs, for a study of many.

#include "postproc/study/Study.hpp"

namespace multicard::post {

/// What findings_of() says of the runs, each kind of finding once: where there are several runs, the sentence names
/// those that have it (`runs` counts them) and states the numbers of the one with the largest share.
Findings run_findings(const Study& study);

}  // namespace multicard::post
