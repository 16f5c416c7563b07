#pragma once

#include <brood/api.hpp>
#include <cstddef>
#include <string>

#include "shared/config/show_args.hpp"
#include "supervisor/web/page/call.hpp"
#include "supervisor/web/page/html.hpp"

namespace brood {

// How much of its arguments may be told, and looked into.
ShowArgs shown_of(const ShowArgsSettings& settings, const JobRecord& job);

// Its arguments, cut where they are long, as far as they may be told; of an encrypted one it is said that it is there.
Html args_of(const Call& call, const JobRecord& job);

// As far as `shows` says, of a JSON text of arguments.
std::string told_args(ShowArgs shows, const std::string& args, std::size_t most_characters);

double epoch_of(Time time);

}  // namespace brood
