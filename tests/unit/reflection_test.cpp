#include <boost/test/unit_test.hpp>
#include <brood/detail/read_arguments.hpp>
#include <brood/job.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <brood/detail/pushed_job.hpp>

#include "tests/support/vectors.hpp"

using namespace brood;
using detail::read_arguments;
using detail::write_arguments;

namespace Shapes {

struct None {
  void perform() {}
};
struct One {
  std::string only;
  void perform() {}
};
struct Point {
  int x = 0;
  std::optional<double> y = {};
};
struct Sixteen {
  int a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0, i = 0, j = 0, k = 0, l = 0, m = 0, n = 0, o = 0, p = 0;
  void perform() {}
};
struct Everything {
  bool yes = false;
  std::int8_t small = 0;
  std::uint64_t large = 0;
  float part = 0;
  std::string text;
  Point point;
  std::vector<Point> points;
  std::vector<bool> bits;
  std::array<std::uint8_t, 3> colour{};
  std::map<std::string, double> weights;
  std::unordered_map<std::string, std::vector<std::string>> lists;
  Json anything;
  std::optional<std::vector<int>> maybe = {};
  std::optional<int> likely = 5;
  void perform() {}
};
struct Size {
  int width = 0, height = 7;
  std::string unit = "px";
};
struct Grown {
  int was = 0, added = 5;
  static constexpr JobOptions options{.required = 1};
};
struct Tree {
  int n = 0;
  std::vector<Tree> children = {};
};
struct Walk {
  Tree tree;
  void perform() {}
};
struct Named {
  static constexpr std::string_view job_class = "Ruby::Name";
  static constexpr JobOptions options{.queue = "low",
                                      .retry = 7,
                                      .timeout = std::chrono::seconds(30),
                                      .backtrace = true,
                                      .dead = false,
                                      .tags = {"slow", "a\"b"},
                                      .retry_for = std::chrono::hours(1),
                                      .retry_queue = "later"};
  void perform() {}
};

}  // namespace Shapes

namespace {

template <typename Job>
std::string why_misfit(const std::string& args) {
  try {
    read_arguments<Job>("Job", args);
  } catch (const ArgumentError& error) {
    return error.what();
  }
  return "";
}

// A single value as a job has it.
template <typename Type>
struct Holds {
  Type value{};
};
template <typename Type>
Type read(const std::string& json) {
  return read_arguments<Holds<Type>>("Holds", "[" + json + "]").value;
}
template <typename Type>
std::string written(Type value) {
  return write_arguments(Holds<Type>{std::move(value)});
}

}  // namespace

BOOST_AUTO_TEST_CASE(fields_are_counted_named_and_typed) {
  static_assert(detail::field_count<Shapes::None> == 0);
  static_assert(detail::field_count<Shapes::One> == 1);
  static_assert(detail::field_count<Shapes::Sixteen> == 16);
  static_assert(detail::field_count<Shapes::Everything> == 14);
  static_assert(std::is_same_v<detail::FieldType<Shapes::Everything, 5>, Shapes::Point>);
  static_assert(detail::field_name<Shapes::Everything, 0>() == "yes");
  static_assert(detail::field_name<Shapes::Everything, 13>() == "likely");
  static_assert(detail::field_name<Shapes::Sixteen, 15>() == "p");
  static_assert(detail::required_fields<Shapes::Everything>() == 12);
  BOOST_TEST(std::get<15>(detail::fields_of(static_cast<const Shapes::Sixteen&>(Shapes::Sixteen{.p = 9}))) == 9);
}

BOOST_AUTO_TEST_CASE(the_wire_name_is_the_types_or_the_one_it_names) {
  static_assert(detail::wire_name<Shapes::None>() == "Shapes::None");
  static_assert(detail::wire_name<Shapes::Named>() == "Ruby::Name");
  BOOST_TEST(true);
}

BOOST_AUTO_TEST_CASE(every_field_type_survives_writing_and_reading) {
  const Shapes::Everything job{.yes = true,
                               .small = -128,
                               .large = std::numeric_limits<std::uint64_t>::max(),
                               .part = 0.1f,
                               .text = "caf\xC3\xA9 \"\\\n\x01",
                               .point = {.x = 1, .y = 2.5},
                               .points = {{.x = 3}, {.x = 4, .y = 1e20}},
                               .bits = {true, false},
                               .colour = {1, 2, 255},
                               .weights = {{"a", 1}, {"b", -0.5}},
                               .lists = {{"k", {"v", "w"}}},
                               .anything = {R"({"n": 12345678901234567890.50, "l":[]})"},
                               .maybe = std::vector<int>{1},
                               .likely = std::nullopt};
  const std::string args = write_arguments(job);
  BOOST_TEST(args ==
             R"([true,-128,18446744073709551615,0.1,"café \"\\\n\u0001",[1,2.5],[[3,null],[4,1.0e+20]],[true,false],)"
             R"([1,2,255],{"a":1.0,"b":-0.5},{"k":["v","w"]},{"n": 12345678901234567890.50, "l":[]},[1],null])");
  const auto back = read_arguments<Shapes::Everything>("Everything", args);
  BOOST_TEST(write_arguments(back) == args);
  BOOST_TEST(back.anything.text == job.anything.text);
  BOOST_TEST(back.text == job.text);
  BOOST_TEST(!back.likely);
}

