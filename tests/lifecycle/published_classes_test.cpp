#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "shared/json/json.hpp"
#include "tests/support/brood_process.hpp"
#include "tests/support/enqueue.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/faults.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/json_member.hpp"

using namespace brood;
using namespace std::chrono_literals;

namespace {

const std::string first_build = BROOD_BINARY_DIR "/tests/job_libraries/libdescribed_jobs_1.so";
const std::string second_build = BROOD_BINARY_DIR "/tests/job_libraries/libdescribed_jobs_2.so";

bool tells(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A brood whose library can be replaced, on queues that keep what is pushed.
struct Publisher {
  RedisServer redis;
  TemporaryDirectory directory;
  const std::string library = directory / "libjobs.so", key = directory / "key", config = directory / "brood.toml";
  BroodProcess brood;

  explicit Publisher(const std::string& more = "") : brood(redis, options(more)) {
    BOOST_REQUIRE_MESSAGE(brood.wait_ready(), brood.log_tail());
    BOOST_REQUIRE_MESSAGE(eventually([&] { return show("ResizeImage").status == 0; }), brood.log_tail());
  }
  BroodOptions options(const std::string& more) {
    deploy(first_build);
    directory.write("key", "0123456789abcdef0123456789abcdef");
    chmod(key.c_str(), 0400);
    std::ofstream(config) << "queues = [\"served\"]\npoll_interval = \"50ms\"\n"
                          << more << "\n[encryption.keys]\n1 = \"" << key << "\"\n";
    return {.workers = 1, .libraries = {library}, .arguments = {"-C", config}};
  }
  void deploy(const std::string& build) const {
    std::filesystem::copy_file(build, library + ".new", std::filesystem::copy_options::overwrite_existing);
    std::filesystem::rename(library + ".new", library);
  }
  CommandResult command(std::vector<std::string> words) const {
    auto environment = brood.environment();
    environment["REDIS_URL"] = redis.url();
    words.insert(words.end(), {"-C", config});
    return run_brood(words, environment);
  }
  CommandResult show(const std::string& name) const { return command({"classes", "show", name, "--json"}); }
  CommandResult enqueue(std::vector<std::string> words) const {
    words.insert(words.begin(), "enqueue");
    return command(words);
  }
  std::string waiting_in(const std::string& queue) {
    const std::vector<std::string> jobs = redis.lrange("queue:" + queue);
    return jobs.empty() ? "" : jobs.front();
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(workers_publish_their_classes_and_a_push_goes_by_them) {
  Publisher site("[commands.Say]\nrun = [\"/bin/echo\"]\n");
  const std::string shown = site.show("ResizeImage").output;
  BOOST_TEST(member(member(shown, "options"), "queue") == "\"images\"");
  BOOST_TEST(tells(shown, R"({"name":"width","type":"integer","required":true)"), shown);
  const CommandResult text = site.command({"classes", "show", "ResizeImage", "NightlyReport", "Say"});
  BOOST_TEST(text.status == 0);
  for (const char* part : {"images", "30s", "path", "unique_by", "customer", "a program"})
    BOOST_TEST(tells(text.output, part), text.output);
  const CommandResult unknown = site.command({"classes", "show", "ResizeImge"});
  BOOST_TEST(unknown.status == 1);
  BOOST_TEST(tells(unknown.errors, "did you mean \"ResizeImage\"?"));

  BOOST_TEST(site.enqueue({"ResizeImage", "cat.png", "320"}).status == 0);
  const std::string payload = site.waiting_in("images");
  BOOST_TEST(member(payload, "retry") == "5");
  BOOST_TEST(member(payload, "tags") == "[\"slow\"]");
  BOOST_TEST(member(payload, "expires_in") == "3600");
  BOOST_TEST(site.enqueue({"ResizeImage", "cat.png", "320", "-q", "other", "--retry", "1"}).status == 0);
  BOOST_TEST(member(site.waiting_in("other"), "retry") == "1");

  BOOST_TEST(site.enqueue({"NightlyReport", "7", "monday"}).status == 0);
  const CommandResult doubled = site.enqueue({"NightlyReport", "7", "tuesday"});
  BOOST_TEST(doubled.status == 75, doubled.errors);
  const std::string holder = json_unescape(member(site.waiting_in("reports"), "jid"));
  BOOST_TEST(doubled.errors == "brood enqueue: not pushed: job " + holder + " holds the lock of this one\n");
  BOOST_TEST(site.enqueue({"NightlyReport", "8", "monday"}).status == 0);
  BOOST_TEST(site.redis.size_of("queue:reports") == 2u);
}

BOOST_AUTO_TEST_CASE(a_misspelt_class_and_a_wrong_argument_are_refused_unless_unchecked) {
  Publisher site;
  const CommandResult misspelt = site.enqueue({"ResizeImge", "cat.png", "320"});
  BOOST_TEST(misspelt.status == 64);
  BOOST_TEST(tells(misspelt.errors, "did you mean \"ResizeImage\"?"), misspelt.errors);
  const CommandResult wrong = site.enqueue({"ResizeImage", "cat.png", "wide"});
  BOOST_TEST(wrong.status == 64);
  BOOST_TEST(tells(wrong.errors, "argument 2 (width): expected an integer"), wrong.errors);
  BOOST_TEST(site.enqueue({"ResizeImage", "cat.png"}).status == 64);
  BOOST_TEST(site.redis.size_of("queue:images") == 0u);
  BOOST_TEST(site.redis.size_of("queue:default") == 0u);

  BOOST_TEST(site.enqueue({"ResizeImge", "cat.png", "320", "--unchecked"}).status == 0);
  BOOST_TEST(site.enqueue({"Ruby::HardWorker", "1"}).status == 0);
  BOOST_TEST(site.redis.size_of("queue:default") == 2u);
  BOOST_TEST(site.enqueue({"ResizeImage", "cat.png", "wide", "--unchecked"}).status == 0);
  BOOST_TEST(site.redis.size_of("queue:images") == 1u);
}

BOOST_AUTO_TEST_CASE(of_a_bulk_what_is_refused_is_listed_line_by_line_and_the_rest_is_pushed) {
  Publisher site;
  const std::string file = site.directory.write("jobs", R"({"class":"ResizeImage","args":["a",1]}
{"class":"ResizeImge","args":["b",2]}
{"class":"ResizeImage","args":["c","d"]}

{"class":"ResizeImage","args":["e",5],"queue":"mine"}
)");
  const CommandResult bulk = site.enqueue({"--bulk", file, "--json"});
  BOOST_TEST(bulk.status == 64);
  BOOST_TEST(bulk.output == "{\"pushed\":2,\"refused\":0,\"unfit\":2}\n");
  BOOST_TEST(tells(bulk.errors, file + ":2: "), bulk.errors);
  BOOST_TEST(tells(bulk.errors, file + ":3: "), bulk.errors);
  BOOST_TEST(site.redis.size_of("queue:images") == 1u);
  BOOST_TEST(site.redis.size_of("queue:mine") == 1u);
  BOOST_TEST(site.enqueue({"--bulk", file, "--unchecked"}).status == 0);
}

BOOST_AUTO_TEST_CASE(an_argument_of_a_class_that_encrypts_is_encrypted_at_the_push_and_dies_in_clear_at_the_worker) {
  Publisher site;
  const std::string told = site.directory / "told";
  BOOST_TEST(site.enqueue({"Tell", told, "secret-4111", "-q", "served"}).status == 0);
  BOOST_TEST(eventually([&] { return text_of_file(told) == "secret-4111\n"; }), site.brood.log_tail());
  BOOST_TEST(site.enqueue({"Tell", told, "secret-4112"}).status == 0);
  BOOST_TEST(!tells(site.waiting_in("tales"), "4112"));

  const std::string bulk =
      site.directory.write("jobs", R"({"class":"Tell","args":["x","secret-4113"],"encrypt":false})");
  const CommandResult refused = site.enqueue({"--bulk", bulk});
  BOOST_TEST(refused.status == 64);
  BOOST_TEST(tells(refused.errors, "in clear"), refused.errors);
  const std::string made = site.directory.write(
      "made", R"({"class":"Tell","args":["x","secret-4116"],"encrypt":true,"jid":"j2","created_at":1.5})");
  BOOST_TEST(site.enqueue({"--bulk", made}).status == 64);
  BOOST_TEST(site.enqueue({"Tell", told, "4114"}).status == 64);
  BOOST_TEST(!tells(site.enqueue({"Tell", told, "4114"}).errors, "4114"));

  enqueue(site.redis, {R"({"class":"Tell","args":[")" + told + R"(","secret-4115"],"jid":"j1","queue":"served"})"},
          "served");
  BOOST_TEST(eventually([&] { return site.redis.size_of("dead") == 1u; }), site.brood.log_tail());
  BOOST_TEST(!tells(text_of_file(told), "4115"));
}

BOOST_AUTO_TEST_CASE(during_a_rolling_restart_both_builds_are_shown_and_either_may_take_the_arguments) {
  Publisher site;
  const std::string before = member(site.show("ResizeImage").output, "builds");
  site.deploy(second_build);
  site.brood.signal(SIGHUP);
  BOOST_REQUIRE_MESSAGE(
      eventually([&] { return tells(site.show("ResizeImage").output, "\"queue\":\"pictures\""); }, 60s),
      site.brood.log_tail());
  const std::string shown = site.show("ResizeImage").output;
  BOOST_TEST(member(member(shown, "options"), "queue") == "\"pictures\"");
  BOOST_TEST(tells(shown, "\"queue\":\"images\""), shown);
  BOOST_TEST(site.enqueue({"ResizeImage", "cat.png", "320", "80"}).status == 0);
  BOOST_TEST(site.enqueue({"ResizeImage", "cat.png", "320"}).status == 0);
  BOOST_TEST(site.redis.size_of("queue:pictures") == 2u);
}

BOOST_AUTO_TEST_CASE(periodic_rules_and_callbacks_of_batches_go_by_their_classes) {
  Publisher site("[periodic.resize]\ncron = \"* * * * *\"\nclass = \"ResizeImage\"\nargs = [\"a\", 1]\n");
  BOOST_REQUIRE(eventually([&] { return site.command({"periodic", "run", "resize"}).status == 0; }));
  BOOST_REQUIRE(eventually([&] {
    site.command({"periodic", "run", "resize"});
    return site.redis.size_of("queue:images") > 0;
  }));
  BOOST_TEST(member(site.waiting_in("images"), "retry") == "5");

  const std::string empty = site.directory.write("none", "");
  const auto push = [&](const std::string& callback) {
    return site.command({"batches", "push", empty, "--on-success", callback});
  };
  BOOST_TEST(push("ResizeImage:[\"b\",2]").status == 0);
  BOOST_TEST(eventually([&] { return tells(site.waiting_in("images"), "[\"b\",2]"); }));
  const CommandResult wrong = push("NightlyReport:[\"x\",\"monday\"]");
  BOOST_TEST(wrong.status == 64);
  BOOST_TEST(tells(wrong.errors, "argument 1 (customer): expected an integer"), wrong.errors);
  BOOST_TEST(push("NightlyRaport:[7,\"monday\"]").status == 64);
}

BOOST_AUTO_TEST_CASE(a_callback_that_is_unique_is_refused_unless_it_is_unchecked) {
  Publisher site;
  const std::string file = site.directory.write("jobs", R"({"class":"ResizeImage","args":["a",1]})");
  const std::vector<std::string> words{"batches", "push", file, "--on-success", "NightlyReport:[7,\"monday\"]"};
  const CommandResult refused = site.command(words);
  BOOST_TEST(refused.status == 64);
  BOOST_TEST(tells(refused.errors, "a callback or a step is not unique: it runs once where it belongs"),
             refused.errors);
  BOOST_TEST(site.redis.size_of("queue:images") == 0u);
  std::vector<std::string> unchecked = words;
  unchecked[2] = site.directory.write("none", "");
  unchecked.emplace_back("--unchecked");
  BOOST_TEST(site.command(unchecked).status == 0);
  BOOST_TEST(eventually([&] { return site.redis.size_of("queue:reports") == 1u; }));
  BOOST_TEST(!tells(site.waiting_in("reports"), "unique"));
}

BOOST_AUTO_TEST_CASE(no_tick_goes_elsewhere_before_workers_have_told_their_classes) {
  Publisher site("[periodic.resize]\ncron = \"* * * * * *\"\nclass = \"ResizeImage\"\nargs = [\"a\", 1]\n");
  BOOST_TEST(eventually([&] { return site.redis.size_of("queue:images") >= 1u; }), site.brood.log_tail());
  site.brood.kill9();
  const std::size_t before = site.redis.size_of("queue:images");
  site.brood.start();
  BOOST_REQUIRE_MESSAGE(site.brood.wait_ready(), site.brood.log_tail());
  BOOST_TEST(eventually([&] { return site.redis.size_of("queue:images") > before; }), site.brood.log_tail());
  BOOST_TEST(site.redis.size_of("queue:default") == 0u);
  BOOST_TEST(member(site.waiting_in("images"), "retry") == "5");
}

BOOST_AUTO_TEST_CASE(hostile_contents_are_ignored_with_a_warning_and_published_again) {
  Publisher site;
  site.redis.command({"HSET", "brood:classes", "evil", "{\"classes\":{\"ResizeImage\":", "odd",
                      R"({"classes":{"ResizeImage":7,"Odd":{"fields":[1]}}})"});
  site.redis.command({"HSET", "brood:classes:seen", "evil", "1 9999999999", "odd", "9999999998 9999999999", "x", "y"});
  const CommandResult pushed = site.enqueue({"ResizeImage", "cat.png", "320"});
  BOOST_TEST(pushed.status == 0, pushed.errors);
  BOOST_TEST(tells(pushed.errors, "is ignored"), pushed.errors);
  BOOST_TEST(site.redis.size_of("queue:images") == 1u);
  BOOST_TEST(site.enqueue({"Odd", "1"}).status == 0);

  site.redis.command({"DEL", "brood:classes", "brood:classes:seen"});
  site.redis.command({"SET", "brood:classes", "x"});
  BOOST_TEST(site.enqueue({"ResizeImge", "cat.png", "320"}).status == 0);  // nothing is known, so nothing is refused
}

BOOST_AUTO_TEST_CASE(a_periodic_rule_of_a_class_that_encrypts_is_refused) {
  Publisher site;
  const auto add = [&] {
    return site.command(
        {"periodic", "add", "added", "--cron", "0 3 * * *", "--class", "Tell", "--args", R"(["p","w"])"});
  };
  const CommandResult added = add();
  BOOST_TEST(added.status == 64);
  BOOST_TEST(tells(added.errors, "Tell encrypts its last argument"), added.errors);

  std::ofstream(site.config, std::ios::app)
      << "\n[periodic.tell]\ncron = \"0 3 * * *\"\nclass = \"Tell\"\nargs = [\"p\", \"w\"]\nqueue = \"served\"\n"
         "[periodic.resize]\ncron = \"0 3 * * *\"\nclass = \"ResizeImage\"\nargs = [\"a\", 1]\n";
  const CommandResult checked = site.command({"run", "--check", "-r", site.library});
  BOOST_TEST(checked.status == 78, checked.output + checked.errors);
  BOOST_TEST(tells(checked.errors, "periodic.tell: Tell encrypts its last argument"), checked.errors);
  BOOST_TEST(tells(checked.output, "periodic.resize: no capsule fetches the queue images"), checked.output);

  std::ofstream(site.config, std::ios::app) << "[encryption]\nrequire = false\n";
  BOOST_TEST(add().status == 0);
}

BOOST_AUTO_TEST_CASE(a_rule_that_is_added_goes_by_its_class) {
  Publisher site;
  const auto add = [&](const std::string& job_class, const std::string& args, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"periodic", "add", "r", "--cron", "0 1 1 1 *", "--class", job_class, "--args", args};
    words.insert(words.end(), more.begin(), more.end());
    return site.command(words);
  };
  const CommandResult misspelt = add("ResizeImge", R"(["a",1])");
  BOOST_TEST(misspelt.status == 64);
  BOOST_TEST(tells(misspelt.errors, "did you mean \"ResizeImage\"? (--unchecked pushes it all the same)"),
             misspelt.errors);
  const CommandResult wrong = add("ResizeImage", R"(["a","wide"])");
  BOOST_TEST(wrong.status == 64);
  BOOST_TEST(tells(wrong.errors, "argument 2 (width): expected an integer"), wrong.errors);
  BOOST_TEST(site.redis.command({"EXISTS", "brood:periodic:rules"}).view().integer() == 0);

  BOOST_TEST(add("ResizeImage", R"(["a",1])").status == 0);
  BOOST_TEST(site.command({"periodic", "run", "r"}).status == 0);
  const std::string payload = site.waiting_in("images");
  BOOST_TEST(member(payload, "queue") == "\"images\"");
  BOOST_TEST(member(payload, "retry") == "5");
  BOOST_TEST(member(payload, "tags") == "[\"slow\"]");
  BOOST_TEST(member(payload, "expires_in") == "3600");

  BOOST_TEST(add("ResizeImage", R"(["a",1])", {"--replace", "-q", "other~acme", "--retry", "1"}).status == 0);
  BOOST_TEST(site.command({"periodic", "run", "r"}).status == 0);
  BOOST_TEST(member(site.waiting_in("other~acme"), "retry") == "1");
  BOOST_TEST(member(site.waiting_in("other~acme"), "tags") == "[\"slow\"]");

  BOOST_TEST(add("NightlyReport", R"([7,"monday"])", {"--replace"}).status == 0);
  BOOST_TEST(site.command({"periodic", "run", "r"}).status == 0);
  BOOST_TEST(!tells(site.waiting_in("reports"), "unique"));

  BOOST_TEST(add("ResizeImge", R"(["a",1])", {"--replace", "--unchecked"}).status == 0);
  BOOST_TEST(add("Ruby::HardWorker", "[1]", {"--replace"}).status == 0);
}
