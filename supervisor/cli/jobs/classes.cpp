// `brood classes`: the job classes that have run here, with their results, and the paused ones.

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/log_line.hpp"
#include "shared/base/nearest.hpp"
#include "shared/base/paths.hpp"
#include "shared/base/units.hpp"
#include "shared/json/json_writer.hpp"
#include "shared/store/queues/class_pauses.hpp"
#include "supervisor/cli/access/ask_published_classes.hpp"
#include "supervisor/cli/access/machine_status.hpp"
#include "supervisor/cli/access/redis_access.hpp"
#include "supervisor/cli/access/shard_connections.hpp"
#include "supervisor/cli/arguments/command_line.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/jobs/names_command.hpp"
#include "supervisor/cli/lists/class_list.hpp"
#include "supervisor/cli/lists/listing.hpp"
#include "supervisor/cli/lists/shown_class.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr int no_such_class = 1;

constexpr const char* classes_footer =
    R"(Runs, failures and crashes are those of this machine since its supervisors began.  While a class is paused, no worker of
any machine begins a job of it: fetched jobs wait aside, and running jobs go on.  unpause puts waiting jobs back to the
heads of their queues, and so do workers once the time of --until is over.  Ruby's Sidekiq ignores pauses, and performs
such jobs of queues that it serves.

show tells what the workers of each build publish; during a rolling restart there are two.  Pushes go by the newest.

Exit status: 0; 1 no worker publishes that class; 64 usage; 69 Redis is not available; 75 a job could not be put back to its queue.)";

ShardConnections connect_for_classes(const RedisAccess& access) {
  return ShardConnections(access, {.connect = 3s, .command = 5s}, "brood-classes");
}

const std::vector<std::string>& classes_named(const NamesOrder& order) {
  if (order.names.empty() || order.names.front().empty()) throw UsageError("the name of the class is missing");
  return order.names;
}

int list_all_classes(const NamesOrder& order) {
  refuse_arguments(order.names);
  const MachineStatus here = read_scoreboards(runtime_directory());
  ShardConnections shards = connect_for_classes(order.redis);
  const std::vector<ListedClass> classes = list_classes(shards, here.classes);
  if (order.json) {
    JsonArray array;
    for (const ListedClass& one : classes) array.add(class_json(one));
    array.end();
    return exit_status::ok;
  }
  using Align = Table::Align;
  Table table({{"CLASS"},
               {"RUNS", Align::right},
               {"FAILED", Align::right},
               {"CRASHED", Align::right},
               {"STATE"},
               {"WAITING", Align::right},
               {"REASON"}});
  for (const ListedClass& one : classes)
    table.add({log::printable(one.name), grouped(one.runs), grouped(one.failed), grouped(one.crashed),
               one.paused ? pause_text({.until = one.pause.until}) : "",
               one.paused ? grouped(static_cast<std::size_t>(one.waiting)) : "", log::printable(one.pause.reason)});
  print(table.empty() ? "No job has run on this machine, and no class is paused.\n"
                      : table.text(Style::of_standard_output()));
  return exit_status::ok;
}

std::string reason_given(const NamesOrder& order) {
  const std::string reason = order.options.at("--reason").value_or("");
  if (reason.size() > longest_pause_reason)
    throw UsageError(fmt::format("--reason has more than {} bytes", longest_pause_reason));
  return reason;
}

std::optional<std::chrono::seconds> length_given(const NamesOrder& order) {
  const std::optional<std::string>& text = order.options.at("--until");
  if (!text) return std::nullopt;
  const auto length = parse_duration(*text);
  if (!length || *length < 1s || *length > longest_class_pause)
    throw UsageError(fmt::format(
        "--until must be a duration of 1s to a year, such as \"30m\" or \"2h\": how long it is paused, not \"{}\"",
        log::printable(text->substr(0, 80))));
  return std::chrono::ceil<std::chrono::seconds>(*length);
}

