#include "worker/crash/crash_report.hpp"

#include <sys/stat.h>
#include <sys/time.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <map>
#include <set>

#include "shared/job/ruby_spelling.hpp"
#include "shared/json/json_object.hpp"
#include "tests/support/temporary_directory.hpp"
#include "worker/crash/core_file.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const WallTime now{std::chrono::milliseconds(1795238112081)};
const std::string build_id = "1f2e3d4c5b6a79881726354453627180aabbccdd";

Frame frame_in(const std::string& module, const std::string& function = "") {
  Frame frame;
  frame.address = 0x7f0000001a2b;
  frame.offset = 0x1a2b;
  frame.module = module;
  frame.build_id = build_id;
  frame.function = function;
  return frame;
}

std::vector<std::string> modules(const std::vector<Frame>& frames) {
  std::vector<std::string> names;
  for (const Frame& frame : frames) names.push_back(frame.module + " " + frame.function);
  return names;
}

// A job library at 1000, libc at 2000, brood at 3000 (all hexadecimal).
CapturedStack stack_of(const std::vector<std::uint64_t>& frames, std::uint64_t moved_by = 0) {
  CapturedStack stack;
  stack.state = StackState::complete;
  stack.signal = SIGSEGV;
  stack.code = SEGV_MAPERR;
  stack.address = 0x10;
  stack.pc = frames.empty() ? 0 : frames.front() + moved_by;
  stack.thread = 4711;
  for (const auto frame : frames) stack.frames.push_back(frame + moved_by);
  stack.modules = {{0x1000 + moved_by, 0x2000 + moved_by, moved_by, build_id, "/srv/jobs/libjobs.so"},
                   {0x2000 + moved_by, 0x3000 + moved_by, moved_by, "22", "/lib/libc.so.6"},
                   {0x3000 + moved_by, 0x4000 + moved_by, moved_by, "33", "/usr/bin/brood"}};
  return stack;
}

WorkerDeath::Cause segfault(CapturedStack stack = stack_of({0x1a2b, 0x1b00})) {
  WorkerDeath::Cause cause{"SIGSEGV", "SIGSEGV (SEGV_MAPERR) at 0x10 in Segfault, worker 2, up 12s"};
  CrashFacts facts;
  facts.pid = 4711;
  facts.slot = 2;
  facts.signal = SIGSEGV;
  facts.uptime = 12'500ms;
  facts.user_time = 1'250ms;
  facts.system_time = 10ms;
  facts.max_rss_kb = 20'480;
  facts.stack = std::move(stack);
  cause.facts = std::move(facts);
  return cause;
}

CrashReport report(const WorkerDeath::Cause& cause, const std::vector<Frame>& frames = {}) {
  return report_crash(cause, frames, "Segfault", std::nullopt, now);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_crash_is_told_with_all_that_is_known) {
  const CrashReport told =
      report_crash(segfault(), {frame_in("libjobs.so", "decode(Image&)")}, "Segfault", "coredumpctl info 4711", now);

  BOOST_TEST(told.failure.error_class == "SIGSEGV");
  BOOST_TEST(told.failure.message == "SIGSEGV (SEGV_MAPERR) at 0x10 in Segfault, worker 2, up 12s");
  BOOST_TEST(told.failure.always_backtrace);
  BOOST_TEST(told.failure.crash);
  BOOST_TEST(told.stack.at(0) == "#0 decode(Image&) (libjobs.so+0x1a2b)");
  BOOST_TEST(told.has_names);
  BOOST_TEST(told.signal == "SIGSEGV");
  BOOST_TEST(told.address == "0x10");
  BOOST_TEST(told.failure.crash_json ==
             R"({"at":1795238112.081,"signal":"SIGSEGV","code":"SEGV_MAPERR","address":"0x10","pc":"0x1a2b",)"
             R"("thread":4711,"worker":2,"pid":4711,"uptime":12.5,"user_time":1.25,"system_time":0.01,)"
             R"("max_rss_kb":20480,"build_ids":{"libjobs.so":")" +
                 build_id + R"("},"core":"coredumpctl info 4711","fingerprint":")" + told.fingerprint + R"("})");
}

