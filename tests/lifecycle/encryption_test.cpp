#include <sys/resource.h>
#include <sys/stat.h>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "shared/job/payload.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/file_text.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string sealed_library = BROOD_BINARY_DIR "/tests/job_libraries/libsealed_jobs.so";
const std::string for_all = BROOD_BINARY_DIR "/tests/job_libraries/libarguments_for_all.so";
const std::string card = R"({"number":"4111222233334444","cvc":737})", number = "4111222233334444";

bool tells(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A brood with keys, whose configuration can be changed.
struct Vault {
  RedisServer redis;
  TemporaryDirectory directory;
  const std::string told = directory / "told", failures = directory / "failures", config = directory / "brood.toml";
  std::optional<BroodProcess> brood;

  explicit Vault(std::vector<std::string> libraries = {sealed_library}) {
    write_key(1, "0123456789abcdef0123456789abcdef");
    const std::string program =
        directory.write("say", "#!/bin/sh\n{ echo \"words $*\"; echo \"input $(cat)\"; } >>\"" + told + "\"\n");
    chmod(program.c_str(), 0755);
    const std::string hears = directory.write("hear", "#!/bin/sh\ncat >>'" + failures + "'\n");
    chmod(hears.c_str(), 0755);
    configure("1 = \"" + key(1) + "\"\n",
              "[commands.Say]\nrun = [\"" + program + "\", \"{1}\", \"{2}\"]\n[on_error]\nrun = [\"" + hears + "\"]\n");
    brood.emplace(
        redis,
        BroodOptions{
            .workers = 1, .sets_workers = false, .libraries = std::move(libraries), .arguments = {"-C", config}});
    BOOST_REQUIRE_MESSAGE(brood->wait_ready(), brood->log_tail());
  }
  std::string key(int version) const { return directory / ("key" + std::to_string(version)); }
  void write_key(int version, const std::string& bytes) const {
    std::filesystem::remove(key(version));
    directory.write("key" + std::to_string(version), bytes);
    chmod(key(version).c_str(), 0400);
  }
  void configure(const std::string& keys, const std::string& more = "") const {
    std::ofstream(config) << "concurrency = 1\npoll_interval = \"50ms\"\n" << more << "[encryption.keys]\n" << keys;
  }
  CommandResult command(std::vector<std::string> words) const {
    auto environment = brood->environment();
    environment["REDIS_URL"] = redis.url();
    words.insert(words.end(), {"-C", config});
    return run_brood(words, environment);
  }
  void push(const std::string& job_class, const std::string& what, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words{"enqueue", job_class, told, what, card, "--encrypt"};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult pushed = command(words);
    BOOST_TEST(pushed.status == 0, pushed.errors);
  }
  // A payload that no worker has seen: in a queue that none serves.
  std::string stored(const std::string& what, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"-q", "later"};
    words.insert(words.end(), more.begin(), more.end());
    push("Charge", what, words);
    const std::string payload = redis.lrange("queue:later").at(0);
    redis.command({"DEL", "queue:later"});
    return payload;
  }
  std::string retry() {
    const auto all = redis.zrange("retry");
    return all.size() == 1 ? all.front().first : "";
  }
  std::vector<std::string> lines() const { return lines_of_file(told); }
  bool said(const std::string& line) const {
    const auto all = lines();
    return std::find(all.begin(), all.end(), line) != all.end();
  }
  bool comes(const std::function<bool()>& state) const {
    const bool came = eventually(state, 30s);
    BOOST_TEST(came, brood->log_tail() + text_of_file(told));
    return came;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_encrypted_argument_is_in_clear_in_the_job_and_nowhere_else) {
  Vault vault;
  vault.push("Charge", "pay", {"-q", "later"});
  const std::string stored = vault.redis.lrange("queue:later").at(0);
  BOOST_TEST(!tells(stored, number), stored);
  BOOST_TEST(tells(stored, "\"brood1.1."), stored);
  BOOST_TEST(Payload::parse(stored).raw("encrypt").value_or("") == "true");
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"queues", "show", "later"}, {"queues", "show", "later", "--json"}}) {
    const std::string shown = vault.command(words).output;
    BOOST_TEST(tells(shown, "[encrypted data]"), shown);
  }
  for (const std::string job_class : {"Charge", "ChargeApart"}) {
    vault.push(job_class, "fail");
    BOOST_REQUIRE(vault.comes([&] { return !vault.retry().empty(); }));
    const std::string record = vault.retry();
    BOOST_TEST(!tells(record, number), record);
    BOOST_TEST(tells(record, "no money"), record);
    const std::string listed = vault.command({"retries", "list"}).output;
    BOOST_TEST(tells(listed, "[encrypted data]"), listed);
    // The retry sends the same bytes again.
    make_retries_due(vault.redis);
    std::string later;
    BOOST_REQUIRE(vault.comes([&] { return !(later = vault.retry()).empty() && later != record; }));
    const Payload again = Payload::parse(later);
    BOOST_TEST(again.args() == Payload::parse(record).args());
    vault.redis.command({"DEL", "retry"});
  }
  BOOST_TEST(vault.said("fail " + number + " 737"));
  BOOST_TEST(vault.said("fail " + number));
  BOOST_TEST(vault.said("retry " + number));
  BOOST_TEST(!tells(vault.brood->log(), number), vault.brood->log_tail());
}

