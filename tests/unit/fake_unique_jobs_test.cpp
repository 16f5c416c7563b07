#include <boost/test/unit_test.hpp>
#include <brood/client.hpp>
#include <brood/testing.hpp>
#include <cstdlib>

#include "tests/support/eventually.hpp"

using namespace brood;
using namespace std::chrono_literals;
using testing::Fake;
using testing::Inline;
using testing::Jobs;
using Strings = std::vector<std::string>;

// Unique jobs and jobs that expire, in <brood/testing.hpp>. tests/store/fake_and_redis_test.cpp compares their pushes
// with Redis.

// Written by the jobs below.
static Strings seen;

struct Expiring {
  std::string name;
  static constexpr JobOptions options{.expires_in = 1h};
  void perform() { seen.push_back(name); }
  void on_expired(const JobInfo& job) { seen.push_back("expired " + name + " " + std::string(job.queue)); }
};

BOOST_AUTO_TEST_CASE(a_job_that_has_expired_is_told_so_instead_of_performed) {
  seen.clear();
  const auto now = std::chrono::system_clock::now();
  Fake fake(Jobs::of<Expiring>());
  Client client;
  client.enqueue(Expiring{"late"}, {.expires_at = now - 1s});
  client.enqueue(Expiring{"in time"});
  client.enqueue_at(now + 24h, Expiring{"tomorrow"});
  client.enqueue(Expiring{"for ever"}, {.expires_in = 0s});
  BOOST_TEST(fake.jobs().at(1).member("expires_in").value_or("") == "3600");
  BOOST_TEST(!fake.jobs().at(3).member("expires_in").has_value());
  BOOST_TEST(fake.drain() == 3u);
  BOOST_TEST(seen == (Strings{"expired late default", "in time", "tomorrow", "for ever"}),
             boost::test_tools::per_element());

  seen.clear();
  const Inline inline_jobs(Jobs::of<Expiring>());
  client.enqueue(Expiring{"at once"});
  client.enqueue(Expiring{"too late"}, {.expires_at = now - 1s});
  BOOST_TEST(seen == (Strings{"at once", "expired too late default"}), boost::test_tools::per_element());
  BOOST_CHECK_THROW(client.enqueue(Expiring{"x"}, {.expires_in = -1s}), std::invalid_argument);
  BOOST_CHECK_THROW(client.enqueue(Expiring{"x"}, {.expires_at = std::chrono::system_clock::time_point{}}),
                    std::invalid_argument);
}

struct OnlyOnce {
  int number = 0;
  bool pushes_again = false;
  static constexpr JobOptions options{.unique = true};
  void perform() {
    seen.push_back("once " + std::to_string(number));
    if (pushes_again) seen.push_back(Client{}.enqueue(*this).empty() ? "refused" : "pushed");
  }
};

