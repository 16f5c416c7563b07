#include "shared/store/report/ruby_processes.hpp"

#include <algorithm>
#include <utility>

#include "shared/json/json_object.hpp"
#include "shared/store/name_list.hpp"
#include "shared/store/report/heartbeat_hash.hpp"
#include "shared/store/report/process_list.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;

constexpr auto ask_again = 60s;  // a process that died is listed for as long

std::vector<std::string> names(std::string_view array) {
  std::vector<std::string> read;
  for (const std::string& element : json_elements(array)) {
    if (element.starts_with('"')) read.push_back(json_unescape(element));
  }
  return read;
}

}  // namespace

std::optional<RubyProcess> read_ruby_process(std::string_view identity, ReplyView info) {
  if (!info.is_string()) return std::nullopt;
  try {
    const JsonObject told = JsonObject::parse(info.text());
    RubyProcess process{.identity = std::string(identity)};
    if (const auto version = told.string("version")) {
      const auto release = SidekiqRelease::parse(*version);
      if (!release) return std::nullopt;  // brood's own numbers are below Sidekiq's
      process.release = *release;
    }
    if (const auto queues = told.raw("queues"); queues && queues->starts_with('[')) process.queues = names(*queues);
    return process;
  } catch (const BadJson&) {
    return std::nullopt;
  }
}

std::vector<RubyProcess> ruby_processes(const AskRedis& ask) {
  const auto listed = read_name_list_if_told(ask({ask_processes()}).front().view());
  if (!listed || listed->empty()) return {};
  std::vector<Command> commands;
  for (const std::string& identity : *listed) commands.push_back(ask_info(identity));
  const std::vector<Reply> infos = ask(commands);
  std::vector<RubyProcess> processes;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (auto process = read_ruby_process((*listed)[i], infos[i].view())) processes.push_back(std::move(*process));
  }
  return processes;
}

std::optional<SidekiqRelease> FleetRelease::oldest(const AskRedis& ask) {
  const SteadyTime now = steady_now();
  if (asked_ && now - *asked_ < ask_again) return oldest_;
  asked_ = now;
  try {
    std::optional<SidekiqRelease> oldest;
    for (const RubyProcess& process : ruby_processes(ask))
      oldest = oldest ? std::min(*oldest, process.release) : process.release;
    oldest_ = oldest;
  } catch (const std::exception&) {  // a caller that needs Redis for more than this reports it
    asked_.reset();                  // nobody has said that no Ruby process lives
  }
  return oldest_;
}

}  // namespace brood
