#include <boost/test/unit_test.hpp>

#include <csignal>

#include "shared/scoreboard/left_threads.hpp"
#include "supervisor/workers/end/judge_worker_end.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

constexpr ExitStatus exited(int status) { return {true, status, false}; }
constexpr ExitStatus killed_by(int signal) { return {false, signal, false}; }
const SteadyTime now{1h};

// A worker twelve seconds old that began its first job.
SlotSnapshot in_a_job(std::vector<EntryState> entries = {EntryState::running}) {
  SlotSnapshot last;
  last.pid = 4711;
  last.incarnation = 9;
  last.entries = std::move(entries);
  last.current = 0;
  last.processed = 1;
  last.job_class = "Segfault";
  last.spawned_at = now - 12s;
  return last;
}

SlotSnapshot idle() {
  SlotSnapshot last = in_a_job({});
  last.current = -1;
  last.processed = 0;
  last.job_class = "";
  return last;
}

WorkerExit exit_of(ExitStatus status, const SlotSnapshot& last, EndedBy by = EndedBy::itself) {
  WorkerExit exit;
  exit.status = status;
  exit.last = last;
  exit.slot = 2;
  exit.by = by;
  exit.now = now;
  return exit;
}

WorkerEnd judge(ExitStatus status, const SlotSnapshot& last, EndedBy by = EndedBy::itself) {
  return judge_worker_end(exit_of(status, last, by));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_job_whose_worker_a_signal_ends_is_charged_with_it) {
  for (const auto& [signal, name] : {std::pair{SIGSEGV, "SIGSEGV"}, {SIGABRT, "SIGABRT"}, {SIGBUS, "SIGBUS"}}) {
    const WorkerEnd end = judge(killed_by(signal), in_a_job());
    BOOST_TEST(!end.in_order);
    BOOST_TEST(end.began_a_job);
    BOOST_REQUIRE(end.cause.has_value());
    BOOST_TEST(end.cause->error_class == name);
    BOOST_TEST(end.cause->message == name + std::string(" in Segfault, worker 2, up 12s"));
  }
}

BOOST_AUTO_TEST_CASE(a_sigkill_of_unknown_origin_is_charged) {
  const WorkerEnd end = judge(killed_by(SIGKILL), in_a_job());
  BOOST_REQUIRE(end.cause.has_value());
  BOOST_TEST(end.cause->error_class == "SIGKILL");
}

BOOST_AUTO_TEST_CASE(a_kill_of_our_own_charges_no_job) {
  for (const ExitStatus status : {killed_by(SIGKILL), killed_by(SIGSEGV), exited(3)}) {
    const WorkerEnd end = judge(status, in_a_job(), EndedBy::brood);
    BOOST_TEST(end.in_order);
    BOOST_TEST(!end.cause.has_value());
    BOOST_TEST(!end.nothing_to_recover);  // what it held still goes back
  }
}

BOOST_AUTO_TEST_CASE(a_job_that_exits_is_charged_whatever_the_status) {
  for (const int status : {0, 1, 78}) {
    const WorkerEnd end = judge(exited(status), in_a_job());
    BOOST_TEST(!end.in_order);
    BOOST_REQUIRE(end.cause.has_value());
    BOOST_TEST(end.cause->error_class == "UnexpectedExit");
    BOOST_TEST(end.cause->message.starts_with("exit status " + std::to_string(status) + " in Segfault"));
  }
}

BOOST_AUTO_TEST_CASE(a_job_that_failed_and_was_not_yet_settled_is_charged) {
  const WorkerEnd end = judge(killed_by(SIGSEGV), in_a_job({EntryState::succeeded, EntryState::failed}));
  BOOST_TEST(end.cause.has_value());
}

BOOST_AUTO_TEST_CASE(jobs_that_were_not_running_pay_for_nothing) {
  for (const EntryState state :
       {EntryState::fetched, EntryState::succeeded, EntryState::interrupted, EntryState::taken_back}) {
    const WorkerEnd end = judge(killed_by(SIGKILL), in_a_job({state, EntryState::fetched}));
    BOOST_TEST(!end.cause.has_value());
    BOOST_TEST(!end.in_order);
    BOOST_TEST(!end.nothing_to_recover);
  }
}

BOOST_AUTO_TEST_CASE(the_running_one_behind_those_that_are_done_is_charged) {
  BOOST_TEST(judge(killed_by(SIGSEGV), in_a_job({EntryState::succeeded, EntryState::running, EntryState::fetched}))
                 .cause.has_value());
}

BOOST_AUTO_TEST_CASE(a_worker_that_retired_leaves_nothing_to_recover) {
  SlotSnapshot last = idle();
  last.retired = true;
  const WorkerEnd end = judge(exited(0), last);
  BOOST_TEST(end.in_order);
  BOOST_TEST(end.nothing_to_recover);
  BOOST_TEST(!end.cause.has_value());
}

