#include "supervisor/recovery/orphan_watch.hpp"

#include <utility>

#include "shared/base/log.hpp"
#include "shared/redis/answer_time.hpp"
#include "shared/store/keys.hpp"
#include "supervisor/recovery/workers_left.hpp"

namespace brood {

using namespace std::chrono_literals;

namespace {

constexpr auto next_look_at_this_host = 2s;

// The value of one "name:value" line of INFO.
std::string info_line(std::string_view info, std::string_view name) {
  const std::string start = "\n" + std::string(name) + ":";
  const std::size_t at = info.find(start);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = info.substr(at + start.size());
  return std::string(rest.substr(0, rest.find_first_of("\r\n")));
}

}  // namespace

// Shared with the callbacks of commands under way, which hold it weakly: an answer that comes after the end finds
// nobody.
struct OrphanWatch::State : std::enable_shared_from_this<OrphanWatch::State> {
  State(EventLoop& loop, AsyncConnection& connection, Identity self, LivingFields fields, Heir& taker)
      : redis(connection),
        own(std::move(self)),
        judge(own,
              [this](const Identity& dead, const std::string& beat_token) {
                return has_left_files(dead, beat_token, own.runtime_directory);
              }),
        living_fields(std::move(fields)),
        heir(taker),
        again(loop, [this] { look(); }) {}

  AsyncConnection& redis;
  const Identity own;
  SupervisorDeathJudge judge;
  const LivingFields living_fields;
  Heir& heir;
  Timer again;
  bool looking = false, stopped = false;
  std::set<std::string> living_before;     // when the look was sent
  std::set<std::string> reported_records;  // brood:processes entries that we cannot read

  void look();
  void read_processes(const std::vector<AsyncConnection::Result>& results);
  void read_heartbeats(std::vector<SupervisorDeathJudge::Sighting> sightings,
                       const std::vector<AsyncConnection::Result>& results);
  void report_orphan_fields(ReplyView fields) const;
  std::vector<SupervisorDeathJudge::Sighting> identities(ReplyView processes);
  void forget_what_was_seen() { judge.judge({}, "", steady_now()); }

  template <typename Read>
  void ask(const std::vector<Command>& commands, Read read) {
    redis.send_all(commands, longest_answer_time,
                   [weak = weak_from_this(), read = std::move(read)](std::vector<AsyncConnection::Result> results) {
                     const std::shared_ptr<State> self = weak.lock();
                     if (!self || self->stopped) return;
                     self->looking = false;
                     try {
                       read(*self, results);
                     } catch (const UnexpectedReply& error) {
                       self->forget_what_was_seen();
                       log::warn("orphan_watch_failed", {{"error", error.what()}});
                     }
                   });
  }
};

void OrphanWatch::State::look() {
  if (looking || stopped) return;
  looking = true;
  living_before = living_fields();
  ask({{"HGETALL", keys::brood_processes}, {"HKEYS", keys::in_flight_hash(own.name)}},
      [](State& self, const auto& results) { self.read_processes(results); });
}

void OrphanWatch::State::read_processes(const std::vector<AsyncConnection::Result>& results) {
  // Redis away is said by the connection itself; what had been seen missing must be seen anew.
  if (!results[0].error.empty()) return forget_what_was_seen();
  if (results[1].ok()) report_orphan_fields(results[1].reply.view());
  if (stopped) return;

  std::vector<SupervisorDeathJudge::Sighting> sightings = identities(results[0].reply.view());
  if (sightings.empty()) {
    forget_what_was_seen();
    return heir.end_look({});
  }
  // The client id changes with every connection and the run id with every start of Redis.
  std::vector<Command> commands{{"INFO", "server"}, {"CLIENT", "ID"}};
  for (const SupervisorDeathJudge::Sighting& sighting : sightings) {
    commands.push_back({"EXISTS", sighting.identity.name});
    commands.push_back({"HGET", sighting.identity.name, keys::beat_token_field});
  }
  looking = true;
  ask(commands, [sightings = std::move(sightings)](State& self, const auto& results) {
    self.read_heartbeats(sightings, results);
  });
}

void OrphanWatch::State::read_heartbeats(std::vector<SupervisorDeathJudge::Sighting> sightings,
                                         const std::vector<AsyncConnection::Result>& results) {
  std::string conversation;
  if (results[0].ok() && results[1].ok()) {
    const std::string run_id = info_line(results[0].reply.view().text(), "run_id");
    if (!run_id.empty()) conversation = run_id + " " + std::to_string(results[1].reply.view().integer());
  }
  for (std::size_t i = 0; i < sightings.size(); ++i) {
    const AsyncConnection::Result &exists = results[2 * i + 2], &token = results[2 * i + 3];
    if (!exists.error.empty() || !token.error.empty()) return forget_what_was_seen();
    // Refused (by an access list, say): not seen missing.
    sightings[i].has_heartbeat = !exists.ok() || exists.reply.view().integer() != 0;
    if (token.ok() && !token.reply.view().is_nil()) sightings[i].beat_token = token.reply.view().text();
  }

  std::set<std::string> listed;
  for (const SupervisorDeathJudge::Sighting& sighting : sightings) listed.insert(sighting.identity.name);
  bool one_of_this_host = false;
  for (const DeadSupervisor& dead : judge.judge(sightings, conversation, steady_now())) {
    one_of_this_host |= dead.same_host;
    heir.handle(dead, steady_now());
    if (stopped) return;
  }
  heir.end_look(listed);
  if (one_of_this_host) again.start_in(next_look_at_this_host);
}

void OrphanWatch::State::report_orphan_fields(ReplyView fields) const {
  // A field named before the look may have been left in order since, and one named only now may have been registered
  // while the look was under way: an orphan is named by nobody at either time.
  const std::set<std::string> living_after = living_fields();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string field(fields[i].text());
    if (stopped) return;
    if (!living_before.contains(field) && !living_after.contains(field)) heir.handle_field(field);
  }
}

std::vector<SupervisorDeathJudge::Sighting> OrphanWatch::State::identities(ReplyView processes) {
  std::vector<SupervisorDeathJudge::Sighting> sightings;
  for (std::size_t i = 0; i + 1 < processes.size(); i += 2) {
    SupervisorDeathJudge::Sighting sighting;
    const std::string name(processes[i].text());
    if (name == own.name) continue;
    if (Identity::parse(name, std::string(processes[i + 1].text()), sighting.identity)) {
      sightings.push_back(std::move(sighting));
    } else if (reported_records.insert(name).second) {
      // Perhaps a later release's: what is not understood is not taken over.
      log::warn("process_record_not_understood", {{"identity", name}});
    }
  }
  return sightings;
}

OrphanWatch::OrphanWatch(EventLoop& loop, AsyncConnection& redis, Identity own, LivingFields living_fields, Heir& heir)
    : state_(std::make_shared<State>(loop, redis, std::move(own), std::move(living_fields), heir)) {}

OrphanWatch::~OrphanWatch() { stop(); }

void OrphanWatch::look() { state_->look(); }

void OrphanWatch::stop() {
  state_->stopped = true;
  state_->again.stop();
}

}  // namespace brood
