#include "supervisor/report/process_pruning.hpp"

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/log.hpp"
#include "shared/redis/answer_time.hpp"
#include "shared/store/keys.hpp"
#include "supervisor/schedule/poll_interval.hpp"

namespace brood {

using namespace std::chrono_literals;
using Result = AsyncConnection::Result;

namespace {

constexpr auto pruning_interval = 1h;

// Whatever is refused or not answered is left to the next hour.
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

void ProcessPruning::prune() {
  next_.start_in(pruning_interval);
  redis_.send({"SET", keys::process_cleanup, "1", "NX", "EX", "60"}, longest_answer_time,
              or_give_up([this](const Result& answer) {
                if (answer.ok() && !answer.reply.view().is_nil()) scan("0");
              }));
}

void ProcessPruning::scan(const std::string& cursor) {
  redis_.send({"SSCAN", keys::processes, cursor, "COUNT", "100"}, longest_answer_time,
              or_give_up([this](const Result& answer) {
                if (!answer.ok()) return;
                const ReplyView page = answer.reply.view();
                std::vector<std::string> identities;
                for (std::size_t i = 0; i < page[1].size(); ++i) identities.emplace_back(page[1][i].text());
                ask_of(identities, std::string(page[0].text()));
              }));
}

void ProcessPruning::ask_of(const std::vector<std::string>& identities, const std::string& cursor) {
  if (identities.empty()) {
    if (cursor != "0") scan(cursor);
    return;
  }
  std::vector<Command> commands;
  for (const std::string& identity : identities) commands.push_back({"HGET", identity, "info"});
  redis_.send_all(commands, longest_answer_time,
                  or_give_up([this, identities, cursor](const std::vector<Result>& infos) {
                    remove(identities, infos);
                    if (cursor != "0" && infos.back().error.empty()) scan(cursor);
                  }));
}

void ProcessPruning::remove(const std::vector<std::string>& identities, const std::vector<Result>& infos) {
  Command remove{"SREM", keys::processes};
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (infos[i].ok() && infos[i].reply.view().is_nil()) remove.add(identities[i]);
  }
  const std::size_t count = remove.args.size() - 2;
  if (count == 0) return;
  redis_.send(remove, longest_answer_time, or_give_up([count](const Result& answer) {
                if (answer.ok()) log::info("processes_pruned", {{"count", count}});
              }));
}

void ProcessPruning::unlist(const std::string& identity) {
  const auto ignore = [](const std::vector<Result>&) {};
  redis_.send_all(
      {{"SREM", keys::processes, identity}, {"UNLINK", identity, keys::work(identity), keys::workers_of_6(identity)}},
      longest_answer_time, ignore);
}

}  // namespace brood
