#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/secret.hpp"
#include "shared/base/time_unit.hpp"
#include "shared/json/json_object.hpp"

namespace brood {

// A text that is not a job: not JSON, not an object, nested deeper than 100, or class/args missing or of a wrong type.
class BadPayload : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The unit of the times in an object, which may be no job: see Payload::time_unit().
TimeUnit time_unit_of(const JsonObject& object, TimeUnit otherwise);

// One job's JSON text, and the members that a job server reads.  Every other byte is carried through untouched: number
// spelling, unknown members, order, escapes, white space.
class Payload {
 public:
  using Edit = JsonObject::Edit;

  // Throws BadPayload with a sentence that an operator understands.
  static Payload parse(std::string_view text);

  // The same into this payload, whose memory is reused; after a throw it is no job.
  void read(std::string_view text);

  const std::string& text() const { return json_.text(); }

  // Raw JSON text of a top-level member as written ("\"default\"", "[1, 2]", "25"); nullopt if absent.  If a key is
  // given twice, the last one counts, as in Ruby.
  std::optional<std::string_view> raw(std::string_view key) const { return json_.raw(key); }

  // The member when it is a string, unescaped; nullopt otherwise.
  std::optional<std::string> string(std::string_view key) const { return json_.string(key); }
  // The member when it is a number, in quotes or not: see number_member.hpp.
  std::optional<std::int64_t> integer(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;

  // True unless the member is absent, null or false, as Ruby judges it.
  bool truthy(std::string_view key) const { return json_.truthy(key); }

  const std::string& job_class() const { return job_class_; }  // "class"
  std::string_view args() const;                               // raw JSON array
  // The arguments for the job's own code: in clear if they were encrypted and have been opened, else as args().
  std::string_view args_in_clear() const { return opened_.empty() ? args() : opened_.view(); }
  const std::string& jid() const { return jid_; }                      // empty when absent
  const std::string& display_class() const { return display_class_; }  // display_class, else wrapped, else class
  const std::string& counted_class() const { return counted_class_; }  // wrapped, else class
  // The class whose code performs it: wrapped, if Active Job has wrapped it, else class.
  const std::string& code_class() const { return is_active_job_ ? counted_class_ : job_class_; }
  bool is_active_job() const { return is_active_job_; }

  // The unit of created_at, else of another time member; `otherwise` when there is none.
  TimeUnit time_unit(TimeUnit otherwise = usual_time_unit) const { return time_unit_of(json_, otherwise); }
  // A time member in either unit (>= 1e11 means milliseconds); nullopt when absent, no number, or beyond the clock.
  std::optional<WallTime> time(std::string_view key) const;

  // Seconds since the job was enqueued, or else created; 0 when unknown.
  double latency_seconds(WallTime now) const;

  // Sets the clear text of encrypted arguments, also for the payloads that with() makes of this one.  No byte of the
  // text changes: a job is retried, given back or dead as it was fetched.
  void open(Secret args) { opened_ = std::move(args); }
  bool is_open() const { return !opened_.empty(); }

  // Changes members in place and appends new ones, in the order given, in compact form; an absent raw value removes
  // the member.  Everything else keeps its bytes.  Throws BadPayload when the result would be no job.
  Payload with(const std::vector<Edit>& edits) const;

 private:
  void check();

  JsonObject json_;
  Secret opened_;  // the arguments in clear; empty: they are not encrypted, or were not opened
  std::string job_class_, jid_, counted_class_, display_class_;  // unescaped once
  bool is_active_job_ = false;
};

// `t` as a payload member in `unit`: 1795237318514, or 1795237318.5142 (always with a fraction).
std::string json_time(WallTime t, TimeUnit unit);

// Seconds as a sorted-set score: the shortest text that reads back to the same double.
std::string score_text(double seconds);

}  // namespace brood
