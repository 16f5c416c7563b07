#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <brood/client.hpp>
#include <brood/periodic.hpp>
#include <brood/testing.hpp>
#include <cstdlib>
#include <thread>

using namespace brood;
using namespace std::chrono_literals;
using testing::Fake;
using testing::Inline;
using testing::Jobs;
using Strings = std::vector<std::string>;

// Written by the jobs below.
static Strings seen;

struct Resize {
  std::string path;
  int width = 0;
  std::optional<int> quality = {};
  static constexpr JobOptions options{.queue = "images", .retry = 5, .tags = {"heavy"}};

  void perform(Context& job) {
    seen.push_back(path + " " + std::to_string(width) + " " + std::string(job.queue()) + " " +
                   std::to_string(job.attempt()) + (job.stopping() ? " stopping" : "") +
                   (job.time_left() ? " limited" : ""));
    job.extend_timeout(1s);
    job.log("resized " + path);
  }
};

struct Countdown {
  int from = 0;
  void perform() {
    seen.push_back(std::to_string(from));
    if (from > 0) Client{}.enqueue(Countdown{from - 1}, {.queue = from % 2 == 0 ? "even" : "odd"});
  }
};

struct Limited {
  void perform() {
    Limiter::concurrent("erp", 1).within_limit([] { seen.push_back("within"); });
  }
};

struct NoSuchPicture : std::runtime_error {
  NoSuchPicture() : std::runtime_error("no such picture") {}
  int code = 42;
};
struct Failing {
  std::string how;
  void perform() {
    if (how == "interrupted") throw Interrupted{};
    if (how == "text") throw "a text";
    throw NoSuchPicture();
  }
  RetryDecision retry_in(int, const std::exception&) {
    seen.push_back("asked");
    return discard;
  }
};

// As in a library: its middleware runs around it.
struct Traced {
  void perform(Context& job) { seen.push_back("performs with " + std::string(job.payload()).substr(0, 1)); }
};

struct Walk {
  int count = 0;
  int fails_at = -1;
  static constexpr auto max_iteration_runtime = 1us;
  brood::Items<int> items(std::optional<std::int64_t> cursor) const {
    std::vector<int> numbers;
    for (int i = 0; i < count; ++i) numbers.push_back(i);
    return each_of(std::move(numbers), cursor);
  }
  void each(int item) {
    if (item == fails_on_) {
      fails_on_ = -1;
      throw NoSuchPicture();
    }
    std::this_thread::sleep_for(1ms);  // longer than the longest run
    seen.push_back(std::to_string(item));
  }
  void on_start() { seen.push_back("start"); }
  void on_resume() { seen.push_back("resume"); }
  void on_cancel() { seen.push_back("cancel"); }
  void on_complete() { seen.push_back("complete"); }
  static inline int fails_on_ = -1;
};

// For all jobs that are compiled into this test.
void brood_setup(Setup& setup) {
  setup.server_middleware().add("traces", [](Run& run, const Next& next) {
    if (run.job_class() != "Traced") return next();
    seen.push_back("before");
    next();
    seen.push_back("after");
  });
  setup.on_error([](const JobInfo&, const std::exception&) { seen.push_back("error handler"); });
}

