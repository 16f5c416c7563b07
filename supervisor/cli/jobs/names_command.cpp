#include "supervisor/cli/jobs/names_command.hpp"

#include <fmt/format.h>

#include "shared/base/log_line.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/terminal/count_text.hpp"

namespace brood {

int obey(const NamesCommand& command, const std::vector<std::string>& args) {
  NamesOrder order;
  const std::string words = fmt::format("brood {}", command.name);
  CommandLine line(fmt::format("{}: {} [VERB] {} [OPTIONS]", command.about, words, command.operands), words);
  line.flag("--json", order.json, "Answer in JSON, for programs");
  order.redis.add_options(line);
  const std::vector<Verb> says = only_verbs(command.verbs);
  line.footer(fmt::format("{}\n{}", help_on(std::string(command.name), says), command.footer));
  order.names = line.parse(args);
  const std::size_t verb = take_verb(line, says, order.names);
  return command.verbs[verb].obey(order);
}

int say_refused(std::string_view command, std::int64_t refused, const std::string& why) {
  fmt::print(stderr, "brood {}: {} could not be put back and wait on: {}\n", command,
             counted(static_cast<std::size_t>(refused), "job", "jobs"), log::printable(why));
  return exit_status::try_again;
}

}  // namespace brood
