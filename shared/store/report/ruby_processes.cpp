#include "shared/store/report/ruby_processes.hpp"

#include <algorithm>
#include <chrono>
#include <unordered_set>
#include <utility>

#include "shared/json/json_object.hpp"
#include "shared/store/report/heartbeat_hash.hpp"
#include "shared/store/report/process_list.hpp"
#include "shared/store/scan.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds ask_again = 60s;  // a dead process stays listed that long
// No answer does not mean that no Ruby process lives, so ask again soon; but not so soon that a hanging Redis costs a
// second wait each time.
constexpr std::chrono::nanoseconds ask_a_lost_redis_again = 2s;
constexpr int share_of_waits = 5;

std::vector<std::string> names(std::string_view array) {
  std::vector<std::string> read;
  for (const std::string& element : json_elements(array)) {
    if (element.starts_with('"')) read.push_back(json_unescape(element));
  }
  return read;
}

bool is_broods(ReplyView info) try {
  if (!info.is_string()) return false;
  const auto version = JsonObject::parse(info.text()).string("version");
  return version && !SidekiqRelease::parse(*version);  // brood's own numbers are below Sidekiq's
} catch (const BadJson&) {
  return false;
}

}  // namespace

std::optional<RubyProcess> read_ruby_process(std::string_view identity, ReplyView info) {
  if (!info.is_string()) return std::nullopt;
  try {
    const JsonObject told = JsonObject::parse(info.text());
    RubyProcess process{.identity = std::string(identity)};
    if (const auto version = told.string("version")) {
      const auto release = SidekiqRelease::parse(*version);
      if (!release) return std::nullopt;  // a brood process
      process.release = *release;
    }
    if (const auto queues = told.raw("queues"); queues && queues->starts_with('[')) process.queues = names(*queues);
    return process;
  } catch (const BadJson&) {
    return std::nullopt;
  }
}

std::vector<Command> ask_who_may_be_ruby() { return {ask_processes(), ask_owners()}; }

std::optional<std::vector<std::string>> read_who_may_be_ruby(ReplyView processes, ReplyView broods) {
  auto listed = read_name_list_if_told(processes);
  if (!listed) return std::nullopt;
  const auto told = read_name_list_if_told(broods).value_or(std::vector<std::string>());
  const std::unordered_set<std::string_view> known(told.begin(), told.end());
  std::erase_if(*listed, [&](const std::string& identity) { return known.contains(identity); });
  return listed;
}

std::vector<RubyProcess> ruby_processes(const AskRedis& ask, std::set<std::string, std::less<>>* broods) {
  auto listed = read_name_list_if_told(ask({ask_processes()}).front().view());
  if (!listed) return {};
  if (broods) {
    const std::unordered_set<std::string_view> living(listed->begin(), listed->end());
    std::erase_if(*broods, [&](const std::string& identity) { return !living.contains(identity); });
    std::erase_if(*listed, [&](const std::string& identity) { return broods->contains(identity); });
  }
  if (listed->empty()) return {};
  std::vector<Command> commands;
  for (const std::string& identity : *listed) commands.push_back(ask_info(identity));
  const std::vector<Reply> infos = ask(commands);
  std::vector<RubyProcess> processes;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (auto process = read_ruby_process((*listed)[i], infos[i].view()))
      processes.push_back(std::move(*process));
    else if (broods && is_broods(infos[i].view()))
      broods->insert(std::move((*listed)[i]));
  }
  return processes;
}

std::optional<SidekiqRelease> oldest_release(const std::vector<RubyProcess>& processes) {
  const auto oldest = std::ranges::min_element(processes, {}, &RubyProcess::release);
  return oldest == processes.end() ? std::nullopt : std::optional(oldest->release);
}

TimeUnit times_beside(std::optional<SidekiqRelease> oldest) { return oldest ? oldest->time_unit() : usual_time_unit; }

std::optional<SidekiqRelease> FleetRelease::oldest(const AskRedis& ask) {
  const SteadyTime begun = steady_now();
  if (begun < asks_again_at_) return oldest_;
  asks_again_at_ = begun + ask_again;
  try {
    oldest_ = oldest_release(ruby_processes(ask, &broods_));
  } catch (const std::exception&) {  // a caller that needs Redis for more than this reports it
    const SteadyTime now = steady_now();
    asks_again_at_ =
        now + std::clamp<std::chrono::nanoseconds>(share_of_waits * (now - begun), ask_a_lost_redis_again, ask_again);
  }
  return oldest_;
}

}  // namespace brood
