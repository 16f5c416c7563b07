#pragma once

#include <brood/api.hpp>
#include <string>

namespace brood {

// A job for programs: one JSON object, valid whatever its payload holds.  Members are added, never renamed or removed.
// Without its arguments `args` and `payload` are null.
enum class WithArgs { no, yes };
std::string job_json(const JobRecord& job, bool with_stack = false, WithArgs with_args = WithArgs::yes);
std::string job_json(const SetEntry& entry, bool with_stack = false, WithArgs with_args = WithArgs::yes);

// What a push has come to: the object of `brood enqueue --json`.
std::string push_json(const Push& push, const std::string& jid);
// Of one that is not pushed, as another job holds its lock: `holder`, where it is known.
std::string refused_push_json(const Push& push, const std::string& holder);

// One JSON array on standard output, written element by element: it may be of any length.
class JsonArray {
 public:
  void add(const std::string& element);
  void end();

 private:
  std::string waiting_ = "[";
  bool is_empty_ = true;
};

}  // namespace brood
