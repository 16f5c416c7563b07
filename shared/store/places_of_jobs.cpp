#include "shared/store/places_of_jobs.hpp"

#include <utility>

#include "shared/store/keys.hpp"
#include "shared/store/scan.hpp"

namespace brood {

namespace {

PlaceOfJobs place_of_queue(std::string_view queue, const std::string& home = "") {
  return {.kind = PlaceOfJobs::Kind::queue, .key = keys::queue(queue), .queue = std::string(queue), .home = home};
}

}  // namespace

std::vector<PlaceOfJobs> sets_of_waiting_jobs() {
  return {{.kind = PlaceOfJobs::Kind::schedule, .key = keys::schedule},
          {.kind = PlaceOfJobs::Kind::retry, .key = keys::retry},
          {.kind = PlaceOfJobs::Kind::quarantine, .key = keys::brood_quarantined}};
}

PlaceOfJobs place_of_dead_jobs() { return {.kind = PlaceOfJobs::Kind::dead, .key = keys::dead}; }

void for_each_place_of_jobs(Channel& redis, const std::function<void(const PlaceOfJobs&)>& look) {
  const std::vector<PlaceOfJobs> sets = sets_of_waiting_jobs();
  for (const PlaceOfJobs& set : sets) look(set);
  const std::size_t before_name = keys::queue("").name().size();
  const auto look_at_sequences = [&] {
    const std::size_t before_its_name = keys::sequence("").name().size();
    for_each_key(redis, keys::sequence("*"), "list", [&](const std::string& key) {
      look({.kind = PlaceOfJobs::Kind::sequence, .key = RedisKey(key), .sequence = key.substr(before_its_name)});
    });
  };
  // A job goes from its queue there and back.
  look_at_sequences();
  for_each_key(redis, keys::queue("*"), "list",
               [&](const std::string& key) { look(place_of_queue(std::string_view(key).substr(before_name))); });
  look_at_sequences();
  for_each_key(redis, keys::in_flight_hash("*:*"), "list", [&](const std::string& key) {
    auto list = keys::parse_in_flight_list(key);
    if (!list) return;
    look({.kind = PlaceOfJobs::Kind::in_flight,
          .key = RedisKey(key),
          .queue = std::move(list->queue),
          .identity = std::move(list->identity),
          .field = std::move(list->field)});
  });
  for (const PlaceOfJobs& set : sets) look(set);
}

std::vector<PlaceOfJobs> places_of_waiting_jobs(const std::vector<std::string>& queues,
                                                const std::vector<std::string>& set_aside) {
  std::vector<PlaceOfJobs> places = sets_of_waiting_jobs();
  for (const std::string& queue : queues) {
    places.push_back(place_of_queue(queue));
    for (const std::string& aside : beside(queue, set_aside)) places.push_back(place_of_queue(aside, queue));
  }
  // Quarantine comes last: a worker may put a job there that it has just fetched.
  places.push_back({.kind = PlaceOfJobs::Kind::quarantine, .key = keys::brood_quarantined});
  return places;
}

Command ask_set_aside() { return {"SMEMBERS", keys::brood_set_aside}; }

Command ask_is_set_aside(std::string_view queue) { return {"SISMEMBER", keys::brood_set_aside, queue}; }

bool read_is_set_aside(ReplyView reply) { return reply.is_integer() && reply.integer() == 1; }

std::string_view home_by_name(std::string_view aside) {
  const std::size_t at = aside.rfind('@');
  return at == aside.npos ? std::string_view() : aside.substr(0, at);
}

std::vector<std::string> beside(std::string_view queue, const std::vector<std::string>& set_aside) {
  std::vector<std::string> asides;
  for (const std::string& aside : set_aside) {
    if (!queue.empty() && home_by_name(aside) == queue) asides.push_back(aside);
  }
  return asides;
}

}  // namespace brood
