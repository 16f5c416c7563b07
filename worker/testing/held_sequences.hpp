#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "shared/store/holdings.hpp"

namespace brood::testing {

// The holders of sequences, as Redis would keep them: only the holder of a sequence may run.
class HeldSequences {
 public:
  // One search through the waiting jobs, from the first on.
  class Look {
   public:
    explicit Look(const HeldSequences& held) : held_(held) {}
    // Whether this job may begin: it holds its sequence, or the sequence is free and this job is the first of it.
    bool allows(std::string_view payload);

   private:
    const HeldSequences& held_;
    std::set<std::string> seen_;
  };

  void begin(std::string_view payload);  // the job holds its sequence from then on
  void end(std::string_view payload, JobEnding ending);

 private:
  std::map<std::string, std::string, std::less<>> holders_;  // name -> jid
};

}  // namespace brood::testing