BOOST_AUTO_TEST_CASE(trailing_optional_fields_may_be_missing) {
  const auto job =
      read_arguments<Shapes::Everything>("Everything", R"([false,0,0,0,"",[7],[],[],[0,0,0],{},{},[1, 2]])");
  BOOST_TEST(!job.maybe);
  BOOST_TEST(job.likely.value() == 5);  // its default
  BOOST_TEST(job.point.x == 7);
  BOOST_TEST(job.anything.text == "[1, 2]");
}

BOOST_AUTO_TEST_CASE(trailing_optional_fields_that_are_empty_by_default_are_not_sent) {
  struct Two {
    int first = 0;
    std::optional<int> second = {}, third = {};
  };
  BOOST_TEST(write_arguments(Two{.first = 1}) == "[1]");
  BOOST_TEST(write_arguments(Two{.first = 1, .third = 3}) == "[1,null,3]");
  struct Defaulted {
    std::optional<int> level = 5;
  };
  BOOST_TEST(write_arguments(Defaulted{.level = std::nullopt}) == "[null]");
  BOOST_TEST(write_arguments(Shapes::None{}) == "[]");
}

BOOST_AUTO_TEST_CASE(a_struct_may_hold_more_of_its_kind) {
  const Push push = detail::pushed_job(Shapes::Walk{.tree = {1, {{2}, {3, {{4}}}}}});
  BOOST_TEST(push.args == "[[1,[[2,[]],[3,[[4,[]]]]]]]");
  BOOST_TEST(read_arguments<Shapes::Walk>("Walk", push.args).tree.children[1].children[0].n == 4);
}

BOOST_AUTO_TEST_CASE(a_misfit_is_told_with_its_place) {
  BOOST_TEST(why_misfit<Holds<std::vector<Shapes::Point>>>("[[[1],[2,true]]]") ==
             "Job: argument 1 (value[1].y): expected a number, got true");
  BOOST_TEST(why_misfit<Holds<Shapes::Point>>("[[]]") ==
             "Job: argument 1 (value): expected an object or an array of 1 to 2 fields, got []");
  BOOST_TEST(why_misfit<Holds<Shapes::Point>>("[null]") ==
             "Job: argument 1 (value): expected an object or an array of 1 to 2 fields, got null");
  BOOST_TEST(why_misfit<Holds<Shapes::Tree>>(R"([{"children":[{"n":1},{"n":"x"}]}])") ==
             R"(Job: argument 1 (value.children[1].n): expected an integer, got "x")");
  BOOST_TEST((why_misfit<Holds<std::array<int, 2>>>("[[1,2,3]]") ==
              "Job: argument 1 (value): expected an array of 2, got [1,2,3]"));
  BOOST_TEST((why_misfit<Holds<std::map<std::string, int>>>(R"([{"a":1,"b":"x"}])") ==
              R"(Job: argument 1 (value["b"]): expected an integer, got "x")"));
  BOOST_TEST(why_misfit<Holds<std::uint8_t>>("[256]") ==
             "Job: argument 1 (value): expected an integer from 0 to 255, got 256");
  BOOST_TEST(why_misfit<Holds<unsigned>>("[-1]") ==
             "Job: argument 1 (value): expected an integer from 0 to 4294967295, got -1");
  BOOST_TEST(why_misfit<Holds<double>>("[1e400]") ==
             "Job: argument 1 (value): expected a number that fits the field, got 1e400");
  BOOST_TEST(why_misfit<Holds<std::string>>("[" + std::string(R"(["ééééééééééééééééééééééééééééééééééé"])") + "]") ==
             R"(Job: argument 1 (value): expected a string, got ["ééééééééééééééééééééééééééééé...)");
  BOOST_TEST(why_misfit<Holds<int>>("{}") == "Job: the arguments are no array");
}

