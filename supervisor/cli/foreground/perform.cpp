#include <fmt/format.h>

#include <brood/push.hpp>
#include <iostream>
#include <iterator>
#include <optional>
#include <stdexcept>

#include "shared/api/push/push_writer.hpp"
#include "shared/base/clock.hpp"
#include "shared/base/log_line.hpp"
#include "shared/job/payload.hpp"
#include "shared/json/json.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/foreground/foreground.hpp"
#include "supervisor/cli/jobs/job_arguments.hpp"

namespace brood {
namespace {

constexpr const char* perform_examples = R"(Examples:
  brood perform ResizeImage cat.png 320 -r ./libjobs.so
  brood perform ResizeImage cat.png 320 -r ./libjobs.so --gdb
  brood perform --payload '{"class":"ResizeImage","args":["cat.png",320]}' -r ./libjobs.so

An argument that parses as JSON is that value, else a string.  Put words that begin with "-" after "--".

)";

struct PerformOptions {
  std::string config;
  std::optional<std::string> payload, jid, queue;
  std::optional<int> crash_record;
  JobArguments arguments;
  Foreground foreground;
};

std::string payload_of_words(const PerformOptions& options, const std::vector<std::string>& words) {
  if (words.empty()) throw UsageError("the class of the job is missing");
  Push push;
  push.job_class = words[0];
  push.args = options.arguments.json({words.begin() + 1, words.end()});
  if (options.queue) push.queue = *options.queue;
  if (options.jid) push.jid = *options.jid;
  return prepare_push(push, wall_now()).payload;
}

std::string given_payload(const PerformOptions& options, const std::vector<std::string>& words) {
  if (!words.empty() || options.arguments.array || options.arguments.all_strings)
    throw UsageError("--payload takes the place of the class and of all arguments");
  std::string text = *options.payload;
  if (text == "-") text.assign(std::istreambuf_iterator<char>(std::cin), {});
  try {
    std::vector<Payload::Edit> edits;
    if (options.jid) edits.push_back({"jid", json_string(*options.jid)});
    if (options.queue) edits.push_back({"queue", json_string(*options.queue)});
    return Payload::parse(text).with(edits).text();
  } catch (const BadPayload& bad) {
    throw UsageError(std::string("the payload is not a job: ") + log::printable(bad.what()));
  }
}

}  // namespace

int perform_command(const std::vector<std::string>& args) {
  PerformOptions options;
  options.foreground.command = "perform";
  CommandLine line("Performs one job in this terminal, without Redis: brood perform CLASS [ARGUMENT...] [OPTIONS]",
                   "brood perform");
  options.foreground.add_options(line);
  options.arguments.add_options(line);
  line.option("--payload", options.payload, "JSON",
              "The whole payload in place of class and arguments; - for standard input");
  line.option("-q,--queue", options.queue, "NAME", "The queue that it sees as its own (default: default)");
  line.option("--jid", options.jid, "JID", "Job id (default: 24 random hex digits)");
  line.option("-C,--config", options.config, "FILE",
              "Configuration file (default: /etc/brood/brood.toml, if there is one)");
  line.hidden("--crash-record", options.crash_record);  // a crashing brood executes itself with this; not for people
  line.footer(std::string(perform_examples) + foreground_footer);

  const std::vector<std::string> words = line.parse(args);
  if (options.crash_record) return Foreground::tell_of_crash(*options.crash_record);
  if (options.foreground.debugger.wanted() && options.payload == "-")
    throw UsageError("--payload - excludes a debugger, which needs standard input");
  try {
    const std::string payload = options.payload ? given_payload(options, words) : payload_of_words(options, words);
    options.foreground.enter_debugger(args);
    const std::string queue = Payload::parse(payload).string("queue").value_or("default");
    return options.foreground.perform(options.foreground.configuration(options.config), payload, queue);
  } catch (const std::invalid_argument& error) {
    throw UsageError(log::printable(error.what()));
  }
}

}  // namespace brood
