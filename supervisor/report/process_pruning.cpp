#include "supervisor/report/process_pruning.hpp"

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/log.hpp"
#include "shared/redis/pace.hpp"
#include "shared/store/report/heartbeat_hash.hpp"
#include "shared/store/report/process_list.hpp"
#include "shared/store/scan.hpp"
#include "supervisor/schedule/poll_interval.hpp"

namespace brood {

using namespace std::chrono_literals;
using Result = AsyncConnection::Result;

namespace {

constexpr auto pruning_interval = 1h;
constexpr std::size_t looked_at_once = 100;

// A refusal or a missing answer is left to the next hour.
template <typename Read>
auto or_give_up(Read read) {
  return [read = std::move(read)](const auto& answer) {
    try {
      read(answer);
    } catch (const UnexpectedReply& error) {
      log::warn("process_pruning_fails", {{"error", error.what()}});
    }
  };
}

}  // namespace

ProcessPruning::ProcessPruning(EventLoop& loop, AsyncConnection& redis)
    : redis_(redis), next_(loop, [this] { prune(); }) {}

void ProcessPruning::start() {
  std::mt19937_64 random{std::random_device{}()};
  next_.start_in(initial_wait({}, std::uniform_real_distribution<double>(0, 1)(random)));
}

void ProcessPruning::stop() {
  redis_.cancel();
  next_.stop();
}

void ProcessPruning::prune() {
  next_.start_in(pruning_interval);
  redis_.send(may_prune(), longest_answer_time, or_give_up([this](const Result& answer) {
                if (answer.ok() && read_may_prune(answer.reply.view())) scan(std::string(scan_begins));
              }));
}

void ProcessPruning::scan(const std::string& position) {
  redis_.send(NamePages::of_processes().ask(position, looked_at_once), longest_answer_time,
              or_give_up([this](const Result& answer) {
                if (!answer.ok()) return;
                const ScanPage page = read_scan(answer.reply.view());
                ask_of(read_name_list(page.found), page.next);
              }));
}

void ProcessPruning::ask_of(const std::vector<std::string>& identities, const std::string& next) {
  if (identities.empty()) {
    if (next != scan_begins) scan(next);
    return;
  }
  std::vector<Command> commands;
  for (const std::string& identity : identities) commands.push_back(ask_info(identity));
  redis_.send_all(commands, longest_answer_time, or_give_up([this, identities, next](const std::vector<Result>& infos) {
                    remove(identities, infos);
                    if (next != scan_begins && infos.back().error.empty()) scan(next);
                  }));
}

void ProcessPruning::remove(const std::vector<std::string>& identities, const std::vector<Result>& infos) {
  std::vector<std::string> ended;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (infos[i].ok() && heartbeat_has_ended(infos[i].reply.view())) ended.push_back(identities[i]);
  }
  if (ended.empty()) return;
  redis_.send(brood::unlist(ended), longest_answer_time, or_give_up([count = ended.size()](const Result& answer) {
                if (answer.ok()) log::info("processes_pruned", {{"count", count}});
              }));
}

void ProcessPruning::unlist(const std::string& identity) {
  const auto ignore = [](const std::vector<Result>&) {};
  redis_.send_all(remove_process(identity), longest_answer_time, ignore);
}

}  // namespace brood
