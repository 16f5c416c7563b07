#include "shared/base/nearest.hpp"

#include <boost/test/unit_test.hpp>

using namespace brood;

BOOST_AUTO_TEST_CASE(the_nearest_word_is_the_one_with_the_fewest_changes) {
  const std::vector<std::string> known{"concurrency", "queues", "timeout"};
  for (const char* word : {"concurency", "concurrenyc", "concurrencyy", "Concurrency", "CONCURRENCY"})
    BOOST_TEST(nearest(word, known).value_or("none") == "concurrency", word);
  for (const char* word : {"", "q", "capsules", "TIMEOUTS"}) BOOST_TEST(!nearest(word, known), word);
}
