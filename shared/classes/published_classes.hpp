#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "shared/classes/published_class.hpp"

namespace brood {

// The job classes that the workers of all builds publish.  Two builds run during a rolling restart.  Pure.
class PublishedClasses {
 public:
  struct Build {
    std::string name;
    std::int64_t since = 0, seen = 0;  // epoch seconds: when its workers were first and last seen
    bool runs = false;                 // false: its workers have been gone for minutes
  };

  // Add those that run before those that are gone, each the newest first.  A document that cannot be used is left out,
  // and the reason is added to problems().
  void add(Build build, std::string document);

  // A class as the builds publish it, the newest first: those that run, or if none of these has it, those that are
  // gone.  Empty: no build has it.
  struct Said {
    Build build;
    PublishedClass known;
  };
  std::vector<Said> find(std::string_view job_class) const;

  std::vector<std::string> names() const;                              // sorted
  const std::set<std::string>& problems() const { return problems_; }  // each once

 private:
  struct Known {
    Build build;
    std::string document;
    std::map<std::string, std::string_view, std::less<>> classes;  // within the document
  };
  std::vector<std::unique_ptr<const Known>> builds_;
  mutable std::set<std::string> problems_;
};

// Whether a job of this class with these arguments, a JSON array, may be pushed.
struct PushVerdict {
  enum class Kind {
    fits,         // a worker of some build would take it
    unpublished,  // no worker publishes the class, and its name is near none
    misspelt,     // no worker publishes the class, and its name is near that of a published one
    wrong,        // workers of no build would take the arguments
  } kind = Kind::unpublished;
  std::string problem = {};                    // of misspelt and wrong: a sentence
  std::optional<PublishedClass> goes_by = {};  // of fits and wrong: the class in the newest build; encrypts if any does
  bool is_gone = false;                        // of fits and wrong: no running worker has the class
};
PushVerdict judge_push(const PublishedClasses& published, const std::string& job_class, std::string_view args);

}  // namespace brood