BOOST_AUTO_TEST_CASE(a_struct_within_a_job_is_an_object_or_an_array) {
  const auto both = [](const std::string& json) {
    const auto size = read<Shapes::Size>(json);
    return std::to_string(size.width) + " " + std::to_string(size.height) + " " + size.unit;
  };
  BOOST_TEST(both(R"([1,2,"em"])") == "1 2 em");
  BOOST_TEST(both(R"({"width":32})") == "32 7 px");
  BOOST_TEST(both(R"( { "unit" : "em", "wi\u0064th" : 3 } )") == "3 7 em");
  BOOST_TEST(both("{}") == "0 7 px");
  BOOST_TEST(written(Shapes::Size{.width = 32}) == R"([[32,7,"px"]])");  // as ever

  BOOST_TEST(read<std::vector<Shapes::Point>>(R"([{"x":1},[2],{"y":null,"x":3}])").at(2).x == 3);
  BOOST_TEST(read<std::optional<Shapes::Point>>(R"({"y":1.5})")->y.value() == 1.5);
  BOOST_TEST((read<std::map<std::string, Shapes::Point>>(R"({"a":{"x":4}})").at("a").x == 4));
  BOOST_TEST(read<Shapes::Tree>(R"({"n":1,"children":[{"n":2,"children":[[3,[]]]}]})").children[0].children[0].n == 3);
}

BOOST_AUTO_TEST_CASE(a_member_without_a_field_is_a_mistake) {
  BOOST_TEST(why_misfit<Holds<Shapes::Size>>(R"([{"widht":32}])") ==
             R"(Job: argument 1 (value): no field is called "widht", only: width, height, unit)");
  BOOST_TEST(why_misfit<Holds<std::vector<Shapes::Size>>>(R"([[[1,2,"px"],{"Width":32}]])") ==
             R"(Job: argument 1 (value[1]): no field is called "Width", only: width, height, unit)");
  BOOST_TEST(why_misfit<Holds<Shapes::Size>>(R"([{"width":1,"width":2}])") ==
             R"(Job: argument 1 (value): the field "width" is given twice)");
  BOOST_TEST(why_misfit<Holds<Shapes::None>>(R"([{"a":1}])") ==
             R"(Job: argument 1 (value): no field is called "a", only: none)");
  BOOST_TEST(why_misfit<Holds<Shapes::Size>>(R"([{"width":1)").starts_with("Job: JSON error at byte"));
}

BOOST_AUTO_TEST_CASE(a_struct_says_how_many_of_its_fields_must_be_given) {
  using Shapes::Grown;
  BOOST_TEST(read<Grown>("[1]").added == 5);
  BOOST_TEST(read<Grown>(R"({"was":1})").added == 5);
  BOOST_TEST(read<Grown>(R"({"was":1,"added":2})").added == 2);
  BOOST_TEST(why_misfit<Holds<Grown>>(R"([{"added":2}])") == R"(Job: argument 1 (value): the field "was" is missing)");
  BOOST_TEST(!read<Shapes::Point>("[1]").y);  // optional fields at the end may be missing anyway
}

BOOST_AUTO_TEST_CASE(an_integer_is_an_integer_and_nothing_near_it) {
  BOOST_TEST(read<std::int64_t>("-9223372036854775808") == std::numeric_limits<std::int64_t>::min());
  BOOST_TEST(read<std::uint64_t>("18446744073709551615") == std::numeric_limits<std::uint64_t>::max());
  BOOST_TEST(read<int>("-0") == 0);
  for (const char* no : {"1.0", "1e3", "\"1\"", "true", "null", "[1]", "9223372036854775808"}) {
    BOOST_CHECK_THROW(read<std::int64_t>(no), ArgumentError);
  }
  BOOST_TEST(read<double>("3") == 3.0);
  BOOST_TEST(read<double>("1.0e+20") == 1e20);
}