BOOST_AUTO_TEST_CASE(a_job_in_clear_of_a_class_that_encrypts_is_warned_of_or_refused) {
  Vault vault;
  const auto push_in_clear = [&](const std::string& job_class, const std::string& what) {
    enqueue(vault.redis, {payload_text(job_class, "[\"" + vault.told + "\",\"" + what + "\"," + card + "]")});
  };
  vault.configure("1 = \"" + vault.key(1) + "\"\n", "[encryption]\nrequire = false\n");
  BOOST_TEST(run_brood({"restart"}, vault.brood->environment()).status == 0);
  for (const std::string job_class : {"Charge", "Charge", "ChargeApart"}) push_in_clear(job_class, "pay");
  BOOST_TEST(vault.comes([&] { return vault.lines().size() == 3u; }));
  BOOST_TEST(times_logged(*vault.brood, "job_in_clear") == 2u, vault.brood->log_tail());

  vault.configure("1 = \"" + vault.key(1) + "\"\n");
  BOOST_TEST(run_brood({"restart"}, vault.brood->environment()).status == 0);
  push_in_clear("Charge", "refused");
  push_in_clear("ChargeApart", "refused");
  vault.push("Charge", "sealed");
  BOOST_TEST(vault.comes([&] { return vault.redis.size_of("dead") == 2u && vault.said("sealed " + number + " 737"); }));
  for (const auto& [record, score] : vault.redis.zrange("dead"))
    BOOST_TEST(tells(record, R"("error_class":"NotEncrypted")"), record);
  BOOST_TEST(!tells(text_of_file(vault.told), "refused"));
}

