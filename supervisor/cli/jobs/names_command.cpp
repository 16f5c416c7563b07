#include "supervisor/cli/jobs/names_command.hpp"

#include <fmt/format.h>

#include "supervisor/cli/arguments/command_line.hpp"

namespace brood {

int obey(const NamesCommand& command, const std::vector<std::string>& args) {
  NamesOrder order;
  const std::string words = fmt::format("brood {}", command.name);
  CommandLine line(fmt::format("{}: {} [VERB] {} [OPTIONS]", command.about, words, command.operands), words);
  line.flag("--json", order.json, "Answer in JSON, for programs");
  for (const NamesOption& option : command.options)
    line.option(std::string(option.name), order.options[std::string(option.name)], std::string(option.type),
                std::string(option.text));
  order.redis.add_options(line);
  const std::vector<Verb> says = only_verbs(command.verbs);
  line.footer(fmt::format("{}\n{}", help_on(std::string(command.name), says), command.footer));
  order.names = line.parse(args);
  const std::size_t verb = take_verb(line, says, order.names);
  return command.verbs[verb].obey(order);
}

int say_refused(std::string_view command, const ReleasedJobs& done) {
  fmt::print(stderr, "brood {}: {}\n", command, refused_text(done));
  return exit_status::try_again;
}

}  // namespace brood
