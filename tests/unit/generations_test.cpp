#include <boost/test/unit_test.hpp>

#include "supervisor/workers/generation/generations.hpp"

using namespace brood;

namespace {

std::shared_ptr<const Generation> generation(std::uint32_t number) {
  auto config = std::make_shared<Config>();
  config->capsules.push_back({});
  return std::make_shared<Generation>(Generation{number, config});
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_largest_number_is_also_that_of_a_generation_that_was_taken_back_and_has_workers) {
  const Generations handed_over({{1, generation(1)}, {2, generation(2)}}, 1);
  BOOST_TEST(handed_over.present_number() == 1U);
  BOOST_TEST(handed_over.largest_number() == 2U);
}

BOOST_AUTO_TEST_CASE(the_largest_number_is_that_of_the_present_one_where_no_other_has_workers) {
  Generations generations(generation(4));
  BOOST_TEST(generations.largest_number() == 4U);
  generations.bring(generation(5));
  BOOST_TEST(generations.largest_number() == 5U);
  BOOST_TEST(generations.another_comes());
  generations.drop_the_coming_one();
  generations.keep({});
  BOOST_TEST(!generations.another_comes());
  BOOST_TEST(generations.largest_number() == 4U);
}