namespace {

const std::string libraries = BROOD_BINARY_DIR "/tests/job_libraries/lib";

struct Fresh {
  Fresh() {
    seen.clear();
    setenv("REDIS_URL", "unix:///nonexistent/redis.sock", 1);  // every connection to it is refused
  }
};

Strings texts_of(const std::vector<testing::FakeJob>& jobs) {
  Strings texts;
  for (const auto& job : jobs) texts.push_back(job.job_class + job.args);
  return texts;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(fakes, Fresh)

BOOST_AUTO_TEST_CASE(pushes_are_collected_and_can_be_looked_at) {
  const Fake fake;
  Client client;
  const std::string jid = client.enqueue(Resize{.path = "cat.png", .width = 320});
  const auto at = std::chrono::system_clock::now() + 1h;
  client.enqueue_at(at, Resize{"dog.png", 160, 80}, {.queue = "later"});
  client.push({.job_class = "Ruby::Job", .args = R"(["any", 1])"});
  client.enqueue_bulk(std::vector<Countdown>{{1}, {2}});

  const auto jobs = fake.jobs();
  BOOST_TEST(texts_of(jobs) == (Strings{R"(Resize["cat.png",320])", R"(Resize["dog.png",160,80])",
                                        R"(Ruby::Job["any", 1])", "Countdown[1]", "Countdown[2]"}),
             boost::test_tools::per_element());
  BOOST_TEST(fake.size() == 5);
  BOOST_TEST(jobs[0].jid == jid);
  BOOST_TEST(jobs[0].queue == "images");
  BOOST_TEST(jobs[0].tags == Strings{"heavy"}, boost::test_tools::per_element());
  BOOST_TEST(jobs[0].member("retry").value() == "5");
  BOOST_TEST(!jobs[0].at.has_value());
  BOOST_REQUIRE(jobs[1].at.has_value());
  BOOST_CHECK(std::chrono::abs(*jobs[1].at - at) < 1us);

  BOOST_TEST(texts_of(fake.jobs_in("later")) == Strings{R"(Resize["dog.png",160,80])"},
             boost::test_tools::per_element());
  BOOST_TEST(fake.jobs_of("Countdown").size() == 2);
  BOOST_TEST(fake.find(jid)->as<Resize>().width == 320);
  BOOST_TEST(!fake.find("none").has_value());
  const std::vector<Resize> resizes = fake.jobs_of<Resize>();
  BOOST_REQUIRE(resizes.size() == 2);
  BOOST_TEST(resizes[1].path == "dog.png");
  BOOST_TEST(resizes[1].quality.value() == 80);
}

BOOST_AUTO_TEST_CASE(a_push_is_found_by_its_arguments_its_queue_and_its_time) {
  Fake fake;
  Client client;
  client.enqueue(Resize{.path = "a", .width = 1});
  client.enqueue_in(10min, Resize{.path = "b", .width = 2}, {.queue = "low"});
  client.push({.job_class = "Resize", .args = R"([ "c", 3, null ])"});
  client.push({.job_class = "Resize", .args = R"(["d", "wide"])"});

  BOOST_TEST(fake.was_enqueued(Resize{.path = "a", .width = 1}));
  BOOST_TEST(!fake.was_enqueued(Resize{.path = "a", .width = 2}));
  BOOST_TEST(!fake.was_enqueued(Resize{.path = "a", .width = 1, .quality = 5}));
  BOOST_TEST(fake.was_enqueued(Resize{.path = "a", .width = 1}, {.queue = "images"}));
  BOOST_TEST(!fake.was_enqueued(Resize{.path = "a", .width = 1}, {.queue = "low"}));
  BOOST_TEST(!fake.was_enqueued(Resize{.path = "a", .width = 1}, {.in = 10min}));
  const Resize later{.path = "b", .width = 2};
  BOOST_TEST(fake.was_enqueued(later, {.queue = "low", .in = 10min}));
  BOOST_TEST(fake.was_enqueued(later, {.at = std::chrono::system_clock::now() + 10min}));
  BOOST_TEST(!fake.was_enqueued(later, {.in = 11min}));
  BOOST_TEST(!fake.was_enqueued(later, {.at = std::chrono::system_clock::now()}));
  BOOST_TEST(fake.was_enqueued(Resize{.path = "c", .width = 3}));  // in any spelling
}

BOOST_AUTO_TEST_CASE(arguments_that_do_not_fit_the_struct_are_refused_with_a_sentence) {
  const Fake fake;
  Client{}.push({.job_class = "Resize", .args = R"(["cat.png", "wide"])"});
  BOOST_CHECK_EXCEPTION(fake.jobs_of<Resize>(), ArgumentError, [](const ArgumentError& error) {
    return error.what() == std::string(R"(Resize: argument 2 (width): expected an integer, got "wide")");
  });
}

BOOST_AUTO_TEST_CASE(a_push_is_checked_and_passes_the_middleware_of_the_client) {
  const Fake fake;
  Client client;
  BOOST_CHECK_THROW(client.push({.job_class = "Bad class"}), std::invalid_argument);
  BOOST_CHECK_THROW(client.push({.job_class = "A", .args = "{}"}), std::invalid_argument);
  client.middleware().add("stops", [](Push& push, const Next& next) {
    push.queue = "changed";
    if (push.job_class != "Stopped") next();
  });
  BOOST_TEST(client.push({.job_class = "Stopped"}) == "");
  client.push({.job_class = "A"});
  BOOST_REQUIRE(fake.size() == 1);
  BOOST_TEST(fake.jobs()[0].queue == "changed");
}

BOOST_AUTO_TEST_CASE(drain_performs_what_waits_and_what_that_pushes_and_what_is_scheduled) {
  Fake fake(Jobs::of<Resize, Countdown>());
  Client client;
  client.enqueue_in(24h, Resize{"cat.png", 320});
  client.enqueue(Countdown{2}, {.queue = "even"});
  client.push({.job_class = "Resize", .args = R"(["dog.png",1])", .members = {{"retry_count", "1"}}});

  BOOST_TEST(fake.drain("even") == 2);
  BOOST_TEST(seen == (Strings{"2", "1"}), boost::test_tools::per_element());
  BOOST_TEST(fake.perform_one());
  BOOST_TEST(fake.drain() == 2);
  BOOST_TEST(seen == (Strings{"2", "1", "cat.png 320 images 1", "dog.png 1 default 3", "0"}),
             boost::test_tools::per_element());
  BOOST_TEST(fake.size() == 0);
  BOOST_TEST(!fake.perform_one());
}

BOOST_AUTO_TEST_CASE(clear_forgets_what_was_pushed) {
  Fake fake;
  Client{}.push({.job_class = "A"});
  fake.clear();
  BOOST_TEST(fake.size() == 0);
  BOOST_TEST(fake.drain() == 0);
}

BOOST_AUTO_TEST_CASE(what_a_job_throws_comes_out_as_its_own_type) {
  Fake fake(Jobs::of<Failing>());
  Client client;
  for (const char* how : {"thrown", "text", "interrupted", "left"}) client.enqueue(Failing{how});
  BOOST_CHECK_EXCEPTION(fake.drain(), NoSuchPicture, [](const NoSuchPicture& error) {
    return error.code == 42 && error.what() == std::string("no such picture");
  });
  BOOST_CHECK_THROW(fake.drain(), const char*);
  BOOST_CHECK_THROW(fake.drain(), Interrupted);
  BOOST_TEST(texts_of(fake.jobs()) == Strings{R"(Failing["left"])"}, boost::test_tools::per_element());

  client.push({.job_class = "Failing", .args = "[1]"});
  BOOST_CHECK_THROW(fake.drain(), NoSuchPicture);
  BOOST_CHECK_THROW(fake.drain(), ArgumentError);
  BOOST_TEST(seen.empty());  // neither hooks nor error handlers were called
}

BOOST_AUTO_TEST_CASE(what_a_job_of_a_library_throws_comes_out_in_words) {
  Fake fake(Jobs::of_library(libraries + "perform_jobs.so"));
  Client{}.push({.job_class = "Oddities::ThrowsTooHot", .args = R"(["x"])"});
  BOOST_CHECK_EXCEPTION(fake.drain(), testing::JobFailed, [](const testing::JobFailed& failed) {
    BOOST_TEST_MESSAGE(failed.what());
    return failed.error_class() == "Oddities::TooHot" &&
           failed.what() == failed.error_class() + ": " + failed.message();
  });
}

BOOST_AUTO_TEST_CASE(an_unknown_class_is_refused_with_a_sentence) {
  Fake fake(Jobs::of<Resize, Countdown>());
  Client{}.push({.job_class = "Ruby::Job"});
  BOOST_CHECK_EXCEPTION(fake.drain(), std::invalid_argument, [](const std::invalid_argument& error) {
    return error.what() == std::string(
                               "no job class \"Ruby::Job\" is among the Jobs that this test performs; known: "
                               "Countdown, Resize");
  });
}

BOOST_AUTO_TEST_CASE(a_library_that_cannot_be_loaded_is_refused_with_a_sentence) {
  BOOST_CHECK_THROW(Jobs::of_library("/nonexistent.so"), std::runtime_error);
  BOOST_CHECK_EXCEPTION((Jobs::of<Resize, Resize>()), std::runtime_error, [](const std::runtime_error& error) {
    return error.what() == std::string("job library of this program: names job class Resize twice");
  });
}

BOOST_AUTO_TEST_CASE(jobs_run_within_the_middleware_of_their_library_and_of_those_for_all) {
  Fake fake(Jobs::of<Traced>());
  Client{}.enqueue(Traced{});
  fake.drain();
  BOOST_TEST(seen == (Strings{"before", "performs with {", "after"}), boost::test_tools::per_element());

  Fake for_all(Jobs::of<Traced, Failing>().add_library(libraries + "for_all.so"));
  Client{}.enqueue(Failing{});
  BOOST_CHECK_THROW(for_all.drain(), NoSuchPicture);  // through the other library
}

BOOST_AUTO_TEST_CASE(an_iterable_job_runs_to_its_end) {
  Fake fake(Jobs::of<Walk>());
  Client{}.enqueue(Walk{.count = 3});
  BOOST_TEST(fake.drain() == 1);
  BOOST_TEST(seen == (Strings{"start", "0", "resume", "1", "resume", "2", "complete"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_iterable_job_that_threw_goes_on_from_its_cursor) {
  Fake fake(Jobs::of<Walk>());
  Walk::fails_on_ = 1;
  const std::string jid = Client{}.enqueue(Walk{.count = 2});
  BOOST_CHECK_THROW(fake.drain(), NoSuchPicture);
  Client{}.enqueue(Walk{.count = 2}, {.jid = jid});
  fake.drain();
  BOOST_TEST(seen == (Strings{"start", "0", "resume", "resume", "1", "complete"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_cancelled_iterable_job_does_nothing) {
  Fake fake(Jobs::of<Walk>());
  Client client;
  const std::string jid = client.enqueue(Walk{.count = 3});
  const auto when = client.cancel_iteration(jid);
  BOOST_CHECK(std::chrono::abs(when - std::chrono::system_clock::now()) < 1min);
  BOOST_CHECK(client.cancel_iteration(jid) == when);
  fake.drain();
  BOOST_TEST(seen == (Strings{"start", "cancel", "complete"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(cancel_takes_a_scheduled_job_out) {
  Fake fake;
  Client client;
  const auto at = std::chrono::system_clock::now() + 1h;
  const std::string now = client.push({.job_class = "A"}), one = client.push({.job_class = "A", .at = at}),
                    two = client.push({.job_class = "A", .at = at});
  BOOST_TEST(!client.cancel(now));
  BOOST_TEST(client.cancel(one));
  BOOST_TEST(!client.cancel(one));
  BOOST_TEST(!client.cancel(two, at + 1s));
  BOOST_TEST(client.cancel(two, at));
  BOOST_TEST(fake.size() == 1);
}

BOOST_AUTO_TEST_CASE(a_client_with_a_buffer_pushes_into_it_and_keeps_nothing) {
  Fake fake;
  Client client;
  client.buffer({.max_jobs = 1});
  for (int i = 0; i < 3; ++i) client.push({.job_class = "A"});
  BOOST_TEST(client.buffered() == 0);
  BOOST_TEST(client.drain() == 0);
  BOOST_TEST(fake.size() == 3);
}

BOOST_AUTO_TEST_CASE(the_api_says_that_there_is_no_redis) {
  Api api;
  {
    const Fake fake;
    BOOST_CHECK_EXCEPTION(api.stats(), RedisError, [](const RedisError& error) {
      return std::string_view(error.what()).find("brood::testing::Fake") != std::string_view::npos;
    });
    BOOST_CHECK_THROW(api.queue("images").size(), RedisError);
  }
  BOOST_CHECK_EXCEPTION(api.stats(), RedisError, [](const RedisError& error) {
    return std::string_view(error.what()).find("/nonexistent/redis.sock") != std::string_view::npos;
  });
}

BOOST_AUTO_TEST_CASE(the_innermost_gets_the_pushes) {
  Client client;
  Fake outer(Jobs::of<Resize>());
  client.push({.job_class = "A"});
  {
    Fake inner;
    client.push({.job_class = "B"});
    BOOST_TEST(texts_of(inner.jobs()) == Strings{"B[]"}, boost::test_tools::per_element());
    const Inline innermost(Jobs::of<Resize>());
    client.enqueue(Resize{"cat.png", 1});
    BOOST_TEST(seen == Strings{"cat.png 1 images 1"}, boost::test_tools::per_element());
  }
  client.push({.job_class = "C"});
  BOOST_TEST(texts_of(outer.jobs()) == (Strings{"A[]", "C[]"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(afterwards_pushes_go_to_redis_again) {
  Client client;
  { const Fake fake; }
  BOOST_CHECK_THROW(client.push({.job_class = "A"}), RedisError);
}

BOOST_AUTO_TEST_CASE(an_unknown_address_of_redis_is_no_error) {
  setenv("REDIS_PROVIDER", "NOT_SET", 1);
  std::optional<Client> client;
  {
    const Fake fake;
    client.emplace();
    client->push({.job_class = "A"});
    BOOST_TEST(fake.size() == 1);
  }
  BOOST_CHECK_EXCEPTION(client->push({.job_class = "A"}), RedisError, [](const RedisError& error) {
    return std::string_view(error.what()).find("NOT_SET") != std::string_view::npos;
  });
  BOOST_CHECK_THROW(Client{}, RedisError);
  unsetenv("REDIS_PROVIDER");
}

BOOST_AUTO_TEST_CASE(threads_push_at_once_by_one_client_and_by_several) {
  const Fake fake;
  Client shared;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      Client own;
      for (int n = 0; n < 100; ++n) {
        shared.push({.job_class = "A"});
        own.push({.job_class = "A"});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  BOOST_TEST(fake.size() == 800);
}

BOOST_AUTO_TEST_CASE(what_a_forked_child_pushes_stays_in_the_child) {
  const Fake fake;
  Client client;
  client.push({.job_class = "A"});
  const pid_t child = fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    client.push({.job_class = "B"});
    _exit(fake.size() == 2 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  BOOST_TEST(status == 0);
  BOOST_TEST(fake.size() == 1);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(inline_mode, Fresh)

BOOST_AUTO_TEST_CASE(each_push_performs_its_job_before_it_returns) {
  const Inline performs(Jobs::of<Resize, Countdown>());
  Client client;
  BOOST_TEST(client.enqueue(Resize{"cat.png", 320}).size() == 24);
  client.enqueue_in(1h, Resize{"dog.png", 160});
  client.enqueue_bulk(std::vector<Countdown>{{1}, {0}});
  BOOST_TEST(seen == (Strings{"cat.png 320 images 1", "dog.png 160 images 1", "1", "0", "0"}),
             boost::test_tools::per_element());
  BOOST_TEST(!client.cancel("any"));
}

BOOST_AUTO_TEST_CASE(what_the_job_throws_comes_out_of_the_push) {
  const Inline performs(Jobs::of<Failing, Resize>());
  Client client;
  BOOST_CHECK_THROW(client.enqueue(Failing{"thrown"}), NoSuchPicture);
  BOOST_CHECK_THROW(client.push({.job_class = "Ruby::Job"}), std::invalid_argument);
  BOOST_CHECK_THROW(client.push({.job_class = "Resize"}), ArgumentError);
  BOOST_CHECK_THROW(client.push_bulk({{.job_class = "Failing", .args = R"(["thrown"])"},
                                      {.job_class = "Resize", .args = R"(["cat.png",1])"}}),
                    NoSuchPicture);
  BOOST_TEST(seen.empty());
}

// A job may push by the very client that is pushing.
static Client* shared_client = nullptr;
struct PushesByTheSameClient {
  bool again = false;
  void perform() {
    if (again) shared_client->enqueue(PushesByTheSameClient{});
    seen.push_back(again ? "outer" : "inner");
  }
};

BOOST_AUTO_TEST_CASE(a_job_may_push_by_the_client_that_pushes_it) {
  const Inline performs(Jobs::of<PushesByTheSameClient>());
  Client client;
  shared_client = &client;
  client.enqueue(PushesByTheSameClient{true});
  BOOST_TEST(seen == (Strings{"inner", "outer"}), boost::test_tools::per_element());
}

struct CancelsItself {
  static constexpr auto flush_interval = 0s;
  brood::Items<int> items(std::optional<std::int64_t> cursor) const { return each_of(std::vector{1, 2, 3}, cursor); }
  void each(int item, Iteration& job) {
    seen.push_back(std::to_string(item));
    if (item == 2) Client{}.cancel_iteration(job.jid());
  }
};

BOOST_AUTO_TEST_CASE(an_iterable_job_may_be_cancelled_while_it_runs) {
  const Inline performs(Jobs::of<CancelsItself>());
  Client{}.enqueue(CancelsItself{});
  BOOST_TEST(seen == (Strings{"1", "2"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(a_limit_is_reached_when_a_test_says_so) {
  seen.clear();
  Fake fake(Jobs::of<Limited>());
  Client client;
  client.enqueue(Limited{});
  fake.drain();
  BOOST_TEST(seen == Strings{"within"});
  fake.reach_limit("erp");
  client.enqueue(Limited{});
  BOOST_CHECK_EXCEPTION(fake.drain(), OverLimit, [](const OverLimit& over) { return over.limiter() == "erp"; });
  fake.free_limit("erp");
  client.enqueue(Limited{});
  fake.drain();
  BOOST_TEST(seen == (Strings{"within", "within"}));
}

BOOST_AUTO_TEST_CASE(inline_reaches_a_limit_too_and_outside_of_a_job_there_is_none) {
  Inline performs(Jobs::of<Limited>());
  Client client;
  performs.reach_limit("erp");
  BOOST_CHECK_THROW(client.enqueue(Limited{}), OverLimit);
  BOOST_CHECK_THROW(Limiter::concurrent("erp", 1).within_limit([] {}), std::logic_error);
}

struct Counts {
  int to = 0;
  static constexpr JobOptions options{.keep_result = 1h};
  void perform(const Context& job) const {
    job.progress(1, to, "counts");
    if (to < 0) throw NoSuchPicture();
    job.result(to);
  }
};

BOOST_AUTO_TEST_CASE(a_fake_keeps_what_became_of_the_jobs_that_it_performed) {
  Fake fake(Jobs::of<Counts, Limited>());
  Client client;
  const std::string jid = client.enqueue(Counts{3}), later = client.enqueue_in(1h, Counts{-1});
  BOOST_TEST((client.find(jid).value().state == JobState::queued));
  BOOST_TEST((client.find(later).value().state == JobState::scheduled));
  BOOST_TEST(!client.wait(jid, 10s));

  fake.perform_one();
  BOOST_CHECK_THROW(fake.perform_one(), NoSuchPicture);

  BOOST_TEST(client.wait(jid, 0s).value().result_as<int>() == 3);
  BOOST_TEST((client.find(jid)->state == JobState::done));
  BOOST_TEST((client.find(later).value().state == JobState::dead));
  BOOST_TEST(client.find(later)->error_message == "no such picture");
  BOOST_TEST(fake.progress(jid).value().note == "counts");
  const std::string unkept = client.enqueue(Limited{});
  fake.drain();
  BOOST_TEST(!client.find(unkept));
}

BOOST_AUTO_TEST_CASE(a_fake_keeps_the_rules_of_periodic_jobs) {
  const Fake fake;
  Periodic periodic("redis://127.0.0.1:1");
  BOOST_TEST(periodic.add("nightly", "0 3 * * *", Resize{.path = "a"}, {.tz = "Europe/Berlin"}));
  BOOST_TEST(!periodic.add("nightly", "0 4 * * *", Resize{}));
  BOOST_TEST(periodic.replace("nightly", "0 5 * * *", Resize{.path = "b"}));
  BOOST_CHECK_THROW(periodic.add("wrong", "0 25 * * *", Resize{}), std::invalid_argument);
  BOOST_REQUIRE(periodic.list().size() == 1u);
  BOOST_TEST(periodic.list()[0].cron == "0 5 * * *");
  BOOST_TEST(periodic.find("nightly")->queue == "images");
  BOOST_TEST(periodic.remove("nightly"));
  BOOST_TEST(periodic.list().empty());
  BOOST_TEST(fake.size() == 0u);
}

BOOST_AUTO_TEST_CASE(inline_keeps_it_too) {
  Inline performs(Jobs::of<Counts>());
  Client client;
  const std::string jid = client.enqueue(Counts{3});
  BOOST_TEST(client.wait(jid, 0s).value().result.text == "3");
  BOOST_TEST(performs.progress(jid).value().total == 3);
}
