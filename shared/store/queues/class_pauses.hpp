#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "shared/redis/command.hpp"
#include "shared/redis/reply.hpp"
#include "shared/store/script.hpp"

namespace brood {

// Why a class is paused, and until when.  These lie in the hash `brood:class_pauses`, by class, as "SINCE UNTIL REASON"
// with times in epoch seconds, UNTIL 0 for no end.  The set `brood:paused_classes` alone decides which classes are
// paused (known_queues.hpp): a paused class without a text here was paused by an earlier release.
// No worker of brood begins a job of a paused class: jobs that are fetched wait beside those in quarantine.  Ruby's
// Sidekiq does not heed these pauses.
struct ClassPause {
  std::optional<std::int64_t> since = {};  // nullopt: unknown
  std::optional<std::int64_t> until = {};  // nullopt: there is no end
  std::string reason = {};                 // empty: none was given
  std::string text = {};                   // as Redis has it

  static ClassPause read(std::string_view text);  // which any program may have written
};
using ClassPauses = std::map<std::string, ClassPause, std::less<>>;

inline constexpr std::size_t longest_pause_reason = 500;  // bytes
inline constexpr std::chrono::hours longest_class_pause{365 * 24};

Command ask_class_pauses();
ClassPauses read_class_pauses(ReplyView reply);  // empty if Redis refuses

// Pauses a class, or gives its pause another reason and end.  Answers 1, or 0 if it was paused already.
ScriptCall pause_class(std::string_view job_class, std::string_view reason = {},
                       std::optional<std::chrono::seconds> length = {});
// Ends the pause.  Answers 1, or 0 if it was not paused.
ScriptCall unpause_class(std::string_view job_class);
// Ends the pause if its end has come and it is still the one that was read.  Also removes the text of a class that is
// not paused.  Answers 1 if the pause has ended by this.
ScriptCall end_class_pause(std::string_view job_class, const ClassPause& as_read);

}  // namespace brood
