// quiet, resume, stop, restart, scale: what the supervisor of this machine is told, and waited for.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/identity.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/paths.hpp"
#include "shared/json/json.hpp"
#include "shared/json/json_object.hpp"
#include "shared/redis/connection.hpp"
#include "supervisor/cli/command_line.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/control_client.hpp"
#include "supervisor/cli/fleet.hpp"
#include "supervisor/cli/introduction.hpp"
#include "supervisor/cli/redis_access.hpp"
#include "supervisor/cli/terminal.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_silence = 60s;  // it says every ten seconds what it waits for
constexpr auto longest_exit = 10s;     // after its last word
constexpr auto longest_introduction = 1s;

constexpr const char* footer =
    R"(Exit status: 0 it is done; 69 no supervisor of this user runs here, or it does not answer; 75 not now: it is being
stopped, or another restart is under way.)";
constexpr const char* restart_footer =
    R"(Exit status: 0 all workers are new; 69 no supervisor of this user runs here, or it does not answer; 70 the new workers
failed and the old ones go on; 75 not now: it is quiet or being stopped; 78 the configuration or a job library was
refused and nothing has changed.)";

struct Order {
  std::string verb;
  std::vector<std::string> arguments = {};
  bool json = false;
  pid_t pid = 0;  // of the one that is meant; 0: the only one
  std::string instance = {};
};

void add_options(CommandLine& line, Order& order) {
  line.option("--pid", order.pid, "PID", "The supervisor that is meant, where several run");
  line.option("--instance", order.instance, "NAME", "The same, by the name that it was given");
  line.flag("--json", order.json, "Answer in JSON, for programs");
}

// Its option, and what is known of it; one that does not answer at once has only a pid or a name.
std::string choice(const LocalSupervisor& one) {
  const std::string option =
      one.instance.empty() ? fmt::format("--pid {}", one.pid) : "--instance " + log::printable(one.instance);
  try {
    const ControlAnswer answer = ask(one, "status", {}, longest_introduction);
    const std::string more = answer.ok ? introduction(JsonObject::parse(answer.text), wall_now()) : "";
    return more.empty() ? option : fmt::format("{} ({})", option, more);
  } catch (const NoAnswer&) {
    return option;
  } catch (const BadJson&) {
    return option;
  }
}

std::optional<LocalSupervisor> find_supervisor(const Order& order) {
  std::vector<LocalSupervisor> found = local_supervisors(runtime_directory());
  if (order.pid != 0) std::erase_if(found, [&](const LocalSupervisor& one) { return one.pid != order.pid; });
  if (!order.instance.empty())
    std::erase_if(found, [&](const LocalSupervisor& one) { return one.instance != order.instance; });
  if (found.empty()) return std::nullopt;
  if (found.size() == 1) return found.front();
  std::vector<std::string> choices;
  for (const LocalSupervisor& one : found) choices.push_back(choice(one));
  throw UsageError(fmt::format("several supervisors run here: say which one, {}", fmt::join(choices, " or ")));
}

int status_of(const JsonObject& answer) {
  const std::string outcome = answer.string("outcome").value_or("");
  if (outcome == "done") return exit_status::ok;
  if (outcome == "refused") return exit_status::configuration;
  return outcome == "rolled_back" ? exit_status::internal : exit_status::try_again;
}

std::string failure_text(const JsonObject& answer) {
  const std::string outcome = answer.string("outcome").value_or(""), reason = answer.string("reason").value_or("");
  if (outcome == "refused") return "refused, and nothing has changed: " + reason;
  if (outcome == "rolled_back") return "rolled back, and the old workers go on: " + reason;
  return "not now: " + reason;
}

void wait_until_gone(pid_t pid, std::uint64_t start_time) {
  const SteadyTime deadline = steady_now() + longest_exit;
  while (process_lives(pid, start_time) && steady_now() < deadline) std::this_thread::sleep_for(5ms);
}

using Ask = std::function<ControlAnswer(const LocalSupervisor&, const Order&,
                                        const std::function<void(const std::string&)>& progress)>;

ControlAnswer ask_once(const LocalSupervisor& supervisor, const Order& order,
                       const std::function<void(const std::string&)>& progress) {
  return ask(supervisor, order.verb, order.arguments, longest_silence, progress);
}