BOOST_AUTO_TEST_CASE(a_worker_that_left_without_retiring_has_something_to_recover) {
  const WorkerEnd end = judge(exited(0), idle());
  BOOST_TEST(end.in_order);
  BOOST_TEST(!end.nothing_to_recover);
}

BOOST_AUTO_TEST_CASE(a_worker_that_refused_to_boot_is_no_end_in_order_and_charges_no_job) {
  const WorkerEnd end = judge(exited(78), idle());
  BOOST_TEST(!end.in_order);
  BOOST_TEST(!end.began_a_job);
  BOOST_TEST(!end.cause.has_value());
}

BOOST_AUTO_TEST_CASE(jobs_of_earlier_occupants_do_not_count_as_begun) {
  SlotSnapshot last = idle();
  last.processed = 500;
  WorkerExit exit = exit_of(exited(1), last);
  exit.processed_before = 500;
  BOOST_TEST(!judge_worker_end(exit).began_a_job);
  exit.processed_before = 499;
  BOOST_TEST(judge_worker_end(exit).began_a_job);
}

BOOST_AUTO_TEST_CASE(the_job_that_a_worker_dies_of_is_begun_and_not_done) {
  BOOST_TEST(!judge(killed_by(SIGSEGV), in_a_job()).did_a_job);
  SlotSnapshot later = in_a_job();
  later.processed = 2;
  BOOST_TEST(judge(killed_by(SIGSEGV), later).did_a_job);
  SlotSnapshot between = idle();
  between.processed = 1;
  BOOST_TEST(judge(killed_by(SIGSEGV), between).did_a_job);
  WorkerExit successor = exit_of(killed_by(SIGSEGV), later);
  successor.processed_before = 1;  // what the one before it did is not its own
  BOOST_TEST(!judge_worker_end(successor).did_a_job);
}

BOOST_AUTO_TEST_CASE(the_last_words_tell_the_code_and_the_address) {
  WorkerExit exit = exit_of(killed_by(SIGSEGV), in_a_job());
  exit.stack.state = StackState::header;
  exit.stack.signal = SIGSEGV;
  exit.stack.code = SEGV_MAPERR;
  exit.stack.address = 0x10;
  BOOST_TEST(judge_worker_end(exit).cause.value().message ==
             "SIGSEGV (SEGV_MAPERR) at 0x10 in Segfault, worker 2, up 12s");
}

BOOST_AUTO_TEST_CASE(an_unwinder_that_had_to_be_killed_hides_no_crash) {
  WorkerExit exit = exit_of(killed_by(SIGKILL), in_a_job());
  exit.stack.state = StackState::header;
  exit.stack.signal = SIGSEGV;
  exit.stack.code = SEGV_ACCERR;
  exit.stack.address = 0xbeef;
  const WorkerDeath::Cause cause = judge_worker_end(exit).cause.value();
  BOOST_TEST(cause.error_class == "SIGSEGV");
  BOOST_TEST(cause.message.starts_with("SIGSEGV (SEGV_ACCERR) at 0xbeef in"));
}

BOOST_AUTO_TEST_CASE(a_job_that_outran_its_timeout_is_charged_and_has_not_crashed) {
  SlotSnapshot last = in_a_job({EntryState::being_killed});
  last.started_steady = now - 7s;
  last.deadline = now - 2s;
  const WorkerDeath::Cause cause = judge(killed_by(SIGABRT), last, EndedBy::timeout).cause.value();
  BOOST_TEST(cause.error_class == "JobTimeout");
  BOOST_TEST(cause.message == "ran for 7.0s, longer than its timeout of 5.0s, in Segfault, worker 2, up 12s");
  BOOST_TEST(!cause.counts_as_crash);
}

BOOST_AUTO_TEST_CASE(a_job_ended_by_hand_says_so) {
  SlotSnapshot last = in_a_job({EntryState::being_killed});
  last.started_steady = now - 90s;
  const WorkerDeath::Cause cause = judge(killed_by(SIGABRT), last, EndedBy::by_hand).cause.value();
  BOOST_TEST(cause.error_class == "JobKilled");
  BOOST_TEST(cause.message.starts_with("killed by hand after 90.0s in Segfault"));
  BOOST_TEST(!cause.counts_as_crash);
}

BOOST_AUTO_TEST_CASE(memory_is_charged_to_the_job_that_used_it_up) {
  WorkerExit exit = exit_of(killed_by(SIGKILL), in_a_job());
  exit.memory_limit_bytes = 64 << 20;
  exit.memory = MemoryVerdict::own_limit;
  const WorkerDeath::Cause cause = judge_worker_end(exit).cause.value();
  BOOST_TEST(cause.error_class == "OutOfMemory");
  BOOST_TEST(cause.message.starts_with("out of memory: over the memory_limit of 64 MB in Segfault"));
  exit.memory = MemoryVerdict::host_pressure_guilty;
  BOOST_TEST(judge_worker_end(exit).cause.value().error_class == "OutOfMemory");
  exit.memory = MemoryVerdict::host_pressure_innocent;
  BOOST_TEST(!judge_worker_end(exit).cause.has_value());
}

