#include "supervisor/schedule/rule_classes.hpp"

namespace brood {

bool RuleClasses::look(const std::string* told, SteadyTime now, std::chrono::nanoseconds patience) {
  if (!since_) since_ = now;
  if (told != nullptr) {
    if (last_ == *told) return false;
    last_ = *told;
    return true;
  }
  if (are_known() || now - *since_ < patience) return false;
  gave_up_ = true;
  return true;
}

PublishedClasses RuleClasses::classes() const {
  PublishedClasses classes;
  if (last_) classes.add({.name = "present", .runs = true}, *last_);
  return classes;
}

}  // namespace brood