BOOST_AUTO_TEST_CASE(a_fake_keeps_the_locks_of_unique_jobs) {
  seen.clear();
  Fake fake(Jobs::of<OnlyOnce>());
  Client client;
  BOOST_TEST(!client.enqueue(OnlyOnce{1}).empty());
  BOOST_TEST(client.enqueue(OnlyOnce{1}).empty());
  BOOST_REQUIRE(fake.size() == 1u);
  BOOST_TEST(client.holder(OnlyOnce{1}) == fake.jobs().front().jid);
  BOOST_TEST(client.holder(OnlyOnce{2}) == "");
  fake.drain();
  BOOST_TEST(!client.enqueue(OnlyOnce{1, true}).empty());
  const std::string later = client.enqueue_in(1h, OnlyOnce{2});
  BOOST_TEST(client.cancel(later));
  BOOST_TEST(!client.enqueue(OnlyOnce{2}).empty());
  fake.drain();
  BOOST_TEST(seen == (Strings{"once 1", "once 1", "refused", "once 2"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(inline_keeps_the_locks_of_unique_jobs_while_they_run) {
  seen.clear();
  Inline performs(Jobs::of<OnlyOnce>());
  Client client;
  BOOST_TEST(!client.enqueue(OnlyOnce{1, true}).empty());
  BOOST_TEST(!client.enqueue(OnlyOnce{1}).empty());
  BOOST_TEST(seen == (Strings{"once 1", "refused", "once 1"}), boost::test_tools::per_element());
}

struct Follows {
  int number = 0;
  OnConflict pushes = OnConflict::drop;  // drop: nothing
  bool same = true;
  static constexpr JobOptions options{.unique = true};
  static constexpr auto unique_by = std::tuple{&Follows::same};
  void perform() {
    seen.push_back("begins " + std::to_string(number));
    if (pushes != OnConflict::drop)
      seen.push_back(Client{}.enqueue(Follows{number + 1}, {.on_conflict = pushes}).empty() ? "refused" : "pushed");
    seen.push_back("ends " + std::to_string(number));
  }
};

BOOST_AUTO_TEST_CASE(a_fake_replaces_what_waits_and_performs_behind_the_lock) {
  seen.clear();
  Fake fake(Jobs::of<Follows>());
  Client client;
  const std::string first = client.enqueue_in(1h, Follows{1});
  const std::string second = client.enqueue(Follows{2}, {.on_conflict = OnConflict::replace});
  BOOST_REQUIRE(fake.size() == 1u);
  BOOST_TEST(fake.jobs().front().jid == second);
  BOOST_TEST(!fake.jobs().front().at);
  BOOST_TEST(client.holder(Follows{}) == second);
  BOOST_TEST(!client.enqueue(Follows{3, OnConflict::replace}, {.on_conflict = OnConflict::after}).empty());
  BOOST_TEST(!client.enqueue(Follows{5, OnConflict::after}, {.on_conflict = OnConflict::after}).empty());
  BOOST_TEST(client.enqueue(Follows{7}).empty());
  fake.drain();
  BOOST_TEST(seen == (Strings{"begins 2", "ends 2", "begins 3", "refused", "ends 3", "begins 5", "pushed", "ends 5",
                              "begins 6", "ends 6"}),
             boost::test_tools::per_element());
  BOOST_TEST(client.holder(Follows{}) == "");
}

BOOST_AUTO_TEST_CASE(inline_performs_a_job_behind_the_one_that_pushed_it) {
  seen.clear();
  Inline performs(Jobs::of<Follows>());
  Client client;
  BOOST_TEST(!client.enqueue(Follows{1, OnConflict::after}).empty());
  BOOST_TEST(!client.enqueue(Follows{5, OnConflict::replace}).empty());
  BOOST_TEST(seen == (Strings{"begins 1", "pushed", "ends 1", "begins 2", "ends 2", "begins 5", "refused", "ends 5"}),
             boost::test_tools::per_element());
}

struct Throws {
  std::string pushes;  // T: one that throws; N: one that does not
  bool really = false, same = true;
  static constexpr JobOptions options{.unique = true, .on_conflict = OnConflict::after};
  static constexpr auto unique_by = std::tuple{&Throws::same};
  void perform() {
    seen.push_back(really ? "throws" : "does not");
    for (const char one : pushes) Client{}.enqueue(Throws{"", one == 'T'});
    if (really) throw std::runtime_error(pushes.empty() ? "behind" : "first");
  }
};

struct OneAtATime {
  int number = 0;
  bool same = true;
  static constexpr JobOptions options{.unique = true, .unique_until = UniqueUntil::running};
  static constexpr auto unique_by = std::tuple{&OneAtATime::same};
  static inline std::function<void(int)> meanwhile;  // the number of the one that runs
  void perform() {
    seen.push_back("begins " + std::to_string(number));
    meanwhile(number);
    seen.push_back("ends " + std::to_string(number));
  }
};

struct UntilStart {
  int number = 0;
  bool same = true;
  static constexpr JobOptions options{.unique = true, .unique_until = UniqueUntil::start};
  static constexpr auto unique_by = std::tuple{&UntilStart::same};
  void perform() {
    seen.push_back("begins " + std::to_string(number));
    if (number == 1) Client{}.enqueue(UntilStart{2});
    seen.push_back("ends " + std::to_string(number));
  }
};

struct Brief {
  int number = 0;
  static constexpr JobOptions options{.unique_for = 1s};
  void perform() {}
};

BOOST_AUTO_TEST_CASE(a_scheduled_job_that_expires_before_its_time_does_not_begin) {
  seen.clear();
  const auto now = std::chrono::system_clock::now();
  Client client;
  {
    Fake fake(Jobs::of<Expiring>());
    client.enqueue_at(now + 2h, Expiring{"never"}, {.expires_at = now + 1h});
    BOOST_TEST(fake.drain() == 0u);
    BOOST_TEST(fake.size() == 0u);
  }
  const Inline performs(Jobs::of<Expiring>());
  client.enqueue_at(now + 2h, Expiring{"nor here"}, {.expires_at = now + 1h});
  client.enqueue_at(now + 24h, Expiring{"tomorrow"});
  BOOST_TEST(seen == (Strings{"expired never default", "expired nor here default", "tomorrow"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(one_that_has_expired_lets_go_of_its_lock) {
  seen.clear();
  Fake fake(Jobs::of<Follows>());
  Client client;
  client.enqueue(Follows{1}, {.expires_at = std::chrono::system_clock::now() - 1s});
  client.enqueue(Follows{2}, {.on_conflict = OnConflict::after});
  BOOST_TEST(fake.drain() == 1u);
  BOOST_TEST(seen == (Strings{"begins 2", "ends 2"}), boost::test_tools::per_element());
  BOOST_TEST(client.holder(Follows{}) == "");
}

BOOST_AUTO_TEST_CASE(what_replaces_another_stands_in_its_place_of_the_queue_or_behind_the_last) {
  Fake fake(Jobs::of<OnlyOnce>());
  Client client;
  const auto replace = [&](const OnlyOnce& job) { return client.enqueue(job, {.on_conflict = OnConflict::replace}); };
  client.enqueue(OnlyOnce{1});
  client.enqueue_in(1h, OnlyOnce{2});
  const std::string third = client.enqueue(OnlyOnce{3}), first = replace(OnlyOnce{1}), second = replace(OnlyOnce{2});
  Strings jids;
  for (const auto& job : fake.jobs()) jids.push_back(job.jid);
  BOOST_TEST(jids == (Strings{first, third, second}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_job_that_is_pushed_again_is_no_other) {
  for (const OnConflict on_conflict : {OnConflict::drop, OnConflict::after, OnConflict::replace}) {
    Fake fake(Jobs::of<Follows>());
    Client client;
    client.enqueue(Follows{1}, {.jid = "a"});
    BOOST_TEST(client.enqueue(Follows{2}, {.jid = "a", .on_conflict = on_conflict}) == "a");
    BOOST_REQUIRE(fake.size() == 1u);
    BOOST_TEST(fake.jobs_of<Follows>().front().number == 1);
  }
}

BOOST_AUTO_TEST_CASE(inline_performs_what_is_behind_a_job_that_throws) {
  seen.clear();
  Inline performs(Jobs::of<Throws>());
  const auto what_comes_out = [](const Throws& job) {
    seen.clear();
    try {
      Client{}.enqueue(job);
    } catch (const std::runtime_error& thrown) {
      return std::string(thrown.what());
    }
    return std::string("nothing");
  };
  BOOST_TEST(what_comes_out({"N", true}) == "first");
  BOOST_TEST(seen == (Strings{"throws", "does not"}), boost::test_tools::per_element());
  BOOST_TEST(what_comes_out({"NT", false}) == "behind");
  BOOST_TEST(seen == (Strings{"does not", "does not", "throws"}), boost::test_tools::per_element());
  BOOST_TEST(what_comes_out({"T", true}) == "first");
}

BOOST_AUTO_TEST_CASE(one_of_two_jobs_that_are_unique_while_they_run_waits_or_is_dropped) {
  for (const OnConflict on_conflict : {OnConflict::after, OnConflict::drop}) {
    const Strings wanted = on_conflict == OnConflict::after ? Strings{"begins 1", "ends 1", "begins 2", "ends 2"}
                                                            : Strings{"begins 1", "ends 1"};
    seen.clear();
    {
      Fake fake(Jobs::of<OneAtATime>());
      OneAtATime::meanwhile = [&](int) { fake.drain(); };
      BOOST_TEST(!Client{}.enqueue(OneAtATime{1}, {.on_conflict = on_conflict}).empty());
      BOOST_TEST(!Client{}.enqueue(OneAtATime{2}, {.on_conflict = on_conflict}).empty());
      fake.drain();
      BOOST_TEST(seen == wanted, boost::test_tools::per_element());
      BOOST_TEST(fake.size() == 0u);
    }
    seen.clear();
    Inline performs(Jobs::of<OneAtATime>());
    OneAtATime::meanwhile = [&](int number) {
      if (number == 1) BOOST_TEST(!Client{}.enqueue(OneAtATime{2}, {.on_conflict = on_conflict}).empty());
    };
    Client{}.enqueue(OneAtATime{1}, {.on_conflict = on_conflict});
    BOOST_TEST(seen == wanted, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(one_that_is_unique_until_it_begins_runs_beside_another) {
  seen.clear();
  Inline performs(Jobs::of<UntilStart>());
  Client{}.enqueue(UntilStart{1});
  BOOST_TEST(seen == (Strings{"begins 1", "begins 2", "ends 2", "ends 1"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_lock_ends_after_unique_for_unless_it_is_extended) {
  Fake fake(Jobs::of<Brief>());
  Client client;
  client.enqueue(Brief{1});
  client.enqueue(Brief{2});
  client.enqueue_in(1h, Brief{3});
  BOOST_TEST(client.enqueue(Brief{2}, {.unique_for = 600s, .on_conflict = OnConflict::extend}) == "");
  const std::string second = client.holder(Brief{2});
  BOOST_TEST(client.enqueue(Brief{2}, {.on_conflict = OnConflict::extend}) == "");  // which is no longer
  BOOST_TEST(eventually([&] { return client.holder(Brief{1}) == ""; }));
  BOOST_TEST(client.holder(Brief{2}) == second);
  BOOST_TEST(client.holder(Brief{3}) != "");  // it counts from when the job is due
  BOOST_TEST(fake.size() == 3u);
  const std::string again = client.enqueue(Brief{1});
  BOOST_TEST(again != "");
  fake.perform_one();  // the first, whose lock is another's by now
  BOOST_TEST(client.holder(Brief{1}) == again);
}
