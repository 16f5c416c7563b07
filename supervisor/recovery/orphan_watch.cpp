#include "supervisor/recovery/orphan_watch.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/redis/pace.hpp"
#include "shared/store/in_flight/incarnation.hpp"
#include "shared/store/report/heartbeat_hash.hpp"
#include "shared/store/scan.hpp"
#include "supervisor/recovery/workers_left.hpp"

namespace brood {

using namespace std::chrono_literals;

namespace {

constexpr auto next_look_at_this_host = 2s;
constexpr auto list_is_read_again = 5min;  // though Redis has reported no change
constexpr std::size_t counted_at_once = 100;

// The value of one "name:value" line of INFO.
std::string info_line(std::string_view info, std::string_view name) {
  const std::string start = "\n" + std::string(name) + ":";
  const std::size_t at = info.find(start);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = info.substr(at + start.size());
  return std::string(rest.substr(0, rest.find_first_of("\r\n")));
}

}  // namespace

OrphanWatch::OrphanWatch(EventLoop& loop, AsyncConnection& redis, Identity own, LivingFields living_fields,
                         Listener& listener)
    : redis_(redis),
      own_(std::move(own)),
      judge_(own_,
             [this](const Identity& dead, const std::string& beat_token) {
               return has_left_files(dead, beat_token, own_.runtime_directory);
             }),
      living_fields_(std::move(living_fields)),
      listener_(listener),
      again_(loop, [this] { look(); }) {}

// After stop() answers are ignored.
template <typename Read>
void OrphanWatch::ask(const std::vector<Command>& commands, Read read) {
  redis_.send_all(commands, longest_answer_time, [this, read = std::move(read)](const Results& results) {
    looking_ = false;
    try {
      read(results);
    } catch (const UnexpectedReply& error) {
      forget_what_was_seen();
      log::warn("orphan_watch_failed", {{"error", error.what()}});
    }
  });
}

bool OrphanWatch::must_read_list() const {
  return changed_ || !is_told_ || steady_now() - list_read_ >= list_is_read_again ||
         !of_standing(SupervisorDeathJudge::Standing::suspected).empty();
}

void OrphanWatch::look() {
  if (looking_ || stopped_) return;
  looking_ = true;
  living_before_ = living_fields_();
  sightings_.clear();
  conversation_.clear();
  std::vector<Command> commands{ask_incarnations(own_.name)};
  const bool reads_list = must_read_list();
  if (reads_list) commands.push_back(ask_owner_records());
  changed_ = changed_ && !reads_list;
  ask(commands, [this](const Results& results) {
    // The connection itself logs that Redis is away.  Missing heartbeats must then be observed anew.
    if (!results.front().error.empty()) return forget_what_was_seen();
    if (results.front().ok()) report_orphan_fields(read_name_list(results.front().reply.view()));
    if (stopped_) return;
    if (results.size() > 1) {
      if (!results.back().error.empty()) return forget_what_was_seen();
      read_list(results.back().reply.view());
    }
    unasked_ = of_standing(SupervisorDeathJudge::Standing::beats);
    const auto next = std::ranges::upper_bound(unasked_, asked_last_, {}, &Identity::name);
    std::rotate(unasked_.begin(), next, unasked_.end());
    std::vector<Identity> suspects = of_standing(SupervisorDeathJudge::Standing::suspected);
    if (suspects.empty()) return ask_of_the_next();
    ask_of_each(std::move(suspects));
  });
}

void OrphanWatch::read_list(ReplyView records) {
  others_.clear();
  for (OwnerRecord& record : read_owner_records(records)) {
    if (record.name == own_.name) continue;
    if (record.identity)
      others_.push_back(std::move(*record.identity));
    else if (reported_records_.insert(record.name).second)
      // A later release may have written the record.  It is left alone.
      log::warn("process_record_not_understood", {{"identity", record.name}});
  }
  std::ranges::sort(others_, {}, &Identity::name);
  list_read_ = steady_now();
  if (asked_last_.empty()) asked_last_ = own_.name;
}

std::vector<Identity> OrphanWatch::of_standing(SupervisorDeathJudge::Standing standing) const {
  std::vector<Identity> found;
  std::ranges::copy_if(others_, std::back_inserter(found),
                       [&](const Identity& other) { return judge_.standing(other) == standing; });
  return found;
}

void OrphanWatch::ask_of_each(std::vector<Identity> asked) {
  // The client id changes with every connection and the run id with every start of Redis.
  std::vector<Command> commands{{"INFO", "server"}, {"CLIENT", "ID"}};
  for (const Identity& identity : asked) {
    commands.push_back(ask_whether_beats(identity.name));
    commands.push_back(ask_beat_token(identity.name));
  }
  looking_ = true;
  ask(commands, [this, asked = std::move(asked)](const Results& results) { read_each(asked, results); });
}

void OrphanWatch::read_each(const std::vector<Identity>& asked, const Results& results) {
  if (results[0].ok() && results[1].ok()) {
    const std::string run_id = info_line(results[0].reply.view().text(), "run_id");
    const std::string with = run_id.empty() ? "" : run_id + " " + std::to_string(results[1].reply.view().integer());
    if (!conversation_.empty() && with != conversation_) return forget_what_was_seen();
    conversation_ = with;
  }
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const AsyncConnection::Result &beats = results[2 * i + 2], &token = results[2 * i + 3];
    if (!beats.error.empty() || !token.error.empty()) return forget_what_was_seen();
    // A refused question, because of an access list for example, does not count as a missing heartbeat.
    sightings_.push_back(
        {asked[i], read_whether_beats(beats.reply.view()).value_or(true), read_beat_token(token.reply.view())});
  }
  ask_of_the_next();
}