int list_published(const PublishedClasses& published, bool json) {
  Table table({{"CLASS"}, {"QUEUE"}, {"RETRY"}, {"FIELDS"}, {"BUILDS", Table::Align::right}});
  JsonArray array;
  for (const std::string& name : published.names()) {
    const std::vector<PublishedClasses::Said> said = published.find(name);
    if (said.empty()) continue;
    if (json) {
      array.add(shown_class_json(said));
      continue;
    }
    const PublishedClass& known = said.front().known;
    table.add({name, known.queue, known.retry, signature_of(known).substr(name.size()), grouped(said.size())});
  }
  if (json)
    array.end();
  else
    print(table.empty() ? "No worker has published its job classes.\n" : table.text(Style::of_standard_output()));
  return exit_status::ok;
}

int say_unpublished(const std::string& name, const PublishedClasses& published) {
  const auto meant = nearest(name, published.names());
  fmt::print(stderr, "brood classes: no worker publishes a job class {}{}\n", log::printable(name),
             meant ? fmt::format("; did you mean \"{}\"?", log::printable(*meant)) : "");
  return no_such_class;
}

int show_published(const NamesOrder& order) {
  ShardConnections shards = connect_for_classes(order.redis);
  const PublishedClasses published = ask_published_classes(shards);
  int status = exit_status::ok;
  if (order.names.empty()) status = list_published(published, order.json);
  for (const std::string& name : order.names) {
    const std::vector<PublishedClasses::Said> said = published.find(name);
    if (said.empty())
      status = say_unpublished(name, published);
    else if (order.json)
      print_json(shown_class_json(said) + "\n");
    else
      print(shown_class_text(said, Style::of_standard_output()));
  }
  for (const std::string& problem : published.problems())
    fmt::print(stderr, "brood classes: {}\n", log::printable(problem));
  return status;
}

int pause_classes(const NamesOrder& order) {
  const std::vector<std::string>& names = classes_named(order);
  const std::string reason = reason_given(order);
  const auto length = length_given(order);
  ShardConnections shards = connect_for_classes(order.redis);
  for (const std::string& name : names) {
    const ClassPause pause = pause_class_of(shards, name, reason, length);
    if (order.json)
      print_json(JsonWriter()
                     .text("class", name)
                     .truth("paused", true)
                     .text_or_null("reason", pause.reason)
                     .number("until", pause.until)
                     .object() +
                 "\n");
    else
      print(fmt::format("{}: {}; running jobs go on\n", log::printable(name), pause_text({.until = pause.until})));
  }
  return exit_status::ok;
}

int unpause_classes(const NamesOrder& order) {
  const std::vector<std::string>& names = classes_named(order);
  ShardConnections shards = connect_for_classes(order.redis);
  int status = exit_status::ok;
  for (const std::string& name : names) {
    const ReleasedJobs done = unpause_class_of(shards, name);
    if (done.refused > 0) status = say_refused("classes", done);
    if (order.json)
      print_json(JsonWriter().text("class", name).truth("paused", false).number("released", done.released).object() +
                 "\n");
    else
      print(fmt::format("{}: goes on; {} put back\n", log::printable(name),
                        counted(static_cast<std::size_t>(done.released), "job", "jobs")));
  }
  return status;
}

}  // namespace

int classes_command(const std::vector<std::string>& args) {
  static const NamesCommand command = {
      "classes",
      "Job classes, and which of them are paused",
      "[CLASS...]",
      classes_footer,
      {{{"list", "", "show the classes that have run here, and those that are paused", {}}, list_all_classes},
       {{"show", "[CLASS...]", "show the options and fields that workers publish", {}}, show_published},
       {{"pause", "CLASS...", "stop workers from beginning their jobs", {"--reason", "--until"}}, pause_classes},
       {{"unpause", "CLASS...", "let them go on", {}}, unpause_classes}},
      {{"--reason", "TEXT", "Why, for whoever looks at its jobs"},
       {"--until", "DURATION", "Unpause them by themselves after this time (default: they wait for unpause)"}}};
  return obey(command, args);
}

}  // namespace brood
