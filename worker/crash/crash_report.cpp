#include "worker/crash/crash_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "shared/base/signal_names.hpp"
#include "shared/job/page_text.hpp"
#include "shared/json/json.hpp"
#include "shared/scoreboard/stack_record.hpp"
#include "worker/crash/demangle.hpp"

namespace brood {
namespace {

constexpr std::size_t max_lines = 100, max_message = 1'500, max_build_ids = 10, frames_of_fingerprint = 3;

// The members of one JSON object.
class Members {
 public:
  void add(std::string_view name, std::string_view raw) {
    text_ += fmt::format("{}{}:{}", text_.empty() ? "" : ",", name.starts_with('"') ? name : json_string(name), raw);
  }
  void text(std::string_view name, std::string_view value) {
    add(name, json_string(page_text(utf8_prefix(value, 300))));
  }
  void hex(std::string_view name, std::uint64_t value) { add(name, fmt::format("\"{:#x}\"", value)); }
  template <typename Duration>
  void seconds(std::string_view name, Duration value) {
    using Milliseconds = std::chrono::duration<double, std::milli>;
    add(name, json_float(std::round(Milliseconds(value).count()) / 1e3));
  }
  std::string object() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

std::string build_ids(const std::vector<Frame>& frames) {
  std::set<std::string> named;  // as the JSON shows them: Ruby reads only one of two members with the same key
  Members ids;
  for (const Frame& frame : frames) {
    if (frame.build_id.empty() || named.size() >= max_build_ids) continue;
    const std::string module = json_string(page_text(utf8_prefix(frame.module, 64)));
    if (named.insert(module).second) ids.add(module, json_string(page_text(frame.build_id)));
  }
  return ids.object();
}

// The jobs that ran before in the same process, with the number of runs since: {"Images::Decode":1}.
std::string ran_before(const CrashFacts& facts) {
  Members classes;
  for (const CrashFacts::RanBefore& one : facts.ran_before)
    classes.add(json_string(page_text(utf8_prefix(one.job_class, 255))), std::to_string(one.runs_ago));
  return classes.object();
}

// The handler noted the first signal; the kernel reports the one that ended the process, which may have come later.
int signal_of(const CrashFacts& facts) { return facts.stack.signal > 0 ? facts.stack.signal : facts.signal; }

std::string crash_member(const CrashFacts& facts, const CrashReport& report, const std::vector<Frame>& frames,
                         const std::optional<std::string>& core, WallTime now) {
  const CapturedStack& stack = facts.stack;
  Members crash;
  crash.seconds("at", now.time_since_epoch());
  if (!report.signal.empty()) {
    crash.text("signal", report.signal);
    const std::string code = stack.any() ? signal_code_name(stack.signal, stack.code) : "";
    if (!code.empty()) crash.text("code", code);
    if (!report.address.empty()) crash.text("address", report.address);
  } else {
    crash.add("exit_status", std::to_string(facts.exit_status));
  }
  if (stack.any()) {
    if (stack.pc != 0) crash.hex("pc", stack.pc);
    if (stack.thread > 0) crash.add("thread", std::to_string(stack.thread));
  }
  crash.add("worker", std::to_string(facts.slot));
  if (facts.pid > 0) crash.add("pid", std::to_string(facts.pid));
  crash.seconds("uptime", facts.uptime);
  crash.seconds("user_time", facts.user_time);
  crash.seconds("system_time", facts.system_time);
  if (facts.max_rss_kb > 0) crash.add("max_rss_kb", std::to_string(facts.max_rss_kb));
  if (const std::string ids = build_ids(frames); ids != "{}") crash.add("build_ids", ids);
  if (!facts.ran_before.empty()) crash.add("ran_before", ran_before(facts));
  if (core) crash.text("core", *core);
  crash.text("fingerprint", report.fingerprint);
  return crash.object();
}

// FNV-1a.  It gives the same value on every host and in every release, which std::hash does not promise.
class Hash {
 public:
  void add(std::string_view text) {
    for (const char c : text) add_byte(static_cast<unsigned char>(c));
    add_byte(0);
  }
  std::string digits() const { return fmt::format("{:016x}", value_).substr(0, 12); }

 private:
  void add_byte(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3ULL; }
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

}  // namespace

CrashReport report_crash(const WorkerDeath::Cause& cause, const std::vector<Frame>& frames, std::string_view job_class,
                         const std::optional<std::string>& core, WallTime now) {
  CrashReport report;
  report.failure.error_class = cause.error_class;
  report.failure.message = cause.message;
  report.failure.always_backtrace = true;
  report.failure.crash = cause.counts_as_crash;
  if (!cause.facts) return report;

  const CrashFacts& facts = *cause.facts;
  if (!facts.stack.thrown_type.empty()) {
    report.failure.message += ": uncaught " + demangled(facts.stack.thrown_type);
    if (!facts.stack.what.empty()) report.failure.message += ": " + facts.stack.what;
  }
  report.failure.message = utf8_prefix(report.failure.message, max_message);

  for (std::size_t i = 0; i < std::min(frames.size(), max_lines); ++i) {
    report.stack.push_back(to_text(static_cast<int>(i), frames[i]));
    report.failure.backtrace.push_back(report.stack.back());
    report.has_names = report.has_names || !frames[i].function.empty();
  }
  report.top = top_line(report.stack);
  if (const int signal = signal_of(facts); signal > 0) report.signal = signal_name(signal);
  if (facts.stack.any() && signal_has_address(facts.stack.signal, facts.stack.code))
    report.address = fmt::format("{:#x}", facts.stack.address);
  report.fingerprint = crash_fingerprint(job_class, cause.error_class, facts.stack);
  report.failure.crash_json = crash_member(facts, report, frames, core, now);
  return report;
}

std::string crash_fingerprint(std::string_view job_class, std::string_view error_class, const CapturedStack& stack) {
  Hash hash;
  hash.add(job_class);
  hash.add(error_class);
  std::size_t hashed = 0;
  for (const Frame& frame : raw_frames(stack)) {
    if (hashed == frames_of_fingerprint) break;
    // An address in no module differs in every process.
    if (frame.module.empty() || is_machinery(frame)) continue;
    hash.add(frame.module);
    hash.add(frame.build_id);
    hash.add(fmt::format("{:x}", frame.offset));
    ++hashed;
  }
  return hash.digits();
}

}  // namespace brood
