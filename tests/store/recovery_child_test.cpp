#include "worker/recovery/charge_and_return_jobs.hpp"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <set>

#include "shared/base/log.hpp"
#include "shared/job/payload.hpp"
#include "shared/job/retry_decision.hpp"
#include "shared/store/in_flight/crash_book.hpp"
#include "shared/store/keys.hpp"
#include "tests/support/build_id.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/redis_server.hpp"
#include "worker/job/retry_flags.hpp"

using namespace brood;
using namespace std::chrono_literals;
using Fate = WorkerDeath::Fate;

namespace {

const std::string identity = "host:4711:0123456789ab";

// A worker that died in a job, and the content of its slot.
struct Death {
  RedisServer redis;
  TemporaryDirectory directory;
  WorkerDeath worker_death;
  Config config;

  explicit Death(const std::string& payload) {
    log::open({.file = log_file()});
    worker_death.worker.identity = identity;
    worker_death.worker.incarnation = 1;
    worker_death.worker.record = DeadWorker::Record{3, {EntryState::running}};
    WorkerDeath::Cause cause{"SIGSEGV", "SIGSEGV (SEGV_MAPERR) at 0x10 in Segfault, worker 0, up 12s"};
    cause.facts = CrashFacts{};
    cause.facts->pid = 4712;
    cause.facts->signal = SIGSEGV;
    CapturedStack& stack = cause.facts->stack;
    stack.state = StackState::complete;
    stack.signal = SIGSEGV;
    stack.code = SEGV_MAPERR;
    stack.address = 0x10;
    stack.modules = {{0x1000, 0x2000, 0, "1f2e", "/srv/jobs/libjobs.so"}};
    stack.frames = {0x1a2b, 0x1b00};
    stack.pc = 0x1a2b;
    worker_death.cause = std::move(cause);

    redis.command({"HSET", keys::in_flight_hash(identity), "0.1", "3 default"});
    redis.command({"LPUSH", keys::in_flight_list(identity, "0.1", "default"), payload});
  }