// When one heartbeat is missing, others may be too: goes on with the next supervisors.
void OrphanWatch::ask_of_the_next() {
  if (unasked_.empty()) return end_look();
  const auto end = unasked_.begin() + static_cast<std::ptrdiff_t>(std::min(counted_at_once, unasked_.size()));
  std::vector<Identity> next(unasked_.begin(), end);
  unasked_.erase(unasked_.begin(), end);
  asked_last_ = next.back().name;
  std::vector<std::string> names;
  for (const Identity& identity : next) names.push_back(identity.name);
  looking_ = true;
  ask({ask_how_many_beat(names)}, [this, next = std::move(next)](const Results& results) {
    if (!results[0].error.empty()) return forget_what_was_seen();
    const std::optional<std::size_t> beating = read_how_many_beat(results[0].reply.view());
    if (!beating || *beating == next.size()) return end_look();
    ask_of_each(next);
  });
}

void OrphanWatch::end_look() {
  std::set<std::string> listed;
  for (const Identity& other : others_) listed.insert(other.name);
  bool one_of_this_host = false;
  for (const DeadSupervisor& dead : judge_.judge(sightings_, conversation_, steady_now())) {
    one_of_this_host |= dead.same_host;
    listener_.handle(dead, steady_now());
    if (stopped_) return;
  }
  listener_.end_look(listed, steady_now());
  if (one_of_this_host) again_.start_in(next_look_at_this_host);
}

void OrphanWatch::forget_what_was_seen() {
  changed_ = true;
  judge_.judge({}, "", steady_now());
}

void OrphanWatch::report_orphan_fields(const std::vector<std::string>& fields) const {
  // A field is an orphan if it was in use neither before the look nor after it.  A field that was in use before may
  // have been left in order since.  A field that is in use only now may have been registered during the look.
  const std::set<std::string> living_after = living_fields_();
  for (const std::string& field : fields) {
    if (stopped_) return;
    if (!living_before_.contains(field) && !living_after.contains(field)) listener_.handle_field(field);
  }
}

void OrphanWatch::stop() {
  stopped_ = true;
  redis_.cancel();
  again_.stop();
}

}  // namespace brood
