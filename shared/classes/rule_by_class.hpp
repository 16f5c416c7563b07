#pragma once

#include <string>
#include <string_view>

#include <brood/push.hpp>

#include "shared/classes/push_by_class.hpp"
#include "shared/json/json_object.hpp"

namespace brood {

// Whether an option of a class needs a push.  A tick takes no lock of a unique job and encrypts nothing.
bool needs_a_push(std::string_view member);

// A rule that is added at run time, a JSON object as read_periodic_rule() reads it, as the push that go_by_class()
// checks and gives the options of its class.  Pure.
struct RuleAsPush {
  Push push;
  SaidByPush said;
};
RuleAsPush rule_as_push(const JsonObject& rule);

// The rule with the options that its push got from the class, without those that need a push.
std::string with_class_options(const JsonObject& rule, const RuleAsPush& by_class);

}  // namespace brood
