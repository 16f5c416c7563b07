#pragma once

#include <brood/api.hpp>
#include <string>

#include "shared/config/show_args.hpp"

namespace brood {

// The arguments (a JSON text) as programs may see them: unchanged, with null for each value, or null.
std::string told_args_json(const std::string& args, ShowArgs shows);

// A job for programs: one JSON object, valid whatever its payload contains.  Members are added, never renamed or
// removed.  Unless all arguments are shown, `payload` is null, and `args` is null or has null for each value.
std::string job_json(const JobRecord& job, bool with_stack = false, ShowArgs shows = ShowArgs::all);
std::string job_json(const SetEntry& entry, bool with_stack = false, ShowArgs shows = ShowArgs::all);

// The result of a push: the object of `brood enqueue --json`.
std::string push_json(const Push& push, const std::string& jid);
// The same for a job that was not pushed, because another job has its lock: `holder`, empty if unknown.
std::string refused_push_json(const Push& push, const std::string& holder);

// One JSON array on standard output.  Writes it element by element, since it may be of any length.
class JsonArray {
 public:
  void add(const std::string& element);
  void end();

 private:
  std::string waiting_ = "[";
  bool is_empty_ = true;
};

}  // namespace brood
