#include "supervisor/queues/queue_owners.hpp"

#include <algorithm>
#include <utility>

#include <brood/detail/read_arguments.hpp>

#include "shared/json/json_object.hpp"
#include "shared/redis/answer_time.hpp"
#include "shared/store/name_list.hpp"
#include "shared/store/queues/known_queues.hpp"
#include "shared/store/report/heartbeat_hash.hpp"
#include "shared/store/report/owners.hpp"
#include "shared/store/report/process_list.hpp"
#include "shared/store/report/ruby_processes.hpp"

namespace brood {

using namespace std::chrono_literals;
using Results = std::vector<AsyncConnection::Result>;

namespace {

constexpr auto known_for = 5s;

std::vector<std::string> queues_in(std::string_view info) {
  std::vector<std::string> queues;
  try {
    const JsonObject object = JsonObject::parse(info);
    const auto raw = object.raw("queues");
    if (!raw) return {};
    detail::JsonReader reader(*raw);
    detail::read_value(reader, queues);
  } catch (const std::exception&) {  // not JSON, whoever wrote it: it says nothing of queues
    return {};
  } catch (const detail::Misfit&) {
    return {};
  }
  return queues;
}

std::vector<std::string> names_in(const AsyncConnection::Result& result) {
  if (!result.ok()) return {};
  return read_name_list_if_told(result.reply.view()).value_or(std::vector<std::string>());
}

// A refusal is an answer too: it comes again.
bool is_answered(const Results& results) {
  return std::all_of(results.begin(), results.end(), [](const auto& result) { return result.error.empty(); });
}

}  // namespace

void QueueOwners::add(std::string_view info, bool is_brood) {
  for (std::string& queue : queues_in(info)) (is_brood ? broods_ : rubys_).insert(std::move(queue));
}

bool QueueOwners::are_ruby_alone(std::string_view queue) const {
  return rubys_.contains(queue) && !fetches_from(broods_, queue);
}

void QueueOwnersLook::look(const Then& then) {
  if (known_at_ != SteadyTime{} && steady_now() - known_at_ < known_for) return then(known_);
  redis_.send_all({ask_processes(), ask_owners()}, longest_answer_time, [this, then](const Results& results) {
    if (!is_answered(results)) return then(known_);
    const std::vector<std::string> listed = names_in(results[1]);
    std::set<std::string> broods{listed.begin(), listed.end()};
    broods.insert(own_);
    ask_of(names_in(results[0]), broods, then);
  });
}

void QueueOwnersLook::ask_of(const std::vector<std::string>& processes, const std::set<std::string>& broods,
                             const Then& then) {
  if (processes.empty()) return answer({}, then);
  std::vector<Command> commands;
  for (const std::string& process : processes) commands.push_back(ask_info_and_quiet(process));
  redis_.send_all(commands, longest_answer_time, [this, processes, broods, then](const Results& results) {
    if (!is_answered(results)) return then(known_);
    QueueOwners owners;
    std::vector<RubyProcess> rubys;
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!results[i].ok()) continue;
      const auto told = read_info_and_quiet(results[i].reply.view());
      if (!told) continue;
      if (auto ruby = read_ruby_process(processes[i], results[i].reply.view()[0])) rubys.push_back(std::move(*ruby));
      // A quiet process schedules nothing any more.
      if (!told->quiet) owners.add(told->info, broods.contains(processes[i]));
    }
    owners.set_oldest(oldest_release(rubys));
    answer(std::move(owners), then);
  });
}

void QueueOwnersLook::answer(QueueOwners owners, const Then& then) {
  known_ = std::move(owners);
  known_at_ = steady_now();
  then(known_);
}

}  // namespace brood