BOOST_AUTO_TEST_CASE(a_job_passes_on_what_it_was_given_and_middleware_may_change_the_payload) {
  Vault vault;
  vault.push("Charge", "pass on");
  BOOST_TEST(vault.comes([&] { return vault.said("passed on " + number + " 737"); }));
  // The same payload with another member, which makes the middleware change it.
  const Payload stored = Payload::parse(vault.stored("changed"));
  enqueue(vault.redis, {stored.with({{"marked", "1"}}).text()});
  BOOST_TEST(vault.comes([&] { return vault.said("changed " + number + " 737 told"); }));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_decrypted_is_dead_at_once_with_its_bytes) {
  Vault vault;
  for (const std::string job_class : {"Charge", "ChargeApart"}) {
    const auto dies = [&](const std::string& last, const std::string& why) {
      const std::string args = "[\"" + vault.told + "\",\"dies\"," + last + "]";
      const std::string payload = payload_text(job_class, args, 1, "\"encrypt\":true");
      enqueue(vault.redis, {payload});
      BOOST_REQUIRE(vault.comes([&] { return vault.redis.size_of("dead") == 1; }));
      const Payload record = Payload::parse(vault.redis.zrange("dead").front().first);
      BOOST_TEST(record.string("error_class").value_or("") == "DecryptionError");
      BOOST_TEST(tells(record.string("error_message").value_or(""), why), record.text());
      BOOST_TEST(record.args() == args);
      BOOST_TEST(!record.raw("retry_count").has_value());
      BOOST_TEST(vault.redis.size_of("retry") == 0u);
      vault.redis.command({"DEL", "dead"});
    };
    dies(R"("brood1.2.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")", "no key of version 2");
    dies(R"("brood1.1.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")", "this class and jid");
    dies(R"({"number":"4111"})", "no envelope");
    dies(R"("plain text")", "no envelope");
  }
  BOOST_TEST(vault.lines().size() == 8u);  // written by the death handlers
  std::string failures;
  BOOST_TEST(vault.comes([&] {
    failures = text_of_file(vault.failures);
    return std::count(failures.begin(), failures.end(), '\n') == 8;
  }));
  BOOST_TEST(tells(failures, R"("error_class":"DecryptionError","error_message":")"), failures);
  BOOST_TEST(!vault.said("dies 4111"));
  // An argument that was encrypted for another job is refused: swapping arguments gains nothing.
  const Payload one = Payload::parse(vault.stored("swapped", {"--jid", "one"}));
  enqueue(vault.redis, {one.with({{"jid", "\"two\""}}).text()});
  BOOST_TEST(vault.comes([&] { return vault.redis.size_of("dead") == 1; }));
}

BOOST_AUTO_TEST_CASE(no_message_of_ours_shows_an_argument_that_does_not_fit) {
  Vault vault;
  BOOST_TEST(vault
                 .command({"enqueue", "Charge", vault.told, "misfit", R"({"number":4111222233334444})", "--encrypt",
                           "--unchecked"})
                 .status == 0);
  BOOST_REQUIRE(vault.comes([&] { return vault.redis.size_of("retry") == 1; }));
  const std::string record = vault.redis.zrange("retry").front().first;
  BOOST_TEST(tells(record, "ArgumentError"), record);
  BOOST_TEST(!tells(record, number), record);
  BOOST_TEST(!tells(vault.brood->log(), number), vault.brood->log_tail());
}

BOOST_AUTO_TEST_CASE(a_program_reads_it_from_its_input_and_never_in_its_words) {
  Vault vault;
  vault.push("Say", "hello");
  BOOST_REQUIRE(vault.comes([&] { return vault.lines().size() >= 2; }));
  BOOST_TEST(vault.said("words hello [encrypted data]"));
  BOOST_TEST(vault.lines().at(1).starts_with("input {"));
  BOOST_TEST(tells(vault.lines().at(1), card), vault.lines().at(1));
}

BOOST_AUTO_TEST_CASE(a_program_whose_arguments_middleware_has_changed_has_none_in_its_words) {
  Vault vault({sealed_library, for_all});
  for (const char* change : {"appended", "opened"}) {
    vault.push("Say", "hello", {"-q", "later", "--jid", change});
    const Payload stored = Payload::parse(vault.redis.lrange("queue:later").at(0));
    vault.redis.command({"DEL", "queue:later"});
    enqueue(vault.redis, {stored.with({{change, "1"}}).text()});
    BOOST_REQUIRE(vault.comes([&] { return vault.lines().size() >= 2; }));
    BOOST_TEST(vault.said("words [encrypted data] [encrypted data]"), vault.lines().at(0));
    BOOST_TEST(tells(vault.lines().at(1), card), vault.lines().at(1));
    std::filesystem::remove(vault.told);
  }
}

BOOST_AUTO_TEST_CASE(a_process_that_has_decrypted_leaves_no_core_file) {
  rlimit limit{};
  getrlimit(RLIMIT_CORE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_CORE, &limit);
  Vault vault;
  const auto core_limit = [&] {
    const std::vector<pid_t> workers = vault.brood->workers();
    return workers.empty() ? std::string() : text_of_file("/proc/" + std::to_string(workers.front()) + "/limits");
  };
  const auto line_of = [](const std::string& limits) {
    const std::size_t at = limits.find("Max core file size");
    return at == limits.npos ? std::string() : limits.substr(at, limits.find('\n', at) - at);
  };
  const std::string before = line_of(core_limit());
  vault.push("ChargeApart", "apart");
  BOOST_REQUIRE(vault.comes([&] { return vault.said("apart " + number); }));
  BOOST_TEST(line_of(core_limit()) == before);  // the job had a process of its own
  vault.push("Charge", "pay");
  const std::vector<pid_t> workers = vault.brood->workers();
  BOOST_REQUIRE(vault.comes([&] { return vault.said("pay " + number + " 737") && no_job_is_left(vault.redis); }));
  // Measured after it has repaired what the job left behind, at the same point of the next job.
  vault.push("Charge", "again");
  BOOST_REQUIRE(vault.comes([&] { return vault.said("again " + number + " 737") && no_job_is_left(vault.redis); }));
  BOOST_TEST(vault.brood->workers() == workers, boost::test_tools::per_element());
  BOOST_TEST(tells(line_of(core_limit()), " 1    "), line_of(core_limit()));

  vault.push("Charge", "crash");
  BOOST_REQUIRE(vault.comes([&] { return vault.redis.size_of("retry") == 1; }));
  const std::string record = vault.redis.zrange("retry").front().first;
  BOOST_TEST(tells(record, "SIGSEGV"), record);
  BOOST_TEST(!tells(record, number), record);
  BOOST_TEST(!tells(record, "\"core\":\""), record);
  BOOST_TEST(vault.said("retry " + number));  // the hook of the crashed job, in a process of its own
  BOOST_TEST(!tells(vault.brood->log(), number), vault.brood->log_tail());
}

// Calls the hook on the job itself, which is built from its arguments.
BOOST_AUTO_TEST_CASE(an_orphan_s_hook_is_given_what_was_encrypted) {
  Vault vault;
  vault.push("Charge", "hang");
  for (std::size_t run = 1; run <= 3; ++run) {
    BOOST_REQUIRE(vault.comes([&] { return vault.lines().size() == run; }));
    kill_with_workers(*vault.brood);
    vault.brood->start();
  }
  BOOST_TEST(vault.comes([&] { return vault.said("exhausted by Orphaned " + number); }));
  BOOST_REQUIRE(vault.comes([&] { return vault.redis.size_of("dead") == 1; }));
  const std::string record = vault.redis.zrange("dead").front().first;
  BOOST_TEST(!tells(record, number), record);
}

BOOST_AUTO_TEST_CASE(keys_change_at_a_restart_and_a_key_that_is_none_is_refused) {
  Vault vault;
  vault.write_key(2, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef");
  const std::string old = vault.stored("old");
  vault.configure("1 = \"" + vault.key(1) + "\"\n2 = \"" + vault.key(2) + "\"\n");
  const std::string fresh = vault.stored("new");
  BOOST_TEST(tells(old, "brood1.1."));
  BOOST_TEST(tells(fresh, "brood1.2."));
  BOOST_TEST(run_brood({"restart"}, vault.brood->environment()).status == 0);
  enqueue(vault.redis, {old, fresh});
  BOOST_TEST(vault.comes([&] { return vault.said("old " + number + " 737") && vault.said("new " + number + " 737"); }));

  vault.write_key(2, "too short");
  const CommandResult checked = run_brood({"run", "--check", "-C", vault.config, "--redis", vault.redis.url()});
  BOOST_TEST(checked.status == 78);
  BOOST_TEST(tells(checked.errors + checked.output, "key2 holds no key"), checked.errors + checked.output);
  const CommandResult restarted = run_brood({"restart"}, vault.brood->environment());
  BOOST_TEST(restarted.status == 78);
  BOOST_TEST(tells(restarted.errors, "nothing has changed"), restarted.errors);
  const CommandResult pushed = vault.command({"enqueue", "Charge", vault.told, "x", card, "--encrypt"});
  BOOST_TEST(pushed.status == 64);
  BOOST_TEST(tells(pushed.errors, "cannot be encrypted"), pushed.errors);
  vault.configure("");
  BOOST_TEST(vault.command({"enqueue", "Charge", vault.told, "x", card, "--encrypt"}).status == 64);
  BOOST_TEST(vault.redis.size_of("queue:default") == 0u);
}
