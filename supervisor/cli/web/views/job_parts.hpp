#pragma once

#include <brood/api.hpp>

#include "supervisor/cli/web/page/call.hpp"
#include "supervisor/cli/web/page/html.hpp"

namespace brood {

// Its arguments, cut where they are long; of an encrypted one it is said that it is there.  Where [web] show_args is
// off they are not told.
Html args_of(const Call& call, const JobRecord& job);

double epoch_of(Time time);

}  // namespace brood
