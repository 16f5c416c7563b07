#pragma once

#include <string>
#include <vector>

namespace brood {

// The command line of this program, its own name first.  Every user of the machine may read it, and --redis may hold a
// password.

// Keeps these words, and makes `ps` show *** in place of a password.  Does the same in /proc/PID/environ for the
// variable with the Redis address.  Call it first of all.
void take_own_words(int argc, char** argv);

const std::vector<std::string>& own_words();

// For an exec of this program by itself.  While a HiddenAddress lives, `words` have no --redis with a password: the
// address is in the environment, which only our own user may read.  take_own_words() then puts it back among the words
// and wipes it from the environment.
class HiddenAddress {
 public:
  explicit HiddenAddress(std::vector<std::string>& words);
  ~HiddenAddress();
  HiddenAddress(const HiddenAddress&) = delete;
  HiddenAddress& operator=(const HiddenAddress&) = delete;

  // The variable, for an exec with another environment than ours; empty if nothing is hidden.
  const std::string& assignment() const { return assignment_; }

 private:
  std::string assignment_;
};

}  // namespace brood
