#pragma once

#include <brood/api.hpp>
#include <cstddef>
#include <optional>
#include <string>

#include "shared/config/show_args.hpp"
#include "supervisor/web/page/call.hpp"
#include "supervisor/web/page/html.hpp"

namespace brood {

// Which of its arguments may be shown and searched.
ShowArgs shown_of(const ShowArgsSettings& settings, const JobRecord& job);

// Its arguments, as far as they may be shown, cut if they are long.  Encrypted ones are only mentioned.
Html args_of(const Call& call, const JobRecord& job);

// The arguments, a JSON text, as far as `shows` allows.
std::string told_args(ShowArgs shows, const std::string& args, std::size_t most_characters);

// A link to the batch of the job or callback; nullopt if there is none.
std::optional<Html> batch_of(const std::string& payload);

double epoch_of(Time time);

}  // namespace brood
