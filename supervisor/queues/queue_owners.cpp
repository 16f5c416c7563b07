#include "supervisor/queues/queue_owners.hpp"

#include <algorithm>
#include <utility>

#include <brood/detail/read_arguments.hpp>

#include "shared/json/json_object.hpp"
#include "shared/redis/pace.hpp"
#include "shared/store/queues/known_queues.hpp"
#include "shared/store/report/heartbeat_hash.hpp"
#include "shared/store/report/process_list.hpp"
#include "shared/store/report/ruby_processes.hpp"
#include "shared/store/scan.hpp"

namespace brood {

using namespace std::chrono_literals;
using Results = std::vector<AsyncConnection::Result>;

namespace {

constexpr auto known_for = 5s;
constexpr auto known_for_of_each = 100ms;  // for each process: at most ten questions a second in all

std::vector<std::string> queues_in(std::string_view info) {
  std::vector<std::string> queues;
  try {
    const JsonObject object = JsonObject::parse(info);
    const auto raw = object.raw("queues");
    if (!raw) return {};
    detail::JsonReader reader(*raw);
    detail::read_value(reader, queues);
  } catch (const std::exception&) {  // not JSON: it names no queues
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

// A refusal counts as an answer: it would come again.
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
  if (known_at_ != SteadyTime{} && steady_now() - known_at_ < known_for + asked_ * known_for_of_each)
    return then(known_);
  redis_.send_all({ask_processes(), ask_owners()}, longest_answer_time, [this, then](const Results& results) {
    if (!is_answered(results)) return then(known_);
    const std::vector<std::string> listed = names_in(results[1]);
    std::set<std::string> broods{listed.begin(), listed.end()};
    broods.insert(own_);
    asked_ = 0;
    Asked asked;
    for (std::string& process : names_in(results[0])) {
      const bool is_brood = broods.contains(process);
      (is_brood ? asked.later : asked.now).push_back({std::move(process), is_brood});
    }
    ask_of(std::move(asked), {}, then);
  });
}

void QueueOwnersLook::ask_of(Asked asked, Found found, const Then& then) {
  std::vector<Command> commands;
  asked_ += static_cast<int>(asked.now.size());
  for (const Process& process : asked.now) commands.push_back(ask_info_and_quiet(process.identity));
  if (commands.empty()) return answer(std::move(found), then);
  redis_.send_all(commands, longest_answer_time,
                  [this, asked = std::move(asked), found = std::move(found), then](const Results& results) mutable {
                    if (!is_answered(results)) return then(known_);
                    for (std::size_t i = 0; i < results.size(); ++i) {
                      if (results[i].ok()) found.add(asked.now[i], results[i].reply.view());
                    }
                    // The queues of brood's processes matter only beside Ruby's.
                    if (found.rubys.empty()) asked.later.clear();
                    ask_of({std::move(asked.later), {}}, std::move(found), then);
                  });
}

void QueueOwnersLook::Found::add(const Process& process, ReplyView reply) {
  const auto told = read_info_and_quiet(reply);
  if (!told) return;
  auto ruby = read_ruby_process(process.identity, reply[0]);
  const bool is_ruby = ruby.has_value();
  if (ruby) rubys.push_back(std::move(*ruby));
  // A supervisor that was killed and recovered is no longer on brood's list, but its heartbeat stays for a minute: it
  // is not Ruby's.
  if (!is_ruby && !process.is_brood) return;
  // A quiet process schedules nothing any more.
  if (!told->quiet) owners.add(told->info, process.is_brood);
}

void QueueOwnersLook::answer(Found found, const Then& then) {
  known_ = std::move(found.owners);
  known_.set_oldest(oldest_release(found.rubys));
  known_at_ = steady_now();
  then(known_);
}

}  // namespace brood