BOOST_AUTO_TEST_CASE(what_is_not_known_is_left_out) {
  WorkerDeath::Cause exited{"UnexpectedExit", "exit status 99 in Exit"};
  exited.facts = CrashFacts{};
  exited.facts->exit_status = 99;
  const JsonObject crash = JsonObject::parse(report(exited).failure.crash_json);
  BOOST_TEST(crash.integer("exit_status").value() == 99);
  for (const char* absent : {"signal", "code", "address", "pc", "thread", "pid", "max_rss_kb", "build_ids", "core"})
    BOOST_TEST_CONTEXT(absent) BOOST_TEST(!crash.raw(absent));
  BOOST_TEST(report(exited).stack.empty());

  WorkerDeath::Cause killed{"SIGKILL", "SIGKILL in Sleep"};
  killed.facts = CrashFacts{};
  killed.facts->signal = SIGKILL;
  const CrashReport told = report(killed);
  BOOST_TEST(told.signal == "SIGKILL");
  BOOST_TEST(told.address.empty());
  BOOST_TEST(!JsonObject::parse(told.failure.crash_json).raw("exit_status"));

  const CrashReport bare = report({"SIGKILL", "SIGKILL in Sleep", false});
  BOOST_TEST(bare.failure.crash_json.empty());
  BOOST_TEST(bare.fingerprint.empty());
  BOOST_TEST(!bare.failure.crash);
}

BOOST_AUTO_TEST_CASE(the_top_of_a_stack_is_the_jobs_own) {
  const Frame job = frame_in("libjobs.so", "decode()"), libc = frame_in("libc.so.6", "abort");
  BOOST_TEST(report(segfault(), {libc, job, job}).top == "#1 decode() (libjobs.so+0x1a2b)");
  BOOST_TEST(report(segfault(), {libc}).top == "#0 abort (libc.so.6+0x1a2b)");
  BOOST_TEST(report(segfault()).top.empty());
}

BOOST_AUTO_TEST_CASE(an_uncaught_exception_is_named_with_its_words) {
  WorkerDeath::Cause cause = segfault();
  cause.message = "SIGABRT in Throw";
  cause.facts->stack.thrown_type = "St13runtime_error";
  BOOST_TEST(report(cause).failure.message == "SIGABRT in Throw: uncaught std::runtime_error");
  cause.facts->stack.what = "no words";
  BOOST_TEST(report(cause).failure.message == "SIGABRT in Throw: uncaught std::runtime_error: no words");
  cause.facts->stack.thrown_type = "i";
  cause.facts->stack.what.clear();
  BOOST_TEST(report(cause).failure.message == "SIGABRT in Throw: uncaught int");
}

BOOST_AUTO_TEST_CASE(an_address_is_told_only_where_the_signal_has_one) {
  WorkerDeath::Cause cause = segfault();
  cause.facts->stack.signal = cause.facts->signal = SIGABRT;
  cause.facts->stack.code = SI_TKILL;
  const CrashReport told = report(cause);
  BOOST_TEST(told.address.empty());
  const JsonObject crash = JsonObject::parse(told.failure.crash_json);
  BOOST_TEST(!crash.raw("address"));
  BOOST_TEST(crash.string("code").value() == "SI_TKILL");
}

