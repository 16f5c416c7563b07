#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/cli/access/redis_access.hpp"
#include "supervisor/cli/arguments/verb.hpp"
#include "supervisor/cli/lists/quarantine_list.hpp"

namespace brood {

// The arguments of a command such as `brood locks`: the names after its verb.
struct NamesOrder {
  RedisAccess redis;
  std::vector<std::string> names;
  bool json = false;
  std::map<std::string, std::optional<std::string>> options = {};  // those of the command, by name: "--reason"
};

// An option of some verbs, which list it in Verb::takes.
struct NamesOption {
  std::string_view name, type, text;  // as in CommandLine::option()
};

// A command that does one of several things with names.
struct NamesCommand {
  std::string_view name;      // "locks", of `brood locks`
  std::string_view about;     // the start of its help: "Locks of unique jobs"
  std::string_view operands;  // as the help shows them: "[KEY...]"
  std::string_view footer;    // the end of its help
  std::vector<VerbFor<NamesOrder>> verbs;
  std::vector<NamesOption> options = {};  // beside --json and the options that name Redis
};

// Obeys `args`, the words after the name.  Returns the exit status; throws UsageError.
int obey(const NamesCommand& command, const std::vector<std::string>& args);

// Reports on standard error how many jobs could not be put back, with one reason.  Returns the exit status.
int say_refused(std::string_view command, const ReleasedJobs& done);

}  // namespace brood
