#include "shared/store/report/process_list.hpp"

#include <boost/test/unit_test.hpp>

#include "shared/store/report/work_entries.hpp"
#include "tests/support/wire.hpp"

using namespace brood;

BOOST_AUTO_TEST_CASE(a_heartbeat_is_read_field_by_field) {
  BOOST_TEST(ask_process_hash("h:1:a").args.size() == 2u + 7u);
  const Reply reply = wire::reply(wire::list({wire::text("{}"), wire::text("5"), wire::text("2"), wire::text("1700.25"),
                                              wire::text("true"), wire::text("2048"), wire::text("300")}));
  const auto hash = read_process_hash(reply.view());
  BOOST_REQUIRE(hash.has_value());
  BOOST_TEST(hash->info == "{}");
  BOOST_TEST(hash->concurrency.value() == 5);
  BOOST_TEST(hash->busy == 2);
  BOOST_TEST(hash->beat == 1700.25);
  BOOST_TEST(hash->quiet);
  BOOST_TEST(hash->rss_kb == 2048);
  BOOST_TEST(hash->rtt_us == 300);
}

BOOST_AUTO_TEST_CASE(what_an_older_release_does_not_write_is_missing_and_rubbish_counts_as_nothing) {
  const Reply older = wire::reply(wire::list({wire::text("{}"), wire::nil(), wire::text("many"), wire::text("soon"),
                                              wire::text("yes"), wire::nil(), wire::text("1.5")}));
  const auto hash = read_process_hash(older.view());
  BOOST_REQUIRE(hash.has_value());
  BOOST_TEST(!hash->concurrency);
  BOOST_TEST(hash->busy == 0);
  BOOST_TEST(hash->beat == 0);
  BOOST_TEST(!hash->quiet);
  BOOST_TEST(hash->rss_kb == 0);
  BOOST_TEST(hash->rtt_us == 0);
}

BOOST_AUTO_TEST_CASE(a_heartbeat_that_has_ended_or_is_of_another_shape_is_none) {
  const std::string nil = wire::nil();
  for (const std::string& none : {wire::list({nil, nil, nil, nil, nil, nil, nil}), wire::list({wire::text("{}")}),
                                  wire::list({}), wire::nil(), wire::text("{}"), wire::wrong_type()})
    BOOST_TEST(!read_process_hash(wire::reply(none).view()), none);
}

BOOST_AUTO_TEST_CASE(work_is_read_where_the_release_of_its_process_writes_it) {
  BOOST_TEST(ask_work({"a", "b"}).size() == 4u);
  const auto replies = wire::replies({
      wire::list({wire::text("t1"), wire::text("new")}),
      wire::list({wire::text("t1"), wire::text("old")}),
      wire::list({}),
      wire::list({wire::text("t2"), wire::text("old")}),  // before 6.5
      wire::wrong_type(),
      wire::list({wire::text("t3"), wire::text("old"), wire::text("t4")}),  // and half an entry
      wire::list({}),
      wire::wrong_type(),
  });
  const auto entries = read_work_entries(replies);
  BOOST_REQUIRE(entries.size() == 4u);
  BOOST_REQUIRE(entries[0].size() == 1u);
  BOOST_TEST(entries[0][0].work == "new");
  BOOST_REQUIRE(entries[1].size() == 1u);
  BOOST_TEST(entries[1][0].thread_id == "t2");
  BOOST_TEST(entries[1][0].work == "old");
  BOOST_TEST(entries[2].size() == 1u);
  BOOST_TEST(entries[3].empty());
}

BOOST_AUTO_TEST_CASE(nothing_runs_where_the_key_is_no_hash) {
  const Reply two = wire::reply(wire::list({wire::text("a"), wire::nil(), wire::text("b")}));
  BOOST_TEST(read_running(two.view()) == (std::vector<std::string>{"a", "b"}), boost::test_tools::per_element());
  BOOST_TEST(read_running(wire::reply(wire::wrong_type()).view()).empty());
}

BOOST_AUTO_TEST_CASE(a_refused_lock_or_signal_was_not_given) {
  BOOST_TEST(read_may_prune(wire::reply("+OK\r\n").view()));
  BOOST_TEST(!read_may_prune(wire::reply(wire::nil()).view()));
  BOOST_TEST(!read_may_prune(wire::reply(wire::error("READONLY no")).view()));
  BOOST_TEST(read_was_left(wire::reply(wire::number(1)).view()));
  BOOST_TEST(!read_was_left(wire::reply(wire::wrong_type()).view()));
}
