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

}  // namespace

// Callbacks of commands under way hold it weakly: an answer that comes after the end finds nobody.
struct ProcessPruning::State : std::enable_shared_from_this<ProcessPruning::State> {
  State(EventLoop& loop, AsyncConnection& connection) : redis(connection), next(loop, [this] { prune(); }) {}

  AsyncConnection& redis;
  Timer next;

  void start() {
    std::mt19937_64 random{std::random_device{}()};
    next.start_in(initial_wait({}, std::uniform_real_distribution<double>(0, 1)(random)));
  }
  void prune();
  void scan(const std::string& cursor);
  void ask_of(std::vector<std::string> identities, const std::string& cursor);
  void remove(const std::vector<std::string>& identities, const std::vector<Result>& infos);

  // Whatever is refused or not answered is left to the next hour.
  template <typename Read>
  auto when_answered(Read read) {
    return [weak = weak_from_this(), read = std::move(read)](auto answer) {
      const std::shared_ptr<State> self = weak.lock();
      if (!self) return;
      try {
        read(*self, answer);
      } catch (const UnexpectedReply& error) {
        log::warn("process_pruning_fails", {{"error", error.what()}});
      }
    };
  }
};

void ProcessPruning::State::prune() {
  next.start_in(pruning_interval);
  redis.send({"SET", keys::process_cleanup, "1", "NX", "EX", "60"}, longest_answer_time,
             when_answered([](State& self, Result& answer) {
               if (answer.ok() && !answer.reply.view().is_nil()) self.scan("0");
             }));
}

void ProcessPruning::State::scan(const std::string& cursor) {
  redis.send({"SSCAN", keys::processes, cursor, "COUNT", "100"}, longest_answer_time,
             when_answered([](State& self, Result& answer) {
               if (!answer.ok()) return;
               const ReplyView page = answer.reply.view();
               std::vector<std::string> identities;
               for (std::size_t i = 0; i < page[1].size(); ++i) identities.emplace_back(page[1][i].text());
               self.ask_of(std::move(identities), std::string(page[0].text()));
             }));
}

void ProcessPruning::State::ask_of(std::vector<std::string> identities, const std::string& cursor) {
  if (identities.empty()) {
    if (cursor != "0") scan(cursor);
    return;
  }
  std::vector<Command> commands;
  for (const std::string& identity : identities) commands.push_back({"HGET", identity, "info"});
  redis.send_all(commands, longest_answer_time,
                 when_answered([identities, cursor](State& self, std::vector<Result>& infos) {
                   self.remove(identities, infos);
                   if (cursor != "0" && infos.back().error.empty()) self.scan(cursor);
                 }));
}

void ProcessPruning::State::remove(const std::vector<std::string>& identities, const std::vector<Result>& infos) {
  Command remove{"SREM", keys::processes};
  for (std::size_t i = 0; i < infos.size(); ++i) {
    if (infos[i].ok() && infos[i].reply.view().is_nil()) remove.add(identities[i]);
  }
  const std::size_t count = remove.args.size() - 2;
  if (count == 0) return;
  redis.send(remove, longest_answer_time, when_answered([count](State&, Result& answer) {
               if (answer.ok()) log::info("processes_pruned", {{"count", count}});
             }));
}

ProcessPruning::ProcessPruning(EventLoop& loop, AsyncConnection& redis)
    : state_(std::make_shared<State>(loop, redis)) {}

ProcessPruning::~ProcessPruning() { state_->next.stop(); }

void ProcessPruning::start() { state_->start(); }

void ProcessPruning::prune() { state_->prune(); }

void ProcessPruning::unlist(const std::string& identity) {
  const auto ignore = [](const std::vector<Result>&) {};
  state_->redis.send_all(
      {{"SREM", keys::processes, identity}, {"UNLINK", identity, keys::work(identity), keys::workers_of_6(identity)}},
      longest_answer_time, ignore);
}

}  // namespace brood
