#pragma once

#include <brood/api.hpp>
#include <string>

namespace brood {

// The verb for a change of jobs in three forms: "deletes", "deleting", "deleted".
struct ChangeWords {
  std::string does, doing, done;
};

struct Nouns {
  std::string command;    // "retries": the command that reports
  std::string one, many;  // "retry", "retries"
};

// Prints what was done and what was not.  Returns the exit status: 75 if something wanted was left undone.
int report(const BulkResult& result, const Nouns& nouns, const ChangeWords& words, bool json);

}  // namespace brood
