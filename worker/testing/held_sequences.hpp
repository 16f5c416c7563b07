#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "shared/store/holdings.hpp"

namespace brood::testing {

// Which job of each sequence may run, as Redis would keep it.
class HeldSequences {
 public:
  // For a look through jobs that wait, from the first on.
  class Look {
   public:
    explicit Look(const HeldSequences& held) : held_(held) {}
    // Whether this job may begin: it holds its sequence, or none holds it and this is the first of it.
    bool allows(std::string_view payload);

   private:
    const HeldSequences& held_;
    std::set<std::string> seen_;
  };

  void begin(std::string_view payload);  // it holds its sequence
  void end(std::string_view payload, JobEnding ending);

 private:
  std::map<std::string, std::string, std::less<>> holders_;  // name -> jid
};

}  // namespace brood::testing
