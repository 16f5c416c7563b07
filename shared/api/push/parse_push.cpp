#include <brood/push.hpp>

#include <cmath>
#include <stdexcept>

#include <brood/detail/read_arguments.hpp>

#include "shared/job/number_member.hpp"

namespace brood {
namespace {

template <typename Value>
Value read_member(const std::string& name, std::string_view json) {
  Value value{};
  detail::JsonReader reader(json);
  try {
    detail::read_value(reader, value);
  } catch (const detail::Misfit& misfit) {
    throw std::invalid_argument(name + ": " + misfit.problem);
  }
  return value;
}

YesNoOrCount read_retry(std::string_view json) {
  if (json == "true") return true;
  if (json == "false") return false;
  return read_member<std::uint16_t>("retry", json);
}

std::chrono::system_clock::time_point read_time(std::string_view json) {
  const auto seconds = read_member<double>("at", number_text(json).value_or(json));
  // The range of a nanosecond clock, with a margin.
  if (std::fabs(seconds) > 9e9)
    throw std::invalid_argument("at: " + std::string(json) + " is no time in epoch seconds");
  return std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(std::chrono::duration<double>(seconds)));
}

}  // namespace

Push Push::parse(std::string_view json) {
  Push push;
  bool has_class = false, has_args = false;
  detail::JsonReader reader(json);
  if (reader.peek() != '{') throw std::invalid_argument("a push is a JSON object with class and args");
  reader.each_member([&](const std::string& name) {
    const std::string_view value = reader.skip_value();
    if (name == "class") {
      push.job_class = read_member<std::string>(name, value);
      has_class = true;
    } else if (name == "args") {
      push.args = value;
      has_args = true;
    } else if (name == "queue") {
      push.queue = read_member<std::string>(name, value);
    } else if (name == "jid") {
      push.jid = read_member<std::string>(name, value);
      if (push.jid.empty()) throw std::invalid_argument("the jid is empty");
    } else if (name == "retry") {
      push.retry = read_retry(value);
    } else if (name == "at") {
      push.at = read_time(value);
    } else if (name != "enqueued_at" && name != "unique_lock") {  // every push writes its own
      push.members.emplace_back(name, value);
    }
  });
  reader.expect_end();
  if (!has_class) throw std::invalid_argument("a push has no class");
  if (!has_args) throw std::invalid_argument("a push has no args");
  return push;
}

}  // namespace brood
