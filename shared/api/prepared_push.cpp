#include "shared/api/prepared_push.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <stdexcept>
#include <system_error>

#include <brood/detail/pushed_job.hpp>
#include <brood/detail/read_arguments.hpp>

#include "shared/job/payload.hpp"
#include "shared/queue_order.hpp"

namespace brood {
namespace {

constexpr double first_point_in_time = 1'000'000'000;
constexpr std::size_t longest_name = 255;

[[noreturn]] void refuse(const std::string& why) { throw std::invalid_argument(why); }

// Sidekiq's Busy page prints class and jid without escaping them.
void check_name(const char* what, const std::string& name) {
  if (name.empty()) refuse(std::string(what) + " is empty");
  if (name.size() > longest_name) refuse(std::string(what) + " is longer than 255 bytes");
  const auto bad = [](unsigned char c) {
    return c <= ' ' || c == 0x7F || std::string_view("<>&\"'").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (std::any_of(name.begin(), name.end(), bad)) {
    refuse(std::string(what) + " " + detail::json_text(name) +
           " has a space, a control character or one of < > & \" '");
  }
}

void check_args(const std::string& args) {
  detail::JsonReader reader(args, 1);
  if (reader.peek() != '[') refuse("the arguments are no JSON array: " + detail::shown(args));
  reader.skip_value();
  reader.expect_end();
}

void check_member(const std::string& name, const std::string& json) {
  for (const char* own : {"class", "args", "queue", "retry", "at", "jid", "enqueued_at"}) {
    if (name == own) refuse("\"" + name + "\" is given twice: it has a place of its own in a push");
  }
  detail::JsonReader reader(json, 1);
  const char first = reader.peek();
  const std::string_view value = reader.skip_value();
  reader.expect_end();
  const bool falsy = value == "null" || value == "false";
  if (name == "tags" && !falsy && first != '[') refuse("tags is no array");
  if (name == "retry_for" && !falsy) {
    double seconds = 0;
    detail::JsonReader number(value);
    try {
      detail::read_value(number, seconds);
    } catch (const detail::Misfit&) {
      refuse("retry_for is no number");
    }
    if (seconds > first_point_in_time) refuse("retry_for is more than 1,000,000,000 seconds");
  }
}

class Members {
 public:
  void add(std::string_view name, std::string_view json) {
    detail::write_string(text_.append(text_.empty() ? "{" : ","), name);
    text_.append(":").append(json);
  }
  std::string close() && { return std::move(text_) + "}"; }

 private:
  std::string text_;
};

}  // namespace

std::string new_jid() {
  std::array<unsigned char, 12> bytes;
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  std::string jid;
  for (const unsigned char byte : bytes) {
    jid.push_back("0123456789abcdef"[byte >> 4]);
    jid.push_back("0123456789abcdef"[byte & 15]);
  }
  return jid;
}

std::optional<double> scheduled_time(double number, double now) {
  const double time = number < first_point_in_time ? now + number : number;
  return time <= now ? std::nullopt : std::optional(time);
}

PreparedPush prepare_push(const Push& job, WallTime now) {
  check_name("the job class", job.job_class);
  if (job.queue.empty()) refuse("the queue has no name");
  if (!is_safe_name(job.queue))
    refuse("the queue's name " + detail::json_text(job.queue) +
           " has characters other than A-Z a-z 0-9 _ . : @ / -, or more than 255");
  if (!job.jid.empty()) check_name("the jid", job.jid);
  check_args(job.args);

  PreparedPush prepared;
  prepared.jid = job.jid.empty() ? new_jid() : job.jid;
  prepared.queue = job.queue;
  if (job.at) prepared.score = epoch_seconds(WallTime(*job.at));

  Members members;
  members.add("retry", detail::json_text(job.retry));
  members.add("queue", detail::json_text(job.queue));
  bool created = false;
  for (const auto& [name, json] : job.members) {
    check_member(name, json);
    created = created || name == "created_at";
    members.add(name, json);
  }
  members.add("class", detail::json_text(job.job_class));
  members.add("args", job.args);
  members.add("jid", detail::json_text(prepared.jid));
  const std::string time = json_time(now, TimeUnit::integer_milliseconds);
  if (!created) members.add("created_at", time);
  if (!prepared.score) members.add("enqueued_at", time);
  prepared.payload = std::move(members).close();
  return prepared;
}

}  // namespace brood
