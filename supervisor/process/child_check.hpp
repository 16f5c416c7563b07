#pragma once

#include <functional>
#include <string>
#include <vector>

#include "shared/base/unique_fd.hpp"
#include "supervisor/process/children.hpp"

namespace brood {

// Tries something in a short-lived child, because it could harm its process: a job library may do anything when it is
// loaded, and so may another version of this program.
class ChildCheck {
 public:
  struct Settings {
    std::string title;           // of the process
    std::vector<int> keep = {};  // descriptors that stay open there
    std::string what;            // the thing that is tried, for people: "loading the job libraries"
  };
  // `refusal` is for people; empty if the check succeeded.
  using Done = std::function<void(const std::string& refusal)>;

  explicit ChildCheck(Children& children) : children_(children) {}

  // `body` writes its refusal, at most 4 KB, to the descriptor that it gets, and returns the exit status: 0 if it
  // succeeded.  Throws std::system_error if it cannot fork.  Only one check runs at a time.
  void begin(Settings settings, const std::function<int(int answer)>& body, Done done);
  // Ends the check; `done` is not called.
  void abandon();

 private:
  void ended(const Children::End& end);

  Children& children_;
  std::string what_;
  UniqueFd answer_;
  Done done_;
  Child child_;
};

}  // namespace brood
