#pragma once

#include <string>
#include <vector>

namespace brood {

// The words that this program was started with, its own name first.  Everybody on the machine may read them, and
// --redis may hold a password.

// Keeps these words, and makes `ps` show *** where a password stood.  The same goes for /proc/PID/environ and the
// variable that says where Redis is.  Call it before anything else.
void take_own_words(int argc, char** argv);

const std::vector<std::string>& own_words();

// For when this program executes itself.  While a HiddenAddress lives, `words` have no --redis with a password: the
// address travels in the environment, which only our own user may read.  take_own_words() puts it back among the words
// and wipes it in the environment.
class HiddenAddress {
 public:
  explicit HiddenAddress(std::vector<std::string>& words);
  ~HiddenAddress();
  HiddenAddress(const HiddenAddress&) = delete;
  HiddenAddress& operator=(const HiddenAddress&) = delete;

  // The variable, for an exec with another environment than ours; empty: nothing is hidden.
  const std::string& assignment() const { return assignment_; }

 private:
  std::string assignment_;
};

}  // namespace brood
