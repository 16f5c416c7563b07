#include "worker/testing/job_places.hpp"

#include <charconv>
#include <utility>

#include <brood/detail/members.hpp>

namespace brood::testing {
namespace {

RedisAddress at_socket(const std::string& path) {
  RedisAddress address;
  address.socket_path = path;
  return address;
}

}  // namespace

JobPlaces::JobPlaces(const std::string& socket_path) : redis_(at_socket(socket_path)) {}

JobPlaces::Found JobPlaces::find(std::string_view jid) {
  JobPlace place = read_job_place(ask(find_job("\"jid\":" + brood::detail::quoted(jid))).view());
  Found found{place.kind};
  if (!place.score_text.empty()) {
    SetEntry entry;
    static_cast<JobRecord&>(entry) = JobRecord::read(std::move(place.member));
    entry.score_text = std::move(place.score_text);
    std::from_chars(entry.score_text.data(), entry.score_text.data() + entry.score_text.size(), entry.score);
    found.entry = std::move(entry);
  }
  return found;
}

std::size_t JobPlaces::waiting() { return read_waiting_jobs(ask(count_waiting_jobs()).view()); }

Reply JobPlaces::ask(const Command& command) {
  Reply reply = redis_.call(command);
  const std::string_view error = reply.view().error();
  if (classify_error(error) == ErrorKind::not_applied_retry) throw ConnectionLost(std::string(error));
  return reply;
}

}  // namespace brood::testing
