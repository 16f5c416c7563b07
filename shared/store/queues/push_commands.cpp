#include "shared/store/queues/push_commands.hpp"

#include <iterator>
#include <random>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "shared/base/planted_bug.hpp"
#include "shared/redis/size_refusals.hpp"
#include "shared/store/keys.hpp"
#include "shared/store/tenants/tenants.hpp"

namespace brood {
namespace {

constexpr std::size_t most_bytes = bytes_always_taken, framing_bytes = 50;

}  // namespace

PushCommands::PushCommands(std::size_t batch_size)
    : queue_batch_(batch_size == 0 ? usual_push_batch : batch_size),
      register_queues_{"SADD", keys::queues},
      last_queue_(queues_.end()),
      schedule_{"ZADD", keys::schedule, batch_size == 0 ? usual_scheduled_batch : batch_size} {}

void PushCommands::Batches::add(std::string_view score_text, std::string payload) {
  // Only a single job that is too large makes a command that Redis refuses.
  if (commands.empty() || in_last == batch || bytes_in_last + payload.size() > most_bytes) {
    commands.push_back({verb, key});
    in_last = bytes_in_last = 0;
  }
  bytes_in_last += payload.size() + framing_bytes;
  if (!score_text.empty()) commands.back().add(score_text);
  commands.back().args.push_back(std::move(payload));
  ++in_last;
}

void PushCommands::add(const std::string& queue, std::string payload) {
  if (last_queue_ == queues_.end() || last_queue_->first != queue) {
    bool added = false;
    std::tie(last_queue_, added) = queues_.try_emplace(queue, Batches{"LPUSH", keys::queue(queue), queue_batch_});
    if (added) register_queues_.add(queue);
  }
  last_queue_->second.add("", std::move(payload));
}

void PushCommands::add_scheduled(std::string_view score_text, std::string payload) {
  schedule_.add(score_text, std::move(payload));
}

std::vector<Command> PushCommands::take() {
  std::vector<Command> commands;
  if (!queues_.empty()) commands.push_back(std::move(register_queues_));
  const auto move_from = [&](Batches& batches) {
    std::move(batches.commands.begin(), batches.commands.end(), std::back_inserter(commands));
  };
  for (auto& [name, batches] : queues_) move_from(batches);
  move_from(schedule_);
  std::vector<std::string> names;
  for (const auto& [name, batches] : queues_) names.push_back(name);
  for (Command& entrance : enter_tenants(names)) commands.push_back(std::move(entrance));
  return commands;
}

std::size_t jobs_in(const Command& push) {
  if (push.args.at(0) == "SADD" || is_entrance_of_tenants(push)) return 0;
  const std::size_t behind_key = push.args.size() - 2;
  return push.args[0] == "ZADD" ? behind_key / 2 : behind_key;  // each with its score
}

Command push_unregistered(std::string_view queue, std::string_view payload) {
  return {"LPUSH", keys::queue(queue), payload};
}

ScriptCall push_once(std::string_view client, std::uint64_t number, std::string_view queue,
                     std::vector<std::string> payloads) {
  const std::size_t each = queue.empty() ? 2 : 1;
  if (payloads.empty() || payloads.size() % each != 0 || payloads.size() / each > max_jobs_pushed_once)
    throw std::invalid_argument("push_once takes 1 to 500 jobs");
  ScriptCall call{&scripts::push_once, {keys::pushes(client)}, {std::to_string(number), "86400"}};
  if (queue.empty()) {
    call.keys.push_back(keys::schedule);
  } else {
    call.keys.push_back(keys::queue(queue));
    call.keys.push_back(keys::queues);
  }
  if (planted(PlantedBug::lost_push_is_pushed_twice))
    call.keys[0] = keys::pushes(std::to_string(std::random_device()()));
  for (std::string& payload : payloads) call.args.push_back(std::move(payload));
  return call;
}

Command push_aside(std::string_view queue) { return {"LPUSH", keys::laid_aside(queue)}; }

Command offer_laid_aside(std::string_view queue) { return {"RENAME", keys::laid_aside(queue), keys::queue(queue)}; }

Command drop_queues(const std::vector<std::string>& queues) {
  Command unlink{"UNLINK"};
  for (const std::string& queue : queues) unlink.add(keys::queue(queue)).add(keys::laid_aside(queue));
  return unlink;
}

}  // namespace brood
