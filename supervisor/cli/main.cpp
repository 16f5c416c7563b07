#include <fmt/format.h>

#include <exception>
#include <string>
#include <vector>

#include "shared/base/log_line.hpp"
#include "shared/base/nearest.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/companion.hpp"
#include "supervisor/cli/program.hpp"
#include "supervisor/cli/run_options.hpp"
#include "supervisor/process/own_words.hpp"
#include "supervisor/upgrade/caretaker.hpp"
#include "supervisor/upgrade/way_back.hpp"
#include "supervisor/version.hpp"

namespace brood {
namespace {

struct NamedCommand {
  std::string name, summary;
  int (*run)(const std::vector<std::string>& args);
};

const std::vector<NamedCommand>& commands() {
  static const std::vector<NamedCommand> all = {
      {"run", "run the supervisor and its workers",
       [](const std::vector<std::string>& args) { return run_command(parse_run_options(args)); }},
      {"enqueue", "put jobs on a queue, now or later", enqueue_command},
      {"status", "show processes, workers, crashes, queues and totals", status_command},
      {"show", "show where a job is, or how it ended", show_command},
      {"queues", "show, pause and clear queues and their jobs", queues_command},
      {"retries", "show failed jobs; run, kill, delete or reschedule them", retries_command},
      {"scheduled", "the same for jobs that are not yet due", scheduled_command},
      {"dead", "the same for jobs that will not be retried", dead_command},
      {"batches", "show, check, cancel and push batches of jobs", batches_command},
      {"quarantine", "show and release classes whose jobs wait because they crash", quarantine_command},
      {"classes", "show job classes, and pause them", classes_command},
      {"periodic", "show, run and pause periodic jobs", periodic_command},
      {"locks", "show, release and check the locks of unique jobs", locks_command},
      {"sequences", "show jobs that run one after the other, and delete those that wait", sequences_command},
      {"limits", "show and reset limits of concurrency and rate", limits_command},
      {"errors", "try the services that failures are reported to", errors_command},
      {"keys", "make a key for encrypted arguments", keys_command},
      {"processes", "show, quiet, resume and stop the processes of all machines", processes_command},
      {"mark", "mark a deploy in Sidekiq's metrics", mark_command},
      {"upgrade", "let the installed program take over from the running supervisor", upgrade_command},
      {"restart", "read the configuration again and replace the workers one after the other", restart_command},
      {"scale", "change the number of workers", scale_command},
      {"quiet", "fetch no more jobs", quiet_command},
      {"resume", "after a quiet: fetch jobs again", resume_command},
      {"stop", "stop the supervisor of this machine", stop_command},
      {"reopen", "reopen the log file", reopen_command},
      {"dump", "print the native stacks of this machine's workers", dump_command},
      {"kill", "end one running job", kill_command},
      {"cancel", "cancel a scheduled or an iterable job", cancel_command},
      {"perform", "perform one job in this terminal, also under a debugger", perform_command},
      {"replay", "the same for a job that has failed", replay_command},
      {"import", "translate Sidekiq's configuration into a brood.toml",
       [](const std::vector<std::string>& args) -> int { become_companion("brood-import", "import", args); }},
      {"schema", "print a JSON Schema of brood.toml, for editors", schema_command},
      {"new", "make a project with a job, a test and a unit", new_command},
      {"recover", "return the jobs in flight of dead supervisors", recover_command},
      {"web", "serve a page for browsers, metrics and an API",
       [](const std::vector<std::string>& args) -> int { become_companion("brood-web", "web", args); }},
      {"bench", "measure throughput, latency and cost on this machine",
       [](const std::vector<std::string>& args) -> int { become_companion("brood-bench", "bench", args); }},
  };
  return all;
}

std::string help() {
  std::string text =
      "Runs background jobs from Sidekiq's Redis data model in forked worker processes.\n\nUsage: brood COMMAND "
      "[OPTIONS]\n\nCommands:\n";
  for (const NamedCommand& command : commands()) text += fmt::format("  {:<11}{}\n", command.name, command.summary);
  return text + R"(
Examples:
  brood run -r ./libjobs.so -q critical -q default -c 8
  brood enqueue ResizeImage cat.png 320 --in 10m
  brood status

"brood help COMMAND" describes each.  Exit status: 0; 1 the answer is no; 64 usage; 69 unavailable; 70 internal;
75 try again; 78 configuration.
)";
}

[[noreturn]] void refuse_command(const std::string& word) {
  std::vector<std::string> known;
  for (const NamedCommand& command : commands()) known.push_back(command.name);
  const auto meant = nearest(word, known);
  const std::string shown = log::printable(word.substr(0, 80));
  throw UsageError(fmt::format("unknown {} \"{}\"{}", word.starts_with('-') ? "option" : "command", shown,
                               meant ? fmt::format("; did you mean \"{}\"?", *meant) : ""));
}

const NamedCommand& find_command(const std::string& word) {
  for (const NamedCommand& command : commands()) {
    if (command.name == word) return command;
  }
  refuse_command(word);
}

int obey(const std::vector<std::string>& words) {
  if (words.empty()) throw UsageError("a command is missing");
  const std::string& word = words[0];
  const bool wants_help = word == "-h" || word == "--help" || word == "help";
  if (wants_help && (words.size() == 1 || words[1] == "help" || words[1].starts_with('-'))) throw Answer{help()};
  if (wants_help) return find_command(words[1]).run({"--help"});
  if (word == "-V" || word == "--version") throw Answer{fmt::format("brood {}\n", version)};
  if (word == "names") return names_command({words.begin() + 1, words.end()});  // for completions, not for people
  return find_command(word).run({words.begin() + 1, words.end()});
}

std::string last_complaint;

int main_of(const std::vector<std::string>& words) {
  std::string name = "brood";
  for (const NamedCommand& command : commands()) {
    if (!words.empty() && words[0] == command.name) name += " " + command.name;
  }
  const Ending ending = run_to_ending([&] { return obey(words); });
  if (ending.complaint) {
    last_complaint = *ending.complaint;
    way_back::take(last_complaint);
  }
  return tell(name, ending);
}

}  // namespace
}  // namespace brood

int main(int argc, char** argv) {
  brood::begin_program(argc, argv);
  // argv may lack even the program's name.
  const std::vector<std::string> words(brood::own_words().begin() + (argc > 0 ? 1 : 0), brood::own_words().end());
  brood::way_back::open(brood::own_words());
  try {
    const int status = brood::main_of(words);
    return brood::way_back::is_open() ? brood::take_care_of_workers(brood::last_complaint, status) : status;
  } catch (const std::exception& error) {
    brood::way_back::take(error.what());
    return brood::tell("brood", {brood::exit_status::internal, error.what()});
  }
}