  std::string log_file() const { return directory / "log"; }
  std::string log() const {
    log::flush();
    return text_of_file(log_file());
  }
  void examine(RecoveryMode mode = RecoveryMode::full) {
    BOOST_TEST(run_recovery_child({worker_death}, mode, config, redis.address()) == 0);
    BOOST_TEST(jobs_in_flight(redis) == 0U);
  }
  Payload only(const std::string& set) {
    const auto members = redis.zrange(set);
    BOOST_REQUIRE(members.size() == 1U);
    return Payload::parse(members.front().first);
  }
  std::vector<Crash> book() {
    Connection connection(redis.address());
    return read_crashes(connection);
  }
};

// Puts a frame of a real library into the stack, as a crash handler records it.
void put_into_a_library(CapturedStack& stack) {
  const std::string path = BROOD_BINARY_DIR "/tests/job_libraries/libstack_site.so";
  static void* const library = dlopen(path.c_str(), RTLD_NOW);
  BOOST_REQUIRE_MESSAGE(library != nullptr, dlerror());
  link_map* map = nullptr;
  BOOST_REQUIRE(dlinfo(library, RTLD_DI_LINKMAP, &map) == 0);
  stack.frames = {reinterpret_cast<std::uint64_t>(dlsym(library, "return_address"))};
  stack.modules = {{map->l_addr, map->l_addr + 0x10'0000, map->l_addr, build_id_of(path), path}};
}

std::vector<std::string> stack_of(const Payload& job) {
  return decode_backtrace(job.string("error_backtrace").value_or("")).value_or(std::vector<std::string>{});
}

}  // namespace

// The job was fetched from beside its queue, where it had waited for a place of its class's cap.
BOOST_AUTO_TEST_CASE(a_job_that_a_cap_had_set_aside_is_retried_in_its_own_queue) {
  const std::string payload = payload_text("Segfault", "[]");
  Death death(payload);
  death.redis.command({"DEL", keys::in_flight_list(identity, "0.1", "default")});
  death.redis.command({"HSET", keys::in_flight_hash(identity), "0.1", "3 default@k"});
  death.redis.command({"LPUSH", keys::in_flight_list(identity, "0.1", "default@k"), payload});
  death.config.capsules = {{.caps = {{.name = "other", .queues = {"q"}}}},
                           {.caps = {{.name = "k", .queues = {}, .classes = {"Segfault"}}}}};
  death.examine();
  BOOST_TEST(death.only("retry").string("queue").value() == "default");
}

// The worker keeps its configuration to its end.  By now another one applies.
BOOST_AUTO_TEST_CASE(it_is_retried_there_too_when_the_cap_is_configured_no_more) {
  for (const bool was_set_aside : {true, false}) {
    const std::string payload = payload_text("Segfault", "[]");
    Death death(payload);
    death.redis.command({"DEL", keys::in_flight_list(identity, "0.1", "default")});
    death.redis.command({"HSET", keys::in_flight_hash(identity), "0.1", "3 default@heavy"});
    death.redis.command({"LPUSH", keys::in_flight_list(identity, "0.1", "default@heavy"), payload});
    death.redis.command({"SADD", keys::brood_set_aside, was_set_aside ? "default@heavy" : "default@other"});
    death.config.capsules = {{.caps = {{.name = "renamed", .queues = {}, .classes = {"Segfault"}}}}};
    death.examine();
    BOOST_TEST(death.only("retry").string("queue").value() == (was_set_aside ? "default" : "default@heavy"));
    BOOST_TEST(death.book().at(0).queue == (was_set_aside ? "default" : "default@heavy"));
  }
}

BOOST_AUTO_TEST_CASE(a_crash_is_charged_with_its_stack_and_its_facts_and_noted_in_the_book) {
  Death death(payload_text("Segfault", "[]"));
  death.examine();

  const Payload job = death.only("retry");
  BOOST_TEST(job.string("error_class").value() == "SIGSEGV");
  BOOST_TEST(job.integer("retry_count").value() == 0);
  BOOST_TEST(job.integer("crash_count").value() == 1);
  const std::vector<std::string> lines{"#0 libjobs.so+0x1a2b [build id 1f2e]", "#1 libjobs.so+0x1aff [build id 1f2e]"};
  BOOST_TEST(stack_of(job) == lines, boost::test_tools::per_element());
  const JsonObject crash = JsonObject::parse(std::string(job.raw("crash").value()));
  BOOST_TEST(crash.string("code").value() == "SEGV_MAPERR");
  BOOST_TEST(crash.string("address").value() == "0x10");
  BOOST_TEST(crash.raw("build_ids").value() == R"({"libjobs.so":"1f2e"})");

  const std::vector<Crash> book = death.book();
  BOOST_REQUIRE(book.size() == 1U);
  BOOST_TEST(book[0].fingerprint == crash.string("fingerprint").value());
  BOOST_TEST(book[0].job_class == "Segfault");
  BOOST_TEST(book[0].queue == "default");
  BOOST_TEST(book[0].frames == lines, boost::test_tools::per_element());

  const std::string log = death.log();
  for (const char* fact : {"event=job_crashed", "signal=SIGSEGV", "address=0x10", "top=\"#0 libjobs.so+0x1a2b"})
    BOOST_TEST(log.find(fact) != std::string::npos, log);
  BOOST_TEST(log.find("fingerprint=" + book[0].fingerprint) != std::string::npos, log);
  BOOST_TEST(log.find("crash_stack") == std::string::npos);
}

// The library is not loaded for this, since the class has no hooks.
BOOST_AUTO_TEST_CASE(a_crash_goes_by_the_retry_of_its_class_where_the_payload_has_none) {
  const std::string payload = R"({"class":"Segfault","args":[],"jid":"b1"})";
  struct Row {
    std::optional<RetryOption> of_class;
    std::optional<std::string_view> retry;  // of the record; nullopt: there is none
  };
  for (const RecoveryMode mode : {RecoveryMode::full, RecoveryMode::no_library}) {
    for (const auto& [of_class, retry] :
         {Row{RetryOption{RetryOption::Kind::no, 0}, std::nullopt}, Row{RetryOption{RetryOption::Kind::count, 3}, "3"},
          Row{RetryOption{RetryOption::Kind::yes, 0}, "true"}, Row{std::nullopt, "true"}}) {
      Death death(payload);
      death.worker_death.class_flags = flags_of_retry(of_class);
      death.examine(mode);
      if (retry)
        BOOST_TEST(death.only("retry").raw("retry").value() == *retry);
      else
        BOOST_TEST(death.redis.size_of("retry") == 0U);
      BOOST_TEST(death.redis.size_of("dead") == 0U);
    }
    // The payload wins.
    Death death(R"({"class":"Segfault","args":[],"jid":"b1","retry":7})");
    death.worker_death.class_flags = flags_of_retry(RetryOption{RetryOption::Kind::no, 0});
    death.examine(mode);
    BOOST_TEST(death.only("retry").raw("retry").value() == "7");
  }
}

// The supervisor ends a child that makes no progress for some seconds, and the next child dares less.
BOOST_AUTO_TEST_CASE(each_answer_of_redis_is_progress_however_few_bytes_it_has) {
  Death death(payload_text("Segfault", "[]"));
  std::atomic<std::uint64_t> progress = 0;
  BOOST_TEST(run_recovery_child({death.worker_death}, RecoveryMode::no_library, death.config, death.redis.address(),
                                &progress) == 0);
  BOOST_TEST(progress.load() > 500'000U);  // some answers, each as much as a slow line moves in ten seconds
}

BOOST_AUTO_TEST_CASE(all_that_a_silent_supervisor_held_is_left_to_it_when_it_beats_again) {
  Death death(payload_text("Segfault", "[]"));
  death.redis.command({"SET", identity, "beats"});
  const RecoveryResult result = recover_orphaned_jobs({identity, {}, true}, death.config, death.redis.address());
  BOOST_TEST(result.owner_lives);
  BOOST_TEST(jobs_in_flight(death.redis) == 1U);

  death.redis.command({"DEL", identity});
  BOOST_TEST(!recover_orphaned_jobs({identity, {}, true}, death.config, death.redis.address()).owner_lives);
  BOOST_TEST(jobs_in_flight(death.redis) == 0U);
}

BOOST_AUTO_TEST_CASE(names_are_found_unless_they_are_to_be_left_out) {
  struct Case {
    RecoveryMode mode;
    bool leave_out;
    std::string function;
  };
  const std::string place = "(libstack_site.so+", name = "#0 return_address at stack_site.cpp:3 " + place;
  std::set<std::string> fingerprints;
  for (const Case& c : {Case{RecoveryMode::full, false, name}, Case{RecoveryMode::full, true, "#0 libstack_site.so+"},
                        Case{RecoveryMode::no_library, false, "#0 libstack_site.so+"}}) {
    Death death(payload_text("Segfault", "[]"));
    death.worker_death.leave_out_symbols = c.leave_out;
    put_into_a_library(death.worker_death.cause->facts->stack);
    death.examine(c.mode);

    const Payload job = death.only("retry");
    BOOST_REQUIRE(stack_of(job).size() == 1U);
    BOOST_TEST(stack_of(job)[0].starts_with(c.function), stack_of(job)[0]);
    fingerprints.insert(death.book().at(0).fingerprint);
  }
  BOOST_TEST(fingerprints.size() == 1U);  // names or no names
}

BOOST_AUTO_TEST_CASE(each_repetition_dares_less) {
  Death death(payload_text("Segfault", "[]"));
  death.examine(RecoveryMode::no_library);
  BOOST_TEST(stack_of(death.only("retry")).size() == 2U);

  Death worse(payload_text("Segfault", "[]"));
  worse.examine(RecoveryMode::move_to_dead);
  const Payload job = worse.only("dead");
  BOOST_TEST(job.string("error_class").value() == "SIGSEGV");
  BOOST_TEST(!job.raw("error_backtrace"));
  BOOST_TEST(job.raw("crash").has_value());
}

BOOST_AUTO_TEST_CASE(a_crash_that_is_stored_nowhere_is_told_whole_in_the_log) {
  Death death(payload_text("Segfault", "[]", 7, R"("retry":false)"));
  death.examine();

  BOOST_TEST(death.redis.size_of("retry") + death.redis.size_of("dead") == 0U);
  const std::string log = death.log();
  for (const char* fact : {"event=crash_stack", "jid=000000000000000000000007", "#1 libjobs.so+0x1aff", "SEGV_MAPERR"})
    BOOST_TEST(log.find(fact) != std::string::npos, log);
  BOOST_TEST(death.book().size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_job_ended_by_hand_has_the_fate_that_was_chosen_and_is_charged_nothing) {
  for (const char* retry : {R"("retry":true)", R"("retry":false)"}) {
    Death death(payload_text("Sleep", "[1]", 1, retry));
    death.worker_death.cause->error_class = "Killed";
    death.worker_death.fate = Fate::retry;
    death.examine();
    const Payload job = death.only("retry");
    BOOST_TEST(!job.raw("retry_count"));
    BOOST_TEST(!job.raw("crash_count"));
    BOOST_TEST(job.string("error_class").value() == "Killed");
    BOOST_TEST(stack_of(job).size() == 2U);
    BOOST_TEST(death.book().empty());
    BOOST_TEST(death.log().find("event=job_ended_by_hand") != std::string::npos);
  }

  Death dead(payload_text("Sleep", "[1]"));
  dead.worker_death.fate = Fate::dead;
  dead.examine();
  BOOST_TEST(stack_of(dead.only("dead")).size() == 2U);
  BOOST_TEST(!dead.only("dead").raw("retry_count"));

  for (const RecoveryMode mode : {RecoveryMode::full, RecoveryMode::move_to_dead}) {
    Death discarded(payload_text("Sleep", "[1]"));
    discarded.worker_death.fate = Fate::discard;
    discarded.examine(mode);
    for (const char* key : {"retry", "dead", "queue:default"}) BOOST_TEST(discarded.redis.size_of(key) == 0U);
    BOOST_TEST(discarded.log().find("now_in=nothing") != std::string::npos);
  }

  Death without_cause(payload_text("Sleep", "[1]"));
  without_cause.worker_death.cause.reset();
  without_cause.worker_death.fate = Fate::retry;
  without_cause.examine();
  BOOST_TEST(without_cause.only("retry").string("error_class").value() == "Killed");
}

BOOST_AUTO_TEST_CASE(a_crash_is_charged_where_its_book_cannot_be_kept) {
  Death death(payload_text("Segfault", "[]"));
  death.redis.command({"SET", "brood:crashes", "somebody's"});
  death.examine();
  BOOST_TEST(death.only("retry").raw("crash").has_value());
}