// The Web UI prints lines, and members that it does not know, as markup.
BOOST_AUTO_TEST_CASE(what_the_record_holds_is_no_markup) {
  const CrashReport told =
      report_crash(segfault(), {frame_in("<b>.so", "f(std::vector<int>&)")}, "Segfault", "/srv/<script>/core", now);
  BOOST_TEST(told.stack.at(0) == "#0 f(std::vector<int>&) (<b>.so+0x1a2b)");
  BOOST_TEST(told.failure.crash_json.find_first_of("<>") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_report_is_of_bounded_size_and_json_whatever_a_job_wrote_there) {
  WorkerDeath::Cause cause = segfault();
  const std::string rubbish = "\xff\n\x1b[31m\"\\<" + std::string(5'000, '\xfe');
  cause.message = rubbish;
  cause.facts->stack.thrown_type = cause.facts->stack.what = rubbish;
  std::vector<Frame> frames;
  for (int i = 0; i < 500; ++i) {
    Frame frame = frame_in(rubbish + std::to_string(i), rubbish);
    frame.module.insert(0, std::to_string(i));
    frame.file = rubbish;
    frames.push_back(frame);
  }
  const CrashReport told = report_crash(cause, frames, rubbish, rubbish, now);

  BOOST_TEST(told.failure.backtrace.size() == 100U);
  for (const std::string& line : told.failure.backtrace) {
    BOOST_TEST(line.size() < 2'000U);
    BOOST_TEST(line.find_first_of("\n\x1b") == std::string::npos);
    BOOST_TEST(is_json(json_string(line)));
  }
  BOOST_TEST(told.failure.crash_json.size() <= 4'500U);
  BOOST_TEST(is_json(told.failure.crash_json));
  BOOST_TEST(told.failure.message.size() < 5'000U);
}

// Ruby reads the record and writes it again, and looks for what it has written.
BOOST_AUTO_TEST_CASE(its_numbers_and_names_are_spelled_as_ruby_spells_them) {
  for (const auto& [time, written] : std::map<std::chrono::microseconds, std::string>{{0us, "0.0"},
                                                                                      {400us, "0.0"},
                                                                                      {529'080ms, "529.08"},
                                                                                      {7s, "7.0"},
                                                                                      {1'234'567us, "1.235"},
                                                                                      {100h, "360000.0"}}) {
    WorkerDeath::Cause cause = segfault();
    cause.facts->user_time = time;
    // Two names that are one once they are shown: of a key given twice Ruby leaves one.
    const CrashReport told = report_crash(cause, {frame_in("<b>.so"), frame_in("‹b›.so"), frame_in("c\"\n.so")}, "A",
                                          "/srv/\x01 \u00e9/core", now);
    BOOST_TEST(JsonObject::parse(told.failure.crash_json).raw("user_time").value() == written);
    BOOST_TEST(ruby_spelling(told.failure.crash_json) == told.failure.crash_json);
  }
}

BOOST_AUTO_TEST_CASE(a_fingerprint_is_of_class_error_and_place_not_of_where_libraries_lie) {
  const auto print = [](const CapturedStack& stack, const std::string& job_class = "A",
                        const std::string& error = "SIGSEGV") { return crash_fingerprint(job_class, error, stack); };
  const std::string one = print(stack_of({0x1a2b, 0x1b00, 0x1c00}));
  BOOST_TEST(one.size() == 12U);
  BOOST_TEST(one.find_first_not_of("0123456789abcdef") == std::string::npos);
  BOOST_TEST(print(stack_of({0x1a2b, 0x1b00, 0x1c00}, 0x7f0000000000)) == one);
  BOOST_TEST(print(stack_of({0x1a2b, 0x1b00, 0x1c00, 0x1d00, 0x10})) == one);  // deeper
  BOOST_TEST(print(stack_of({0x1a2b, 0x2100, 0x1b00, 0x3300, 0x10, 0x1c00})) == one);

  std::set<std::string> different{one};
  different.insert(print(stack_of({0x1a2c, 0x1b00, 0x1c00})));
  different.insert(print(stack_of({0x1a2b, 0x1b01, 0x1c00})));
  different.insert(print(stack_of({0x1a2b, 0x1b00})));
  different.insert(print(stack_of({0x1a2b, 0x1b00, 0x1c00}), "B"));
  different.insert(print(stack_of({0x1a2b, 0x1b00, 0x1c00}), "A", "SIGBUS"));
  CapturedStack rebuilt = stack_of({0x1a2b, 0x1b00, 0x1c00});
  rebuilt.modules[0].build_id = "00";
  different.insert(print(rebuilt));
  BOOST_TEST(different.size() == 7U);
  BOOST_TEST(crash_fingerprint("A", "SIGSEGV", CapturedStack{}) == "5ae98398bd1e");  // the same in every release
}

BOOST_AUTO_TEST_CASE(what_lies_beneath_every_job_is_cut) {
  const Frame job = frame_in("libjobs.so", "Segfault::perform()"), libc = frame_in("libc.so.6", "abort");
  const Frame thunk = frame_in("libjobs.so", "void brood::detail::perform_job<Segfault>(brood::abi::Call const*)");
  const Frame brood = frame_in("brood", "brood::perform(brood::JobRegistry const&)"), start = frame_in("libc.so.6");
  using Frames = std::vector<Frame>;
  const auto cut = [](const Frames& frames) { return modules(frames_of_job(frames)); };
  const auto same = [](const Frames& frames) { return modules(frames); };

  BOOST_TEST(cut({libc, job, thunk, brood, start}) == same({libc, job}));
  BOOST_TEST(cut({libc, thunk, brood, start}) == same({libc, thunk}));  // the job was inlined without a trace
  BOOST_TEST(cut({thunk, brood, start}) == same({thunk}));
  const Frame body = frame_in("libjobs.so", "void brood::detail::run_job<Segfault>(brood::abi::Call const&)");
  BOOST_TEST(cut({job, body, frame_in("libjobs.so", "Metered::operator()"), thunk, brood, start}) == same({job}));
  BOOST_TEST(cut({frame_in("libjobs.so"), frame_in("libjobs.so"), frame_in("brood"), frame_in("brood"), start}) ==
             same({frame_in("libjobs.so"), frame_in("libjobs.so")}));
  BOOST_TEST(cut({libc, frame_in("libc.so.6", "raise")}) == same({libc, frame_in("libc.so.6", "raise")}));
  BOOST_TEST(cut({}).empty());
}

BOOST_AUTO_TEST_CASE(a_frame_without_a_name_says_where_to_look) {
  BOOST_TEST(to_text(0, frame_in("libjobs.so")) == "#0 libjobs.so+0x1a2b [build id " + build_id + "]");
  Frame without_id = frame_in("libjobs.so");
  without_id.build_id.clear();
  BOOST_TEST(to_text(12, without_id) == "#12 libjobs.so+0x1a2b");
}

namespace {

CrashFacts dumped() {
  CrashFacts facts;
  facts.pid = 4711;
  facts.signal = SIGSEGV;
  facts.core_dumped = true;
  return facts;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_core_file_is_found_by_the_kernels_pattern) {
  const TemporaryDirectory directory;
  CrashFacts facts = dumped();
  facts.working_directory = directory.path();
  for (const char* name : {"core", "core.4711", "core.4712", "core.worker.4711.11.1795238112", "%p.core"})
    directory.write(name, "");
  const auto found = [&](const std::string& pattern, bool appends_pid = false) {
    return core_file(facts, pattern, appends_pid, wall_now()).value_or("none");
  };

  BOOST_TEST(found("core") == directory / "core");
  BOOST_TEST(found("core", true) == directory / "core.4711");
  BOOST_TEST(found("core.%p", true) == directory / "core.4711");
  BOOST_TEST(found("core.%e.%p.%s.%t") == directory / "core.worker.4711.11.1795238112");
  BOOST_TEST(found(directory / "core.%p") == directory / "core.4711");
  BOOST_TEST(found("%%p.core") == directory / "%p.core");
  BOOST_TEST(found("core.%p%") == directory / "core.4711");
  BOOST_TEST(found("[c]ore") == "none");
  BOOST_TEST(found("elsewhere/core.%p") == "none");
  BOOST_TEST(found("") == "none");
}

BOOST_AUTO_TEST_CASE(an_old_core_file_that_names_no_process_belongs_to_another) {
  const TemporaryDirectory directory;
  CrashFacts facts = dumped();
  facts.working_directory = directory.path();
  directory.write("core", "");
  BOOST_TEST(core_file(facts, "core", false, wall_now()).has_value());
  BOOST_TEST(!core_file(facts, "core", false, wall_now() + 1h).has_value());
}

BOOST_AUTO_TEST_CASE(only_systemds_program_can_be_asked_for_a_core_that_it_took) {
  BOOST_TEST(core_file(dumped(), "|/lib/systemd/systemd-coredump %P %u", false, now).value() ==
             "coredumpctl info 4711");
  BOOST_TEST(core_file(dumped(), "@@/run/systemd/coredump", false, now).value() ==
             core_file(dumped(), "|/lib/systemd/systemd-coredump %P %u", false, now).value());
  BOOST_TEST(!core_file(dumped(), "|/usr/share/apport/apport %p", false, now).has_value());
  BOOST_TEST(!core_file(dumped(), "@/run/somebody-elses", false, now).has_value());
  CrashFacts without = dumped();
  without.core_dumped = false;
  BOOST_TEST(!core_file(without, "|/lib/systemd/systemd-coredump %P", false, now).has_value());
}
