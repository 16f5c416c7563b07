#include <brood/chain.hpp>

#include <boost/test/unit_test.hpp>
#include <stdexcept>
#include <string>
#include <vector>

using namespace brood;

namespace {

struct Subject {
  std::string trace = {};
  bool odd = false;
};

struct Where {
  bool only_odd = false;
  bool takes_in(const Subject& subject) const { return subject.odd || !only_odd; }
};

using Tested = Chain<Subject, Where>;

Tested::Middleware noting(const std::string& name) {
  return [name](Subject& subject, const Next& next) {
    subject.trace += name + "(";
    next();
    subject.trace += ")";
  };
}

std::string traced(const Tested& chain, Subject subject = {}) {
  chain.run(subject, [&] { subject.trace += "."; });
  return subject.trace;
}

Tested chain_of(const std::string& names) {
  Tested chain;
  for (const char name : names) chain.add(std::string(1, name), noting(std::string(1, name)));
  return chain;
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_middleware_wraps_the_next_in_the_order_of_registration) {
  BOOST_TEST(traced(Tested{}) == ".");
  BOOST_TEST(traced(chain_of("ab")) == "a(b(.))");
}

BOOST_AUTO_TEST_CASE(names_order_a_chain) {
  Tested chain = chain_of("bd");
  chain.prepend("a", noting("a"));
  chain.insert_before("d", "c", noting("c"));
  chain.insert_after("d", "e", noting("e"));
  BOOST_TEST(chain.names() == (std::vector<std::string>{"a", "b", "c", "d", "e"}), boost::test_tools::per_element());
  BOOST_TEST(traced(chain) == "a(b(c(d(e(.)))))");

  BOOST_TEST(chain.remove("c"));
  BOOST_TEST(!chain.remove("c"));
  BOOST_TEST(!chain.exists("c"));
  BOOST_TEST(chain.exists("d"));
  BOOST_TEST(traced(chain) == "a(b(d(e(.))))");
  chain.clear();
  BOOST_TEST(chain.empty());
}

BOOST_AUTO_TEST_CASE(a_name_stands_once) {
  Tested chain = chain_of("abc");
  chain.add("a", noting("A"));
  BOOST_TEST(traced(chain) == "b(c(A(.)))");
  chain.prepend("c", noting("C"));
  BOOST_TEST(traced(chain) == "C(b(A(.)))");
  chain.insert_after("b", "C", noting("x"));
  chain.insert_before("b", "a", noting("y"));
  BOOST_TEST(traced(chain) == "C(y(b(x(.))))");
}

BOOST_AUTO_TEST_CASE(what_has_no_place_is_refused_and_changes_nothing) {
  Tested chain = chain_of("ab");
  BOOST_CHECK_THROW(chain.insert_before("x", "c", noting("c")), std::invalid_argument);
  BOOST_CHECK_THROW(chain.insert_after("a", "a", noting("c")), std::invalid_argument);
  BOOST_CHECK_THROW(chain.add("", noting("c")), std::invalid_argument);
  BOOST_CHECK_THROW(chain.add("c", {}), std::invalid_argument);
  BOOST_TEST(traced(chain) == "a(b(.))");
}

BOOST_AUTO_TEST_CASE(middleware_that_does_not_go_on_stops_what_is_inside) {
  Tested chain = chain_of("a");
  chain.add("stop", [](Subject& subject, const Next&) { subject.trace += "!"; });
  chain.add("c", noting("c"));
  BOOST_TEST(traced(chain) == "a(!)");
}

BOOST_AUTO_TEST_CASE(middleware_that_goes_on_twice_does_what_is_inside_twice) {
  Tested chain;
  chain.add("twice", [](Subject&, const Next& next) {
    next();
    next();
  });
  chain.add("b", noting("b"));
  BOOST_TEST(traced(chain) == "b(.)b(.)");
}

BOOST_AUTO_TEST_CASE(what_is_thrown_inside_comes_out_of_next) {
  Tested chain = chain_of("a");
  chain.add("catch", [](Subject& subject, const Next& next) {
    try {
      next();
    } catch (const std::runtime_error& error) {
      subject.trace += error.what();
    }
  });
  chain.add("throw", [](Subject&, const Next&) { throw std::runtime_error("thrown"); });
  BOOST_TEST(traced(chain) == "a(thrown)");
  chain.remove("catch");
  BOOST_CHECK_THROW(traced(chain), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(a_middleware_is_passed_over_where_it_does_not_belong) {
  Tested chain = chain_of("a");
  chain.add("odd", noting("odd"), {.only_odd = true});
  chain.add("b", noting("b"));
  BOOST_TEST(traced(chain) == "a(b(.))");
  BOOST_TEST(traced(chain, {.odd = true}) == "a(odd(b(.)))");
}

BOOST_AUTO_TEST_CASE(a_copy_is_a_chain_of_its_own) {
  Tested chain = chain_of("a");
  const Tested copy = chain;
  chain.add("b", noting("b"));
  BOOST_TEST(traced(copy) == "a(.)");
}
