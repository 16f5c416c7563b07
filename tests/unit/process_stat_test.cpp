#include "shared/base/process_stat.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

using namespace brood;

BOOST_AUTO_TEST_CASE(a_name_may_hold_spaces_and_parentheses) {
  const auto stat = ProcessStat::parse("4711 (a) R 1 (b)) S 42 7 8\n");
  BOOST_REQUIRE(stat);
  BOOST_TEST(stat->state() == 'S');
  BOOST_TEST(stat->parent() == 42);
  BOOST_TEST(stat->number(5) == 7U);
  BOOST_TEST(stat->number(6) == 8U);
}

BOOST_AUTO_TEST_CASE(a_field_that_is_not_there_is_0) {
  const auto stat = ProcessStat::parse("4711 (x) S 42");
  BOOST_REQUIRE(stat);
  BOOST_TEST(stat->start_time() == 0U);
  BOOST_TEST(stat->number(1000) == 0U);
}

BOOST_AUTO_TEST_CASE(what_is_no_such_line_is_nothing) {
  for (const char* line : {"", "4711", "4711 (x", "4711 (x)", "4711 (x) ", "4711 (x) S"}) {
    BOOST_TEST(!ProcessStat::parse(line), line);
  }
}

BOOST_AUTO_TEST_CASE(this_process_is_read) {
  prctl(PR_SET_NAME, ") Z 1 (");
  const auto stat = ProcessStat::read(getpid());
  BOOST_REQUIRE(stat);
  BOOST_TEST(stat->state() == 'R');
  BOOST_TEST(stat->parent() == getppid());
  BOOST_TEST(stat->start_time() > 0U);
  BOOST_TEST(!ProcessStat::read(0));
}