// `done` makes a sentence of the answer.
int give(const Order& order, const std::function<std::string(const JsonObject&)>& done, const Ask& ask = ask_once) {
  const auto complain = [&](const std::string& sentence, int status) {
    fmt::print(stderr, "brood {}: {}\n", order.verb, log::printable(sentence));
    return status;
  };
  const auto supervisor = find_supervisor(order);
  if (!supervisor) {
    if (order.json) print("null\n");
    return complain("no supervisor of this user runs on this machine", exit_status::unavailable);
  }
  const std::uint64_t start_time = process_start_time(supervisor->pid);
  const auto progress = [&](const std::string& sentence) {
    if (!order.json) fmt::print(stderr, "{}\n", log::printable(sentence));
  };
  try {
    const ControlAnswer answer = ask(*supervisor, order, progress);
    if (!answer.ok) return complain(answer.text, exit_status::unavailable);
    const JsonObject result = JsonObject::parse(answer.text);
    const int status = status_of(result);
    if (order.verb == "stop" && status == exit_status::ok) wait_until_gone(supervisor->pid, start_time);
    if (order.json) print_json(result.text() + "\n");
    if (status != exit_status::ok) return complain(failure_text(result), status);
    if (!order.json) print(log::printable(done(result)) + "\n");
    return status;
  } catch (const NoAnswer& none) {
    return complain(fmt::format("supervisor {}: {}", supervisor->pid, none.what()), exit_status::unavailable);
  } catch (const BadJson& bad) {
    return complain(fmt::format("supervisor {}: {}", supervisor->pid, bad.what()), exit_status::unavailable);
  }
}

std::string took(const JsonObject& answer) { return fmt::format("{:.1f}s", answer.number("took").value_or(0)); }

std::string still_finishing(const JsonObject& answer) {
  const std::int64_t finishing = answer.integer("finishing").value_or(0);
  if (finishing == 0) return "";
  return finishing == 1 ? "; 1 that was there before finishes its job"
                        : fmt::format("; {} that were there before finish their jobs", finishing);
}

std::string workers_text(const JsonObject& answer) {
  const std::int64_t workers = answer.integer("workers").value_or(0);
  return fmt::format("{} {}", workers, workers == 1 ? "worker" : "workers");
}

}  // namespace

int quiet_command(const std::vector<std::string>& args) {
  Order order{.verb = "quiet"};
  CommandLine line("Has the supervisor of this machine fetch no more jobs, and waits until none runs.", "brood quiet");
  add_options(line, order);
  line.footer(footer);
  refuse_arguments(line.parse(args));
  return give(order, [](const JsonObject& answer) { return "quiet: no job runs any more, after " + took(answer); });
}

int resume_command(const std::vector<std::string>& args) {
  Order order{.verb = "resume"};
  CommandLine line("Has the supervisor of this machine, after a quiet, fetch jobs again.", "brood resume");
  add_options(line, order);
  line.footer(footer);
  refuse_arguments(line.parse(args));
  return give(order, [](const JsonObject& answer) {
    return answer.string("before").value_or("") == "quiet" ? "running: jobs are fetched again"
                                                           : "running: it was not quiet";
  });
}

int stop_command(const std::vector<std::string>& args) {
  Order order{.verb = "stop"};
  bool now = false;
  CommandLine line("Stops the supervisor of this machine, and waits until it is gone.", "brood stop");
  line.flag("--now", now, "Wait for no running job: all go back to their queues");
  add_options(line, order);
  line.footer(footer);
  refuse_arguments(line.parse(args));
  if (now) order.arguments = {"now"};
  return give(order, [](const JsonObject& answer) { return "stopped, after " + took(answer); });
}

int restart_command(const std::vector<std::string>& args) {
  Order order{.verb = "restart"};
  CommandLine line("Reads configuration and job libraries anew and replaces the workers one after the other.",
                   "brood restart");
  add_options(line, order);
  line.footer(restart_footer);
  refuse_arguments(line.parse(args));
  return give(order, [](const JsonObject& answer) {
    return fmt::format("restarted: {} of generation {}, after {}{}", workers_text(answer),
                       answer.integer("generation").value_or(0), took(answer), still_finishing(answer));
  });
}

// The supervisor's words when its successor is about to begin, and then its connections end.
constexpr std::string_view last_words = "handing over";

ControlAnswer ask_the_successor(const Order& order, const std::function<void(const std::string&)>& progress) {
  const SteadyTime deadline = steady_now() + longest_exit;
  for (;;) {
    try {
      const auto successor = find_supervisor(order);
      if (successor) return ask(*successor, "await_restart", {}, longest_silence, progress);
      if (steady_now() >= deadline) throw NoAnswer("its successor is not there");
    } catch (const NoAnswer&) {
      if (steady_now() >= deadline) throw;
    }
    std::this_thread::sleep_for(10ms);
  }
}