BOOST_AUTO_TEST_CASE(reading_is_strict) {
  for (const char* no : {"",
                         "01",
                         "1.",
                         ".5",
                         "+1",
                         "-",
                         "1e",
                         "nul",
                         "tru",
                         "'a'",
                         "\"a",
                         "\"\x01\"",
                         "\"\\x\"",
                         "\"\\u12g4\"",
                         "\"\\ud800\"",
                         "\"\\ud800\\u0041\"",
                         "\"\\udc00\"",
                         "[1,]",
                         "[,1]",
                         "[1 2]",
                         "{\"a\"}",
                         "{\"a\":}",
                         "{\"a\":1,}",
                         "{a:1}",
                         "[1}",
                         "\"\xff\"",
                         "\"\xc0\xaf\"",
                         "\"\xed\xa0\x80\"",
                         "\"\xf4\x90\x80\x80\"",
                         "\xEF\xBB\xBF"
                         "1",
                         "1 2",
                         "NaN",
                         "Infinity"}) {
    BOOST_TEST_CONTEXT(no) BOOST_CHECK_THROW(read<Json>(no), ArgumentError);
  }
  for (const char* yes :
       {"0", "-0.0", "1E400", "1e-5", "\"\\u00e9\\ud83d\\ude00\"", "[]", "{}", "[{\"a\":[null,true]}]", "\"\x7f\""}) {
    BOOST_TEST(read<Json>(yes).text == yes);
  }
  BOOST_TEST(read<std::string>("\"\\u00e9\\ud83d\\ude00\\/\\u0000\"") == std::string("\xC3\xA9\xF0\x9F\x98\x80/\0", 8));
}

BOOST_AUTO_TEST_CASE(nesting_ends_at_a_hundred) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  BOOST_CHECK_NO_THROW(read_arguments<Holds<Json>>("Job", nested(100)));
  BOOST_CHECK_THROW(read_arguments<Holds<Json>>("Job", nested(101)), ArgumentError);
  BOOST_CHECK_THROW(read_arguments<Holds<Json>>("Job", std::string(1'000'000, '[')), ArgumentError);
}

BOOST_AUTO_TEST_CASE(truncated_arguments_are_refused_at_every_byte) {
  const std::string whole = R"(["a\n\u00e9é",-1.5e+3,{"k":[true,null]}])";
  struct Three {
    std::string a;
    double b = 0;
    Json c;
  };
  BOOST_CHECK_NO_THROW(read_arguments<Three>("Job", whole));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    BOOST_CHECK_THROW(read_arguments<Three>("Job", whole.substr(0, size)), ArgumentError);
  }
}

BOOST_AUTO_TEST_CASE(floats_keep_a_fraction) {
  BOOST_TEST(written(1.0) == "[1.0]");
  BOOST_TEST(written(100.0) == "[100.0]");
  BOOST_TEST(written(100000.0) == "[100000.0]");
  BOOST_TEST(written(-0.0) == "[-0.0]");
  BOOST_TEST(written(0.1) == "[0.1]");
  BOOST_TEST(written(1.5e300) == "[1.5e+300]");
  BOOST_TEST(written(5e-324) == "[5.0e-324]");
  BOOST_TEST(written(1795237318.5142) == "[1795237318.5142]");
}

BOOST_AUTO_TEST_CASE(what_json_cannot_say_is_refused) {
  BOOST_CHECK_THROW(written(std::nan("")), std::invalid_argument);
  BOOST_CHECK_THROW(written(std::numeric_limits<double>::infinity()), std::invalid_argument);
  BOOST_CHECK_THROW(written(std::string("\xff")), std::invalid_argument);
  BOOST_CHECK_THROW(written(std::map<std::string, int>{{"\xff", 1}}), std::invalid_argument);
  BOOST_CHECK_THROW(written(Json{"{"}), std::invalid_argument);
  BOOST_CHECK_THROW(written(Json{"1,2"}), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(text_is_written_as_ruby_writes_it) {
  for (const test::Vector& vector : test::vectors("canonical-json")) {
    std::string out = "[";
    for (const test::VectorValue& value : vector.input["value"].elements) {
      if (out.size() > 1) out += ",";
      const bool integer = value.text.find_first_of(".eE") == std::string::npos;
      if (value.kind == test::VectorValue::Kind::string) {
        detail::write_value(out, value.text);
      } else if (value.kind == test::VectorValue::Kind::other && !integer && value.text != "true") {
        detail::write_value(out, value.number());
      } else {
        out += value.text;
      }
    }
    BOOST_TEST(out + "]" == vector.expect["text"].text);
  }
}

BOOST_AUTO_TEST_CASE(a_pushed_job_carries_its_options) {
  const Push push = detail::pushed_job(Shapes::Named{});
  BOOST_TEST(push.job_class == "Ruby::Name");
  BOOST_TEST(push.queue == "low");
  BOOST_TEST((push.retry == YesNoOrCount(7)));
  std::string members;
  for (const auto& [name, json] : push.members) members += name + "=" + json + " ";
  BOOST_TEST(members == R"(retry_queue="later" dead=false backtrace=true tags=["slow","a\"b"] retry_for=3600 )");
  BOOST_TEST(detail::pushed_job(Shapes::One{"x"}).members.empty());
  BOOST_TEST(detail::pushed_job(Shapes::One{"x"}).args == R"(["x"])");
}
