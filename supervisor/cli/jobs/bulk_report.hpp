#pragma once

#include <brood/api.hpp>
#include <string>

namespace brood {

// What happens to jobs, in words: "deletes", "deleting", "deleted".
struct ChangeWords {
  std::string does, doing, done;
};

struct Nouns {
  std::string command;    // "retries": the command that complains
  std::string one, many;  // "retry", "retries"
};

// Prints what was done and what was not.  Returns the exit status: 75 when something that was wanted is left undone.
int report(const BulkResult& result, const Nouns& nouns, const ChangeWords& words, bool json);

}  // namespace brood