BOOST_AUTO_TEST_CASE(a_job_that_was_about_to_begin_pays_for_its_workers_own_memory_limit_alone) {
  WorkerExit exit = exit_of(killed_by(SIGABRT), in_a_job({EntryState::fetched}));
  exit.memory_limit_bytes = 64 << 20;
  exit.memory = MemoryVerdict::own_limit;
  BOOST_TEST(!judge_worker_end(exit).cause.has_value());
  const WorkerDeath::Cause cause = judge_worker_end(exit).cause_before_begin.value();
  BOOST_TEST(cause.error_class == "OutOfMemory");
  BOOST_TEST(cause.message == "out of memory: over the memory_limit of 64 MB before the job began, worker 2, up 12s");
  for (const MemoryVerdict other :
       {MemoryVerdict::not_memory, MemoryVerdict::host_pressure_guilty, MemoryVerdict::host_pressure_innocent}) {
    exit.memory = other;
    BOOST_TEST(!judge_worker_end(exit).cause_before_begin.has_value());
  }
  exit.memory = MemoryVerdict::own_limit;
  exit.by = EndedBy::brood;
  BOOST_TEST(!judge_worker_end(exit).cause_before_begin.has_value());
  exit.by = EndedBy::itself;
  BOOST_TEST(judge_worker_end(exit).cause_before_begin.has_value());
  const SlotSnapshot about_to_begin = exit.last;
  exit.last = in_a_job();
  BOOST_TEST(!judge_worker_end(exit).cause_before_begin.has_value());
  // The memory may be that of an earlier job's threads, or of an event's handlers, which run between two jobs.
  exit.last = about_to_begin;
  exit.last.class_flags |= job_left_threads;
  BOOST_TEST(!judge_worker_end(exit).cause_before_begin.has_value());
  exit.last = about_to_begin;
  exit.last.jid = "";
  exit.last.job_class = "Event::heartbeat";
  BOOST_TEST(!judge_worker_end(exit).cause_before_begin.has_value());
}

BOOST_AUTO_TEST_CASE(a_record_without_text_still_makes_a_sentence) {
  SlotSnapshot last = in_a_job();
  last.job_class = "";
  BOOST_TEST(judge(killed_by(SIGSEGV), last).cause.value().message == "SIGSEGV in an unknown class, worker 2, up 12s");
}

BOOST_AUTO_TEST_CASE(an_exit_is_described_for_people) {
  BOOST_TEST(exited(3).describe() == "exited with 3");
  BOOST_TEST(killed_by(SIGSEGV).describe() == "killed by SIGSEGV");
  BOOST_TEST(killed_by(64).describe() == "killed by signal 64");
}

BOOST_AUTO_TEST_CASE(durations_are_short) {
  BOOST_TEST(short_duration(0s) == "0s");
  BOOST_TEST(short_duration(1999ms) == "1s");
  BOOST_TEST(short_duration(119s) == "119s");
  BOOST_TEST(short_duration(12min + 59s) == "12m");
  BOOST_TEST(short_duration(2h) == "2h");
  BOOST_TEST(short_duration(49h) == "49h");
}

BOOST_AUTO_TEST_CASE(what_a_left_thread_ends_between_jobs_is_charged_to_the_job_that_left_it) {
  using enum EntryState;
  SlotSnapshot last = in_a_job({succeeded, succeeded, fetched});
  last.current = -1;
  const auto entries_after = [&](ExitStatus status, std::uint32_t flags, EndedBy by = EndedBy::itself) {
    last.class_flags = flags;
    WorkerExit exit = exit_of(status, last, by);
    blame_who_left_threads(exit);
    return exit.last;
  };

  const SlotSnapshot blamed = entries_after(killed_by(SIGSEGV), job_left_threads | class_has_hooks);
  BOOST_TEST((blamed.entries == std::vector{succeeded, running, fetched}));
  BOOST_TEST(blamed.current == 1);
  BOOST_TEST(judge(killed_by(SIGSEGV), blamed).cause.has_value());

  BOOST_TEST((entries_after(killed_by(SIGSEGV), class_has_hooks).entries == last.entries));
  BOOST_TEST((entries_after(killed_by(SIGKILL), job_left_threads, EndedBy::brood).entries == last.entries));
  BOOST_TEST((entries_after(exited(0), job_left_threads).entries == last.entries));
  last.entries = {succeeded, judged, fetched};
  BOOST_TEST((entries_after(killed_by(SIGSEGV), job_left_threads).entries == std::vector{succeeded, running, fetched}));
  last.entries = {succeeded, running};  // a job runs, and is charged itself
  BOOST_TEST((entries_after(killed_by(SIGSEGV), job_left_threads).entries == last.entries));
  last.entries = {interrupted, fetched};
  BOOST_TEST((entries_after(killed_by(SIGSEGV), job_left_threads).entries == last.entries));
  last.entries = {};
  BOOST_TEST(entries_after(killed_by(SIGSEGV), job_left_threads).entries.empty());
}
