#include "shared/store/queues/class_pauses.hpp"

#include <algorithm>

#include "shared/base/plain_number.hpp"
#include "shared/store/keys.hpp"

namespace brood {

namespace scripts {
extern const Script pause_class, unpause_class, end_class_pause;
}

namespace {

constexpr std::int64_t latest_pause_time = 9'000'000'000;  // the clock counts to 9223372036

// The word before the next space, which is taken away with it.
std::string_view take_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(word.size() + 1, text.size()));
  return word;
}

}  // namespace

ClassPause ClassPause::read(std::string_view text) {
  ClassPause pause;
  pause.text = text;
  const auto since = leading_number<std::int64_t>(take_word(text)),
             until = leading_number<std::int64_t>(take_word(text));
  if (since > 0 && since <= latest_pause_time) pause.since = since;
  if (until > 0 && until <= latest_pause_time) pause.until = until;
  pause.reason = text.substr(0, longest_pause_reason);
  return pause;
}

Command ask_class_pauses() { return {"HGETALL", keys::brood_class_pauses}; }

ClassPauses read_class_pauses(ReplyView reply) {
  ClassPauses pauses;
  for (std::size_t i = 0; reply.is_array() && i + 1 < reply.size(); i += 2)
    pauses.emplace(reply[i].text(), ClassPause::read(reply[i + 1].text()));
  return pauses;
}

ScriptCall pause_class(std::string_view job_class, std::string_view reason,
                       std::optional<std::chrono::seconds> length) {
  return {&scripts::pause_class,
          {keys::brood_paused_classes, keys::brood_class_pauses},
          {std::string(job_class), length ? std::to_string(length->count()) : "0", std::string(reason)}};
}

ScriptCall unpause_class(std::string_view job_class) {
  return {&scripts::unpause_class, {keys::brood_paused_classes, keys::brood_class_pauses}, {std::string(job_class)}};
}

ScriptCall end_class_pause(std::string_view job_class, const ClassPause& as_read) {
  return {&scripts::end_class_pause,
          {keys::brood_paused_classes, keys::brood_class_pauses},
          {std::string(job_class), as_read.text, std::to_string(as_read.until.value_or(0))}};
}

}  // namespace brood
