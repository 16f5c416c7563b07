#include "supervisor/cli/machine/supervisor_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <thread>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/identity.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/paths.hpp"
#include "shared/base/units.hpp"
#include "shared/json/json_object.hpp"
#include "supervisor/cli/commands.hpp"
#include "supervisor/cli/terminal/count_text.hpp"
#include "supervisor/cli/terminal/terminal.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto longest_introduction = 1s;
constexpr std::size_t most_queues = 5;

std::string queues_text(const JsonObject& status) {
  std::vector<std::string> queues;
  for (const std::string& name : json_elements(status.raw("queues").value_or("[]"))) {
    if (name.starts_with('"')) queues.push_back(log::printable(json_unescape(name)));
  }
  if (queues.empty()) return "";
  const std::size_t shown = std::min(queues.size(), most_queues);
  std::string text = fmt::format("{} {}", queues.size() == 1 ? "queue" : "queues",
                                 fmt::join(queues.begin(), queues.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  return shown == queues.size() ? text : text + fmt::format(" and {} more", queues.size() - shown);
}

// Describes one of several supervisors by its answer to "status": "tag shop; queues critical, default; 4 workers; up
// 3m". Leaves out what the answer lacks.
std::string introduction(const JsonObject& status, WallTime now) {
  std::vector<std::string> parts;
  if (const std::string tag = status.string("tag").value_or(""); !tag.empty())
    parts.push_back("tag " + log::printable(tag));
  if (std::string queues = queues_text(status); !queues.empty()) parts.push_back(std::move(queues));
  if (const auto workers = status.integer("concurrency"); workers && *workers >= 0)
    parts.push_back(counted(static_cast<std::uint64_t>(*workers), "worker", "workers"));
  if (const auto started_at = status.number("started_at")) {
    const auto up = std::chrono::seconds(static_cast<std::int64_t>(std::max(0.0, epoch_seconds(now) - *started_at)));
    parts.push_back("up " + duration_text(up));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

// The option that chooses this supervisor, with its description if it answers at once.
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

// Whether that supervisor was started with this configuration file.
bool goes_by(const LocalSupervisor& one, const std::string& file) {
  try {
    const ControlAnswer answer = ask(one, "status", {}, longest_introduction);
    const std::string config = answer.ok ? JsonObject::parse(answer.text).string("config").value_or("") : "";
    std::error_code not_there;
    return !config.empty() && (std::filesystem::absolute(file, not_there) == config ||
                               std::filesystem::equivalent(file, config, not_there));
  } catch (const NoAnswer&) {
    return false;
  } catch (const BadJson&) {
    return false;
  }
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

}  // namespace

const char* const order_footer =
    R"(Exit status: 0 it is done; 69 no supervisor of this user runs here, or it does not answer; 75 not now: it is being
stopped, or another restart is under way.)";
const char* const restart_footer =
    R"(Exit status: 0 all workers are new; 69 no supervisor of this user runs here, or it does not answer; 70 the new workers
failed and the old ones go on; 75 not now: it is quiet or being stopped; 78 the configuration or a job library was
refused and nothing has changed.)";
const char* const reopen_footer =
    R"(Exit status: 0 it is done; 69 no supervisor of this user runs here, or it does not answer; 75 the file cannot be opened,
and the old one is still used.)";

void SupervisorOrder::add_options(CommandLine& line) {
  add_options_but_config(line);
  line.option("-C,--config", config, "FILE", "Likewise, by the configuration file that it was started with");
}

void SupervisorOrder::add_options_but_config(CommandLine& line) {
  line.option("--pid", pid, "PID", "The supervisor, if several run");
  line.option("--instance", instance, "NAME", "Likewise, by its instance name");
  line.flag("--json", json, "Answer in JSON, for programs");
}

std::optional<LocalSupervisor> find_supervisor(const SupervisorOrder& order) {
  std::vector<LocalSupervisor> found = local_supervisors(runtime_directory());
  if (order.pid != 0) std::erase_if(found, [&](const LocalSupervisor& one) { return one.pid != order.pid; });
  if (!order.instance.empty())
    std::erase_if(found, [&](const LocalSupervisor& one) { return one.instance != order.instance; });
  if (!order.config.empty())
    std::erase_if(found, [&](const LocalSupervisor& one) { return !goes_by(one, order.config); });
  if (found.empty()) return std::nullopt;
  if (found.size() == 1) return found.front();
  std::vector<std::string> choices;
  for (const LocalSupervisor& one : found) choices.push_back(choice(one));
  throw UsageError(fmt::format("several supervisors run here: choose one, {}", fmt::join(choices, " or ")));
}

ControlAnswer ask_once(const LocalSupervisor& supervisor, const SupervisorOrder& order,
                       const std::function<void(const std::string&)>& progress) {
  return ask(supervisor, order.verb, order.arguments, longest_silence, progress);
}

int give(const SupervisorOrder& order, const std::function<std::string(const JsonObject&)>& done, const Ask& ask) {
  const auto complain = [&](const std::string& sentence, int status) {
    fmt::print(stderr, "brood {}: {}\n", order.verb, log::printable(sentence));
    return status;
  };
  const auto supervisor = find_supervisor(order);
  if (!supervisor) {
    if (order.json) print("null\n");
    return complain("no supervisor of this user" +
                        (order.config.empty() ? "" : " and with the configuration " + order.config) +
                        " runs on this machine",
                    exit_status::unavailable);
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
  return finishing == 1 ? "; 1 old worker finishes its job"
                        : fmt::format("; {} old workers finish their jobs", finishing);
}

std::string workers_text(const JsonObject& answer) {
  const std::int64_t workers = answer.integer("workers").value_or(0);
  return fmt::format("{} {}", workers, workers == 1 ? "worker" : "workers");
}

}  // namespace brood
