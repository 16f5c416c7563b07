#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

#include "shared/base/log_line.hpp"
#include "shared/json/json_writer.hpp"
#include "supervisor/cli/access/api_access.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/arguments/verb.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/jobs/job_text.hpp"
#include "supervisor/cli/lists/job_json.hpp"
#include "supervisor/cli/lists/process_json.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {
namespace {

struct ProcessesOrder {
  RedisAccess redis;
  std::vector<std::string> words;
  bool json = false;
};

std::string json_of(const Process& process) {
  JsonWriter json;
  return write_process(json, process, TellEmbedded::yes).object();
}

int list_processes(const ProcessesOrder& order) {
  refuse_arguments(order.words);
  Api api = open_api(order.redis);
  const std::vector<Process> processes = api.processes();
  if (order.json) {
    JsonArray array;
    for (const Process& process : processes) array.add(json_of(process));
    array.end();
    return exit_status::ok;
  }
  Table table({{"IDENTITY"},
               {"TAG"},
               {"STATE"},
               {"BUSY", Table::Align::right},
               {"QUEUES"},
               {"MEMORY", Table::Align::right},
               {"STARTED", Table::Align::right},
               {"BEAT", Table::Align::right}});
  for (const Process& process : processes)
    table.add({process.identity, process.tag, process.quiet ? "quiet" : "running",
               fmt::format("{}/{}", process.busy, process.concurrency),
               fmt::format("{}", fmt::join(process.queues, " ")), fmt::format("{} MB", process.rss_kb / 1024),
               when_text(process.started_at), when_text(process.beat)});
  print(table.empty() ? "No process has a heartbeat.\n" : table.text(Style::of_standard_output()));
  return exit_status::ok;
}

// The identity that `word` means: the identity itself, or a beginning that only one has, such as "host:pid".
std::string meant_by(const std::string& word, const std::vector<Process>& processes) {
  std::vector<std::string> found;
  for (const Process& process : processes) {
    if (process.identity == word) return word;
    if (process.identity.starts_with(word)) found.push_back(process.identity);
  }
  if (found.size() > 1)
    throw UsageError(fmt::format("\"{}\" may be {}", log::printable(word),
                                 log::printable(fmt::format("{}", fmt::join(found, " or ")))));
  return found.empty() ? "" : found.front();
}

using Ask = std::function<bool(const std::string& identity)>;

int ask_processes(const ProcessesOrder& order, Api& api, const Ask& ask, const char* what) {
  if (order.words.empty()) throw UsageError("the identity of the process is missing");
  const std::vector<Process> processes = api.processes();
  std::vector<std::string> meant;
  for (const std::string& word : order.words) meant.push_back(meant_by(word, processes));
  int status = exit_status::ok;
  JsonArray array;
  for (std::size_t i = 0; i < meant.size(); ++i) {
    const bool asked = !meant[i].empty() && ask(meant[i]);
    if (!asked) {
      status = exit_status::unavailable;
      fmt::print(stderr, "brood processes: {} \"{}\"\n",
                 meant[i].empty() ? "there is no process" : "orders are not accepted by",
                 log::printable(order.words[i]));
    }
    const std::string& name = meant[i].empty() ? order.words[i] : meant[i];
    if (order.json)
      array.add(JsonWriter().text("identity", name).truth("asked", asked).object());
    else if (asked)
      print(fmt::format("{}: ordered to {}; it follows with its next heartbeat\n", log::printable(name), what));
  }
  if (order.json) array.end();
  return status;
}

using Signal = bool (Api::*)(std::string_view identity);

int signal_processes(const ProcessesOrder& order, Signal signal, const char* what) {
  Api api = open_api(order.redis);
  return ask_processes(
      order, api, [&](const std::string& identity) { return (api.*signal)(identity); }, what);
}

int quiet_processes(const ProcessesOrder& order) { return signal_processes(order, &Api::quiet, "fetch no more jobs"); }
int stop_processes(const ProcessesOrder& order) { return signal_processes(order, &Api::stop, "stop"); }
// Sidekiq has no signal for this, so Ruby's processes cannot resume.
int resume_processes(const ProcessesOrder& order) { return signal_processes(order, &Api::resume, "fetch jobs again"); }
int dump_processes(const ProcessesOrder& order) { return signal_processes(order, &Api::dump, "log its stacks"); }

const std::vector<VerbFor<ProcessesOrder>>& process_verbs() {
  static const std::vector<VerbFor<ProcessesOrder>> all = {
      {{"list", "", "show them, including those of Ruby's Sidekiq", {}}, list_processes},
      {{"quiet", "IDENTITY...", "stop their fetching", {}}, quiet_processes},
      {{"resume", "IDENTITY...", "let them fetch again, if they are brood's", {}}, resume_processes},
      {{"stop", "IDENTITY...", "stop them", {}}, stop_processes},
      {{"dump", "IDENTITY...", "log the stacks of their jobs", {}}, dump_processes},
  };
  return all;
}

constexpr const char* processes_footer =
    R"(They are ordered through Redis, on any machine, and follow with their next heartbeat.  The supervisor of
this machine is reached at once by "brood quiet", "brood resume", "brood stop" and "brood dump".
A unique beginning of IDENTITY, such as HOST:PID, is enough.

Exit status: 0; 64 usage; 69 Redis is not available, or there is no such process.)";

}  // namespace

int processes_command(const std::vector<std::string>& args) {
  ProcessesOrder order;
  CommandLine line("The processes of a Redis: brood processes [VERB] [IDENTITY...] [OPTIONS]", "brood processes");
  const std::vector<Verb> says = only_verbs(process_verbs());
  line.flag("--json", order.json, "Answer in JSON, for programs");
  order.redis.add_options(line);
  line.footer(help_on("processes", says) + "\n" + processes_footer);
  order.words = line.parse(args);
  const std::size_t verb = take_verb(line, says, order.words);
  return process_verbs()[verb].obey(order);
}

}  // namespace brood
