#include "shared/classes/published_classes.hpp"

#include <array>
#include <boost/test/unit_test.hpp>
#include <brood/detail/describe_job.hpp>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "shared/classes/push_by_class.hpp"
#include "shared/json/json.hpp"

using namespace brood;
using namespace std::chrono_literals;

enum class PublishedColour { red = 1, green = 4 };
template <>
struct brood::EnumNames<PublishedColour> {
  static constexpr std::pair<std::string_view, PublishedColour> names[] = {{"red", PublishedColour::red},
                                                                           {"green", PublishedColour::green}};
};

namespace {

struct Spot {
  int x = 0, y = 0;
  std::optional<std::string> note = {};
  std::vector<Spot> inner = {};
};

struct Everything {
  std::string text;
  std::uint8_t small = 0;
  double number = 0;
  bool yes = false;
  Spot spot;
  std::vector<std::int64_t> list;
  std::array<int, 2> two{};
  std::map<std::string, int> named;
  std::variant<std::monostate, int, std::string> either;
  std::tuple<int, std::string> pair;
  PublishedColour colour = PublishedColour::red;
  std::chrono::seconds whole{};
  std::chrono::milliseconds part{};
  std::vector<std::byte> bytes;
  std::filesystem::path path;
  std::optional<int> last = 7;

  void perform() {}
};

struct Resize {
  std::string path;
  int width = 0;
  std::optional<int> quality = {};

  static constexpr JobOptions options{
      .queue = "images", .retry = 5, .timeout = 1500ms, .tags = {"slow"}, .unique = true, .expires_in = 1h};
  static constexpr auto unique_by = std::tuple{&Resize::width, &Resize::quality};
  void perform() {}
};

struct Charge {
  std::string who, card;

