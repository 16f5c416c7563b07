#include "supervisor/process/descriptor_limit.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/support/in_child.hpp"

using namespace brood;

namespace {

rlim_t limit_now() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

}  // namespace

BOOST_AUTO_TEST_CASE(it_is_raised_as_far_as_may_be_and_given_back) {
  BOOST_TEST(in_child([] {
    const rlimit narrow{100, 300};
    bool well = setrlimit(RLIMIT_NOFILE, &narrow) == 0;
    const DescriptorLimit enough(200);
    well &= enough.now() == 200 && limit_now() == 200;
    enough.give_back();
    well &= limit_now() == 100;
    const DescriptorLimit as_it_is(50);
    well &= as_it_is.now() == 100 && limit_now() == 100;
    const DescriptorLimit too_many(1'000);
    return well && too_many.now() == 300 && limit_now() == 300;
  }));
}

BOOST_AUTO_TEST_CASE(many_shards_need_more_than_is_usual) {
  BOOST_TEST(descriptors_needed(8, 1) < 1'024U);
  BOOST_TEST(descriptors_needed(8, 256) > 1'024U);
}
