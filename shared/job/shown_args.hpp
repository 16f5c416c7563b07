#pragma once

#include <string>
#include <string_view>

namespace brood {

// The arguments of a payload as pages and lists show them: of a job that says `encrypt` the last one as
// "[encrypted data]", as Sidekiq does it.  A text that is no job has none.
std::string shown_args(std::string_view payload);

}  // namespace brood