  static constexpr JobOptions options{.encrypt = true};
  void perform() {}
};

template <typename Job>
PublishedClass published(const std::string& name) {
  return PublishedClass::parse(name, detail::description_of<Job>());
}

template <typename Job>
std::optional<std::string> refusal_of_worker(const std::string& args) {
  try {
    detail::read_arguments<Job>("Everything", args);
    return std::nullopt;
  } catch (const ArgumentError& error) {
    return error.what();
  }
}

std::string document(const std::map<std::string, std::string>& classes) {
  std::string text;
  for (const auto& [name, json] : classes) text += (text.empty() ? "\"" : ",\"") + name + "\":" + json;
  return "{\"classes\":{" + text + "}}";
}

PublishedClasses two_classes() {
  PublishedClasses all;
  all.add({"b1", 10, 20, true},
          document({{"Resize", detail::description_of<Resize>()}, {"Charge", detail::description_of<Charge>()}}));
  return all;
}

Push push_of(const std::string& job_class, const std::string& args) {
  Push push;
  push.job_class = job_class;
  push.args = args;
  return push;
}

std::string member_of(const Push& push, const std::string& name) {
  for (const auto& [given, json] : push.members) {
    if (given == name) return json;
  }
  return "";
}

std::string refusal_of(Push push, const PublishedClasses& all, const RubyServes& ruby = {}) {
  try {
    go_by_class(push, {}, all, ruby);
  } catch (const PushRefused& error) {
    return error.what();
  }
  return "";
}

bool tells(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// The arguments of Everything, one of them replaced.
std::string with(std::size_t place, const std::string& json) {
  std::vector<std::string> args{R"("t")",   "255",   "1.5",        "true",      R"({"x":1})",
                                "[1,-2]",   "[1,2]", R"({"a":1})", "null",      R"([1,"x"])",
                                R"("red")", "5",     "0.5",        R"("AAE=")", R"("/tmp")"};
  if (place < args.size())
    args[place] = json;
  else
    args.push_back(json);
  std::string all;
  for (const std::string& arg : args) all += (all.empty() ? "[" : ",") + arg;
  return all + "]";
}

}  // namespace

// Whoever pushes checks as the worker does, but for steps of seconds and their ranges.
BOOST_AUTO_TEST_CASE(arguments_are_refused_at_the_push_that_the_worker_would_refuse_and_no_others) {
  const PublishedClass known = published<Everything>("Everything");
  const std::vector<std::pair<std::size_t, std::vector<std::string>>> tries{
      {0, {R"("x")", "1", "null", "[]"}},
      {1, {"0", "255", "256", "-1", "1.0", "-0", R"("1")"}},
      {2, {"1", "-2.5", "1e3", R"("1")", "null"}},
      {3, {"true", "false", "1", R"("true")"}},
      {4,
       {"[1,2]", "[1]", R"([1,2,"n"])", R"([1,2,null,[[1,2,"m",[]]]])", R"([1,2,"n",[[1]]])", R"({"x":1})", "{}",
        R"({"x":1,"x":2})", R"({"z":1})", R"({"y":"a"})", "7", R"([1,2,"n",[],5])"}},
      {5, {"[]", "[1,2,3]", R"([1,"a"])", "{}", "[9223372036854775807]", "[9223372036854775808]"}},
      {6, {"[1,2]", "[1]", "[1,2,3]", R"(["a",2])"}},
      {7, {"{}", R"({"a":1,"b":2})", R"({"a":"x"})", "[]"}},
      {8, {"null", "1", R"("s")", "[]", "1.5"}},
      {9, {R"([1,"x"])", "[1]", R"(["x",1])", R"([1,"x",2])"}},
      {10, {R"("red")", R"("green")", R"("blue")", "1", "4", "2", "null"}},
      {11, {"5", "1.5", "2.0", R"("5")"}},
      {12, {"5", "0.5", "null"}},
      {13, {R"("AAE=")", R"("AAE")", "1", R"("")"}},
      {14, {R"("/x")", "1"}},
      {15, {"1", "null", R"("x")", "1.5"}}};
  for (const auto& [place, values] : tries) {
    for (const std::string& value : values) {
      const std::string args = with(place, value);
      const auto by_worker = refusal_of_worker<Everything>(args);
      const auto by_push = problem_of_arguments(known, args);
      BOOST_TEST(by_worker.has_value() == by_push.has_value(),
                 args + ": " + by_worker.value_or("taken") + " / " + by_push.value_or("taken"));
    }
  }
  for (const std::string args : {"[]", "[1]"}) BOOST_TEST(problem_of_arguments(known, args).has_value());
}

BOOST_AUTO_TEST_CASE(a_refusal_says_what_the_class_takes) {
  const PublishedClass known = published<Resize>("Resize");
  BOOST_TEST(problem_of_arguments(known, R"(["a"])").value() ==
             "Resize takes 2 to 3 arguments (path, width, quality (optional)), got 1");
  BOOST_TEST(problem_of_arguments(known, R"(["a","b"])").value() ==
             R"(Resize: argument 2 (width): expected an integer, got "b")");
  const PublishedClass all = published<Everything>("Everything");
  BOOST_TEST(tells(problem_of_arguments(all, with(4, R"({"xx":1})")).value(), R"(did you mean "x"?)"));
  const std::string misspelt = problem_of_arguments(all, with(10, R"("gren")")).value();
  BOOST_TEST(tells(misspelt, R"(did you mean "green"?)"), misspelt);
}

BOOST_AUTO_TEST_CASE(types_are_shown_as_people_write_them) {
  const PublishedClass known = published<Everything>("Everything");
  std::vector<std::string> texts;
  for (const PublishedClass::Field& field : known.fields) texts.push_back(field.type.text());
  BOOST_TEST(texts[1] == "integer");
  BOOST_TEST(texts[5] == "[integer]");
  BOOST_TEST(texts[6] == "[integer] of 2");
  BOOST_TEST(texts[7] == "{name: integer}");
  BOOST_TEST(texts[8] == "null or integer or string");
  BOOST_TEST(texts[9] == "[integer, string]");
  BOOST_TEST(texts[10] == R"("red" or "green")");
  BOOST_TEST(texts[15] == "integer or null");
  BOOST_TEST(known.fields[15].usual == "7");
  BOOST_TEST(known.required == 15u);
}

BOOST_AUTO_TEST_CASE(a_push_takes_the_options_of_its_class_where_it_says_nothing) {
  const PublishedClasses all = two_classes();
  Push push = push_of("Resize", R"(["a",5])");
  BOOST_TEST(go_by_class(push, {}, all, {}) == "");
  BOOST_TEST(push.queue == "images");
  BOOST_CHECK(push.retry == YesNoOrCount(5));
  BOOST_TEST(member_of(push, "tags") == R"(["slow"])");
  BOOST_TEST(member_of(push, "expires_in") == "3600");
  BOOST_TEST(member_of(push, "unique_until") == R"("done")");
  BOOST_TEST(member_of(push, "unique_by") == "[5,null]");
  BOOST_TEST(member_of(push, "timeout") == "");  // workers know it

  Push own = push_of("Resize", R"(["a",5])");
  own.queue = "other";
  own.members = {{"tags", "[]"}, {"expiry", "2000000000"}, {"unique_until", R"("start")"}};
  go_by_class(own, {.queue = true, .retry = true}, all, {});
  BOOST_TEST(own.queue == "other");
  BOOST_CHECK(own.retry == YesNoOrCount(true));
  BOOST_TEST(member_of(own, "tags") == "[]");
  BOOST_TEST(member_of(own, "expires_in") == "");
  BOOST_TEST(member_of(own, "unique_until") == R"("start")");
  BOOST_TEST(member_of(own, "unique_by") == "");

  // As another client has made it.
  Push made = push_of("Resize", R"(["a",5])");
  made.members = {{"created_at", "1.5"}};
  go_by_class(made, {}, all, {});
  BOOST_TEST(made.queue == "default");
  BOOST_TEST(made.members.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_misspelt_class_is_refused_unless_a_ruby_process_may_have_it) {
  const PublishedClasses all = two_classes();
  BOOST_TEST(tells(refusal_of(push_of("Rezise", "[]"), all), R"(did you mean "Resize"?)"));
  BOOST_TEST(refusal_of(push_of("Ruby::HardWorker", "[]"), all) == "");
  Push push = push_of("Rezise", "[]");
  const std::string warning = go_by_class(push, {}, all, [](const std::string& queue) { return queue == "default"; });
  BOOST_TEST(tells(warning, R"(did you mean "Resize"?)"));
  BOOST_TEST(tells(refusal_of(push_of("Rezise", "[]"), all, [](const std::string&) { return false; }), "Resize"));
  Push unchecked = push_of("Resize", R"([1])");
  go_by_class(unchecked, {}, all, {}, true);
  BOOST_TEST(unchecked.queue == "images");
  BOOST_TEST(refusal_of(push_of("Rezise", "[]"), PublishedClasses()) == "");
}

BOOST_AUTO_TEST_CASE(a_class_that_encrypts_refuses_an_argument_in_clear_and_shows_none) {
  const PublishedClasses all = two_classes();
  Push push = push_of("Charge", R"(["me","4111"])");
  go_by_class(push, {}, all, {});
  BOOST_TEST(member_of(push, "encrypt") == "true");

  Push in_clear = push_of("Charge", R"(["me","4111"])");
  in_clear.members = {{"encrypt", "false"}};
  BOOST_TEST(tells(refusal_of(in_clear, all), "in clear"));
  in_clear.members = {{"created_at", "1.5"}};
  BOOST_TEST(tells(refusal_of(in_clear, all), "in clear"));
  in_clear.members = {{"created_at", "1.5"}, {"encrypt", "true"}};
  BOOST_TEST(tells(refusal_of(in_clear, all), R"(leave out "created_at")"));
  Push made = push_of("Charge", R"(["me","brood1.1.AAAA"])");
  made.members = in_clear.members;
  BOOST_TEST(refusal_of(made, all) == "");
  made.members = {{"created_at", "1.5"}, {"encrypt", "false"}};
  BOOST_TEST(tells(refusal_of(made, all), R"(leave out "encrypt" and "created_at")"));

  const std::string refusal = refusal_of(push_of("Charge", R"(["me",4111])"), all);
  BOOST_TEST(tells(refusal, "expected string"));
  BOOST_TEST(!tells(refusal, "4111"));
  Push sealed = push_of("Charge", R"([1,"brood1.1.AAAA"])");
  sealed.members = {{"encrypt", "true"}};
  BOOST_TEST(refusal_of(sealed, all) == "");
}

BOOST_AUTO_TEST_CASE(a_push_is_encrypted_if_any_running_build_encrypts) {
  const std::string fields = R"("required":1,"fields":[{"name":"a","type":"string"}]})";
  PublishedClasses all;
  all.add({"b2", 20, 30, true}, document({{"Job", R"({"options":{"encrypt":false},)" + fields}, {"Old", "{}"}}));
  all.add({"b1", 10, 30, true}, document({{"Job", R"({"options":{"encrypt":true},)" + fields}}));
  all.add({"b0", 5, 6, false}, document({{"Old", R"({"options":{"encrypt":true}})"}}));
  Push push = push_of("Job", R"(["secret"])");
  go_by_class(push, {}, all, {});
  BOOST_TEST(member_of(push, "encrypt") == "true");
  BOOST_TEST(!tells(refusal_of(push_of("Job", "[4111]"), all), "4111"));
  Push unchecked = push_of("Job", "[4111]");
  go_by_class(unchecked, {}, all, {}, true);
  BOOST_TEST(member_of(unchecked, "encrypt") == "true");
  Push in_clear = push_of("Job", R"(["secret"])");
  in_clear.members = {{"encrypt", "false"}};
  BOOST_TEST(tells(refusal_of(in_clear, all), "in clear"));
  Push of_gone = push_of("Old", "[1]");
  go_by_class(of_gone, {}, all, {});
  BOOST_TEST(member_of(of_gone, "encrypt") == "");
}

BOOST_AUTO_TEST_CASE(what_any_running_build_takes_is_pushed_and_the_newest_gives_the_options) {
  const std::string old = R"({"options":{"queue":"old"},"required":1,"fields":[{"name":"a","type":"string"}]})";
  const std::string now = R"({"options":{"queue":"new"},"required":1,"fields":[{"name":"a","type":"integer"}]})";
  PublishedClasses all;
  all.add({"b2", 20, 30, true}, document({{"Job", now}}));
  all.add({"b1", 10, 30, true}, document({{"Job", old}}));
  all.add({"b0", 5, 6, false}, document({{"Job", R"({"required":0,"fields":[]})"}, {"Gone", "{}"}}));
  for (const std::string args : {R"(["x"])", "[1]"}) {
    Push push = push_of("Job", args);
    BOOST_TEST(go_by_class(push, {}, all, {}) == "");
    BOOST_TEST(push.queue == "new");
  }
  BOOST_TEST(tells(refusal_of(push_of("Job", "[true]"), all), "expected an integer"));
  BOOST_TEST(
      tells(refusal_of(push_of("Job", "[]"), all), "takes 1 argument"));  // a build that is gone counts for nothing
  Push gone = push_of("Gone", "[1]");
  BOOST_TEST(tells(go_by_class(gone, {}, all, {}), "no worker that runs now"));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_read_is_left_out_with_a_reason) {
  PublishedClasses all = two_classes();
  for (const std::string text : {"", "x", "[]", R"({"classes":[]})", R"({"classes":{"A":)", R"({"classes":{"A":1}} x)"})
    all.add({"bad", 1, 2, true}, text);
  all.add(
      {"odd", 1, 2, true},
      document({{"A", "1"},
                {"B", R"({"fields":7})"},
                {"C", R"({"fields":[{"name":"x","type":"struct"}]})"},
                {"D", R"({"options":{"unique_by":["x"]}})"},
                {"E", R"({"options":{"retry":"often","queue":7},"required":-5,"fields":[{"type":"tomorrow's"}]})"}}));
  for (const std::string name : {"A", "B", "C", "D"}) {
    BOOST_TEST(all.find(name).empty());
    BOOST_TEST(refusal_of(push_of(name, "[1]"), all) == "");
  }
  BOOST_TEST(all.find("E").size() == 1u);
  BOOST_TEST(refusal_of(push_of("E", "[1]"), all) == "");
  const std::size_t problems = all.problems().size();
  BOOST_TEST(problems >= 8u);
  for (int i = 0; i < 3; ++i) all.find("A");
  BOOST_TEST(all.problems().size() == problems);
  BOOST_TEST(all.find("Resize").size() == 1u);
  const std::string deep(200, '[');
  all.add({"deep", 1, 2, true}, document({{"F", deep}}));
  std::string nested = R"({"type":"any"})";
  for (int i = 0; i < 40; ++i) nested = R"({"type":"array","items":)" + nested + "}";
  BOOST_CHECK_THROW(FieldType::parse(nested), BadJson);
}

BOOST_AUTO_TEST_CASE(a_periodic_rule_of_a_class_that_encrypts_is_refused) {
  const auto refuses = [](const PublishedClasses& all, const std::string& job_class) {
    try {
      check_class_of_rule(all, job_class);
    } catch (const PushRefused& error) {
      return tells(error.what(), job_class + " encrypts its last argument");
    }
    return false;
  };
  BOOST_TEST(refuses(two_classes(), "Charge"));
  BOOST_TEST(!refuses(two_classes(), "Resize"));
  BOOST_TEST(!refuses(two_classes(), "Ruby"));
  BOOST_TEST(!refuses({}, "Charge"));
}
