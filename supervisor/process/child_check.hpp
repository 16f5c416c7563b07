#pragma once

#include <functional>
#include <string>
#include <vector>

#include "shared/base/unique_fd.hpp"
#include "supervisor/process/children.hpp"

namespace brood {

// Tries something in a short-lived child, because it could harm the process that tries it: a job library may do
// anything when it is loaded, and so may another version of this program.
class ChildCheck {
 public:
  struct Settings {
    std::string title;           // of the process
    std::vector<int> keep = {};  // descriptors that stay open there
    std::string what;            // is tried, for people: "loading the job libraries"
  };
  // `refusal` is for people; empty: it went well.
  using Done = std::function<void(const std::string& refusal)>;

  explicit ChildCheck(Children& children) : children_(children) {}

  // `body` writes its refusal, 4 KB at most, to the descriptor that it gets, and returns the exit status: 0 when it
  // went well.  Throws std::system_error when it cannot fork.  One at a time.
  void begin(Settings settings, const std::function<int(int answer)>& body, Done done);
  // Ends it; `done` is not called.
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
