#include "shared/api/push/push_writer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include <brood/detail/pushed_job.hpp>
#include <brood/detail/read_arguments.hpp>

#include "shared/config/queue_order.hpp"
#include "shared/job/number_member.hpp"
#include "shared/job/page_text.hpp"
#include "shared/job/payload.hpp"
#include "shared/job/ruby_spelling.hpp"
#include "shared/job/sequence.hpp"

namespace brood {
namespace {

constexpr double first_point_in_time = 1'000'000'000;
constexpr std::size_t longest_name = 255;

[[noreturn]] void refuse(const std::string& why) { throw std::invalid_argument(why); }

constexpr auto fit_for_names = [] {
  std::array<bool, 256> fit{};
  for (std::size_t c = '!'; c < fit.size(); ++c) fit[c] = c != 0x7F;
  for (const char c : std::string_view("<>&\"'")) fit[static_cast<unsigned char>(c)] = false;
  return fit;
}();

void check_name(const char* what, const std::string& name) {
  if (name.empty()) refuse(std::string(what) + " is empty");
  if (name.size() > longest_name) refuse(std::string(what) + " is longer than 255 bytes");
  if (!std::all_of(name.begin(), name.end(), [](unsigned char c) { return fit_for_names[c]; })) {
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

// A queue's name, null or false.
void check_retry_queue(std::string_view json) {
  if (json == "null" || json == "false") return;
  std::string name;
  detail::JsonReader reader(json);
  if (reader.peek() == '"') reader.read_string(name);
  if (!is_safe_queue(name)) refuse("retry_queue is no queue's name: " + detail::shown(json));
}

// Checks a member that pages print in place of the class.
void check_shown(const std::string& member, std::string_view json) {
  std::string shown;
  detail::JsonReader reader(json);
  if (reader.peek() == '"') reader.read_string(shown);
  if (has_markup(shown)) refuse(member + " " + std::string(json) + " has one of < > & \" '");
}

void check_member(const std::string& name, const std::string& json) {
  for (const char* own : {"class", "args", "queue", "retry", "at", "jid", "enqueued_at", "unique_lock"}) {
    if (name == own) refuse("\"" + name + "\" is given twice: it has a place of its own in a push");
  }
  detail::JsonReader reader(json, 1);
  const char first = reader.peek();
  const std::string_view value = reader.skip_value();
  reader.expect_end();
  if (name == "retry_queue") check_retry_queue(value);
  if (name == "wrapped" || name == "display_class") check_shown(name, value);
  const bool falsy = value == "null" || value == "false";
  if (name == "tags" && !falsy && first != '[') refuse("tags is no array");
  if (name == "sequence" || name == "if_failed") {
    if (const std::string problem = problem_of_sequence_member(name, value); !problem.empty()) refuse(problem);
  }
  if (is_seconds_option(name)) {
    if (const std::string problem = problem_of_seconds(name, value); !problem.empty()) refuse(problem);
    if (name == "retry_for" && number_of(value).value_or(0) > first_point_in_time)
      refuse("retry_for is more than 1,000,000,000 seconds");
    if (name == "keep_result" && number_of(value).value_or(0) < 0) refuse("keep_result is not negative");
  }
}

// Empty: it is no text.
std::string text_in(std::string_view json) {
  std::string text;
  detail::JsonReader reader(json);
  if (reader.peek() == '"') reader.read_string(text);
  return text;
}

// If a member is given twice, the last one counts, as in Ruby.
bool is_given_later(const Push& job, std::size_t member) {
  for (std::size_t i = member + 1; i < job.members.size(); ++i) {
    if (job.members[i].first == job.members[member].first) return true;
  }
  return false;
}

// Escapes markup, since Sidekiq's pages print this member unescaped and it may contain arguments.  Written as Ruby's
// client writes it, so that both name one lock.
std::string shown_unique_by(std::string_view json) { return page_text(ruby_spelling(json, 1)); }

// A number in quotes is written without them: Ruby's processes would stumble over it.
std::string_view as_number(std::string_view name, std::string_view json) {
  return is_seconds_option(name) ? number_text(json).value_or(json) : json;
}

void add_member(std::string& text, std::string_view name, std::string_view json) {
  detail::write_string(text.append(","), name);
  text.append(":").append(json);
}

}  // namespace

void spell_as_ruby(Push& job) {
  if (detail::JsonReader(job.args).peek() == '[') job.args = ruby_spelling(job.args, 1);
  for (auto& [name, json] : job.members) json = ruby_spelling(json, 1);
}

std::string new_jid() { return RandomBytes().jid(); }

std::optional<double> scheduled_time(double number, double now) {
  const double time = number < first_point_in_time ? now + number : number;
  return time <= now ? std::nullopt : std::optional(time);
}

ClientPush prepare_push(const Push& job, WallTime now, TimeUnit times) { return PushWriter(now, times).prepare(job); }

PushWriter::PushWriter(WallTime now, TimeUnit times) : now_(now), times_(times), time_(json_time(now, times)) {}

void PushWriter::check_names(const Push& job) {
  if (job.job_class != checked_class_ || checked_class_.empty()) {
    check_name("the job class", job.job_class);
    checked_class_ = job.job_class;
  }
  if (job.queue != checked_queue_ || checked_queue_.empty()) {
    if (job.queue.empty()) refuse("the queue has no name");
    if (!is_safe_queue(job.queue))
      refuse("the queue's name " + detail::json_text(job.queue) +
             " has characters other than A-Z a-z 0-9 _ . : @ / ~ -, or more than 255");
    checked_queue_ = job.queue;
  }
  if (!job.jid.empty()) check_name("the jid", job.jid);
}

// The push takes the job's lock, and the process that ends the job releases it.  So the payload names the lock.
void PushWriter::make_unique(ClientPush& prepared, const Push& job,
                             std::optional<std::string_view> args_in_clear) const {
  std::string by;
  const auto unique =
      read_uniqueness(job.job_class, job.queue, args_in_clear.value_or(job.args), [&](std::string_view name) {
        std::optional<std::string_view> last;
        for (const auto& [given, json] : job.members) {
          if (given == name) last = json;
        }
        if (name == "unique_by" && last) last = by = shown_unique_by(*last);
        return last;
      });
  if (!unique) return;
  // In Redis the argument is encrypted, each time to other bytes, and the values that the job is unique by would be in
  // clear.
  if (args_in_clear && (!by.empty() || unique->until == Uniqueness::Until::running))
    refuse("an encrypted job is unique by all of its arguments, and until it is begun or done");
  if (prepared.shard_by.empty()) prepared.shard_by = "unique:" + unique->lock;
  if (unique->until == Uniqueness::Until::running) return;
  std::chrono::milliseconds longest = unique->longest;
  if (longest.count() > 0 && prepared.score) {
    const double later = std::max(0.0, *prepared.score - epoch_seconds(now_));
    longest += std::chrono::milliseconds(std::llround(later * 1000));
  }
  prepared.lock = ClientPush::Lock{.name = unique->lock, .longest = longest, .on_conflict = unique->on_conflict};
  prepared.payload.append(",\"unique_lock\":\"").append(unique->lock).append("\"");
}

ClientPush PushWriter::prepare(const Push& job, std::optional<std::string_view> args_in_clear) {
  check_names(job);
  check_args(job.args);

  ClientPush prepared;
  prepared.jid = job.jid.empty() ? random_.jid() : job.jid;
  prepared.queue = job.queue;
  prepared.shard_by = job.shard_by;
  if (job.at) prepared.score = epoch_seconds(WallTime(*job.at));

  std::string& text = prepared.payload;
  text.reserve(160 + job.args.size() + job.job_class.size() + job.queue.size());
  text.append("{\"retry\":").append(detail::json_text(job.retry)).append(",\"queue\":");
  detail::write_string(text, job.queue);
  bool created = false, says_unique = false;
  std::string sequence;
  for (std::size_t i = 0; i < job.members.size(); ++i) {
    const auto& [name, json] = job.members[i];
    check_member(name, json);
    if (is_given_later(job, i)) continue;
    created = created || name == "created_at";
    if (name == "sequence") sequence = text_in(json);
    says_unique = says_unique || name.starts_with("unique_");
    add_member(text, name, name == "unique_by" ? shown_unique_by(json) : as_number(name, json));
  }
  text.append(",\"class\":");
  detail::write_string(text, job.job_class);
  text.append(",\"args\":").append(job.args).append(",\"jid\":");
  detail::write_string(text, prepared.jid);
  if (!created) text.append(",\"created_at\":").append(time_);
  if (!prepared.score) text.append(",\"enqueued_at\":").append(time_);
  if (prepared.shard_by.empty() && !sequence.empty()) prepared.shard_by = "sequence:" + sequence;
  if (says_unique) make_unique(prepared, job, args_in_clear);
  text.append("}");
  return prepared;
}

}  // namespace brood
