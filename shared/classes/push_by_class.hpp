#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <brood/push.hpp>

#include "shared/classes/published_classes.hpp"

namespace brood {

// Which options a push itself sets.  All others come from its class.
struct SaidByPush {
  bool queue = false, retry = false;

  // For a push that Push::parse() reads from this JSON object.
  static SaidByPush of(std::string_view json);
};

// A push that was refused; what() is a sentence.
class PushRefused : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// One that does not fit what workers publish: an unchecked push is not refused.
class UnfitPush : public PushRefused {
 public:
  using PushRefused::PushRefused;
};

// Whether a Ruby Sidekiq fetches from this queue.  No worker publishes its classes.
using RubyServes = std::function<bool(const std::string& queue)>;

// Checks a push against the published classes, and gives it the options of its class that it does not set itself.  A
// name that is nearly that of a published class is refused, unless a Ruby Sidekiq fetches from its queue.  A payload
// that a client has made (it has `created_at`) is checked, and keeps its options.  With `unchecked` nothing is refused.
// Throws PushRefused.  Returns a warning, as a sentence, or an empty text.
std::string go_by_class(Push& push, const SaidByPush& said, const PublishedClasses& published,
                        const RubyServes& ruby_serves, bool unchecked = false);

// Why a periodic rule cannot run this class, which encrypts its last argument: a sentence.
std::string why_no_rule_encrypts(const std::string& job_class);

// Throws PushRefused if the class encrypts its last argument in the newest build.
void check_class_of_rule(const PublishedClasses& published, const std::string& job_class);

// Removes the members of a unique job.
void make_common(Push& push);

}  // namespace brood
