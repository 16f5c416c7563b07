#include "shared/store/job_place.hpp"

#include "shared/store/keys.hpp"
#include "shared/store/script.hpp"

namespace brood {

namespace scripts {
extern const Script find_job, count_waiting;
}

namespace {

JobPlace::Kind kind_of(std::string_view name) {
  if (name == "waits") return JobPlace::Kind::waits;
  if (name == keys::schedule.name()) return JobPlace::Kind::schedule;
  if (name == keys::retry.name()) return JobPlace::Kind::retry;
  if (name == "quarantine") return JobPlace::Kind::quarantine;
  return name == keys::dead.name() ? JobPlace::Kind::dead : JobPlace::Kind::nowhere;
}

}  // namespace

Command find_job(std::string_view part_of_its_text) {
  const ScriptCall call{&scripts::find_job,
                        {keys::schedule, keys::retry, keys::dead, keys::brood_quarantined, keys::queue("*"),
                         keys::sequence("*"), keys::in_flight_hash("*:*")},
                        {std::string(part_of_its_text)}};
  return call.command();
}

JobPlace read_job_place(ReplyView reply) {
  JobPlace place{.kind = kind_of(reply[0].text())};
  if (reply.size() == 3) {
    place.member = reply[1].text();
    place.score_text = reply[2].text();
  }
  return place;
}

Command count_waiting_jobs() {
  const ScriptCall call{
      &scripts::count_waiting, {keys::queue("*"), keys::sequence("*"), keys::in_flight_hash("*:*")}, {}};
  return call.command();
}

std::size_t read_waiting_jobs(ReplyView reply) { return static_cast<std::size_t>(reply.integer()); }

}  // namespace brood
