#pragma once

#include <string>
#include <string_view>

namespace brood {

// The arguments of a payload as pages and lists show them: of a job that says `encrypt` the last one as
// "[encrypted data]", as Sidekiq does it.  A text that is no job has none.
std::string shown_args(std::string_view payload);

// As many arguments, and nothing of them: where it is not known which of them was encrypted.
std::string masked_args(std::string_view args);

}  // namespace brood