int upgrade_command(const std::vector<std::string>& args) {
  Order order{.verb = "upgrade"};
  CommandLine line(
      "Lets the installed program take over from the running supervisor, in the same process, and then replaces the "
      "workers one after the other.",
      "brood upgrade");
  add_options(line, order);
  line.footer(restart_footer);
  refuse_arguments(line.parse(args));
  const Ask ask_both = [](const LocalSupervisor& supervisor, const Order& wish,
                          const std::function<void(const std::string&)>& progress) {
    bool handed_over = false;
    try {
      return ask(supervisor, wish.verb, wish.arguments, longest_silence, [&](const std::string& sentence) {
        handed_over = sentence == last_words;
        progress(sentence);
      });
    } catch (const NoAnswer&) {
      if (!handed_over) throw;
    }
    return ask_the_successor(wish, progress);
  };
  return give(
      order,
      [](const JsonObject& answer) {
        return fmt::format("upgraded: {} of generation {}, after {}{}", workers_text(answer),
                           answer.integer("generation").value_or(0), took(answer), still_finishing(answer));
      },
      ask_both);
}

// Those that are meant by an identity, or its beginning; all without one.
std::vector<std::string> fleet_meant(Connection& redis, const std::string& word) {
  std::vector<std::string> all = supervisors_that_beat(redis);
  if (std::find(all.begin(), all.end(), word) != all.end()) return {word};
  std::erase_if(all, [&](const std::string& identity) { return !identity.starts_with(word); });
  if (!word.empty() && all.size() > 1)
    throw UsageError(fmt::format("\"{}\" may be {}", log::printable(word), fmt::join(all, " or ")));
  return all;
}

// Through Redis nobody answers: what came of it is to be seen there.
int scale_fleet(const RedisAccess& access, const std::string& word, const Order& order) {
  Connection redis(access.locate(), {.connect = 3s, .command = 5s}, "brood-scale");
  const std::vector<std::string> meant = fleet_meant(redis, word);
  std::vector<std::string> asked;
  for (const std::string& identity : meant) {
    if (!send_word(redis, identity, {"scale", order.arguments})) continue;
    asked.push_back(json_string(identity));
    if (!order.json)
      print(fmt::format("{}: asked to scale {} to {}; it heeds that within seconds\n", log::printable(identity),
                        log::printable(order.arguments[1]), order.arguments[0]));
  }
  if (order.json) print_json(fmt::format("{{\"asked\":[{}]}}\n", fmt::join(asked, ",")));
  if (!asked.empty()) return exit_status::ok;
  fmt::print(stderr, "brood scale: no supervisor {}beats\n",
             word.empty() ? "" : fmt::format("\"{}\" ", log::printable(word)));
  return exit_status::unavailable;
}

int scale_command(const std::vector<std::string>& args) {
  Order order{.verb = "scale"};
  RedisAccess redis;
  std::string capsule = "default", process;
  bool all = false;
  CommandLine line("Changes the number of workers until the next restart: brood scale [CAPSULE=]N [OPTIONS]",
                   "brood scale");
  line.option("--capsule", capsule, "NAME", "The capsule that is meant (default: default)");
  line.option("--process", process, "IDENTITY",
              "A supervisor of any machine, asked through Redis; its beginning will do");
  line.flag("--all", all, "All supervisors of all machines, asked through Redis");
  add_options(line, order);
  redis.add_options(line);
  line.footer(restart_footer);
  const std::vector<std::string> words = line.parse(args);
  if (words.empty()) throw UsageError("the number of workers is missing");
  if (words.size() > 1) refuse_arguments({words[1]});
  // A name may hold anything but '='.
  const std::size_t sign = words[0].find('=');
  const std::string number = sign == std::string::npos ? words[0] : words[0].substr(sign + 1);
  if (sign != std::string::npos) capsule = words[0].substr(0, sign);
  int workers = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), workers);
  if (error != std::errc{} || end != number.data() + number.size() || workers < 1)
    throw UsageError(fmt::format("N must be a number of workers, at least 1, not \"{}\"", log::printable(number)));
  order.arguments = {number, capsule};
  const bool over_redis = all || !process.empty();
  if (all && !process.empty()) throw UsageError("--all and --process exclude each other");
  if (over_redis && (order.pid != 0 || !order.instance.empty()))
    throw UsageError("--pid and --instance are of this machine, --all and --process of all");
  if (!over_redis && !(redis.url.empty() && redis.config.empty()))
    throw UsageError("--redis and --config go with --all or --process");
  if (over_redis) return scale_fleet(redis, process, order);
  return give(order, [](const JsonObject& answer) {
    return fmt::format("scaled: {}, after {}{}", workers_text(answer), took(answer), still_finishing(answer));
  });
}

}  // namespace brood
