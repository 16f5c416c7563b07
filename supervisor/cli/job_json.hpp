#pragma once

#include <brood/api.hpp>
#include <string>

namespace brood {

// A job for programs: one JSON object, valid whatever its payload holds.  Members are added, never renamed or removed.
std::string job_json(const JobRecord& job, bool with_stack = false);
std::string job_json(const SetEntry& entry, bool with_stack = false);

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
