#include <brood/argument.hpp>

#include <array>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include <brood/detail/read_arguments.hpp>
#include <brood/detail/write_arguments.hpp>
#include <brood/job.hpp>

using brood::ArgumentError;
using brood::detail::read_arguments;
using brood::detail::write_arguments;
using namespace std::chrono_literals;

namespace argument_types {

enum class Colour : std::uint8_t { red, green = 7, grey };
enum class Level { low = -3, high = 5 };

class Money {
 public:
  Money() = default;
  explicit Money(long cents) : cents_(cents) {}
  long cents() const { return cents_; }

 private:
  long cents_ = 0;
};

// One field of the type that is looked at.
template <typename Type>
struct Holding {
  Type value{};
};

}  // namespace argument_types

template <>
struct brood::EnumNames<argument_types::Colour> {
  static constexpr std::pair<std::string_view, argument_types::Colour> names[] = {
      {"red", argument_types::Colour::red}, {"green", argument_types::Colour::green}};
};

template <>
struct brood::Argument<argument_types::Money> {
  using Wire = std::string;
  static Wire write(const argument_types::Money& money) { return std::to_string(money.cents()); }
  static argument_types::Money read(const Wire& text) {
    if (text.find_first_not_of("0123456789") != text.npos) throw std::invalid_argument("expected cents as digits");
    return argument_types::Money(std::stol(text));
  }
};

using namespace argument_types;

namespace {

template <typename Type>
std::string written(const Type& value) {
  return write_arguments(Holding<Type>{value});
}

template <typename Type>
Type read_as(std::string_view args) {
  return read_arguments<Holding<Type>>("Holder", args).value;
}

// Checks that the value is written like this and read back unchanged.
template <typename Type>
void check_travels(const Type& value, const std::string& args) {
  BOOST_TEST(written(value) == args);
  BOOST_TEST((read_as<Type>(args) == value), args);
}

template <typename Type>
void check_refused(std::string_view args, const std::string& why) {
  BOOST_CHECK_EXCEPTION(read_as<Type>(args), ArgumentError, [&](const ArgumentError& error) {
    BOOST_TEST(error.what() == "Holder: argument 1 (value): " + why);
    return true;
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_enum_travels_as_its_number) {
  check_travels(Level::low, "[-3]");
  check_travels(Level::high, "[5]");
  BOOST_TEST((read_as<Level>("[77]") == static_cast<Level>(77)));
  check_refused<Level>("[\"low\"]", "expected an integer, got \"low\"");
}

BOOST_AUTO_TEST_CASE(an_enum_whose_names_are_declared_travels_as_its_name) {
  check_travels(Colour::green, R"(["green"])");
  check_travels(std::vector{Colour::red, Colour::green}, R"([["red","green"]])");
  BOOST_TEST((read_as<Colour>("[7]") == Colour::green));
  BOOST_TEST((read_as<Colour>(R"(["\u0072ed"])") == Colour::red));
  check_refused<Colour>(R"(["blue"])", R"(expected one of "red", "green", got "blue")");
  check_refused<Colour>("[8]", R"(expected one of "red", "green", got 8)");
  check_refused<Colour>("[null]", R"(expected one of "red", "green", got null)");
  BOOST_CHECK_THROW(written(Colour::grey), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(a_length_of_time_travels_as_its_seconds) {
  check_travels(90s, "[90]");
  check_travels(std::chrono::hours(-2), "[-7200]");
  check_travels(1500ms, "[1.5]");
  check_travels(2000ms, "[2.0]");
  check_travels(1ns, "[1.0e-09]");
  check_travels(std::chrono::duration<double>(0.25), "[0.25]");
  BOOST_TEST((read_as<std::chrono::milliseconds>("[2]") == 2s));
  BOOST_TEST((read_as<std::chrono::seconds>("[2.0]") == 2s));
  BOOST_TEST((read_as<std::chrono::minutes>("[120]") == 2min));
}

BOOST_AUTO_TEST_CASE(a_length_that_its_type_has_not_is_refused) {
  check_refused<std::chrono::seconds>("[1.5]", "expected a number of seconds, without a fraction, got 1.5");
  check_refused<std::chrono::minutes>("[90]", "expected a number of seconds, in steps of 60, got 90");
  check_refused<std::chrono::milliseconds>("[0.0005]", "expected a number of seconds, in steps of 1/1000, got 0.0005");
  check_refused<std::chrono::seconds>("[\"1\"]", "expected a number of seconds, without a fraction, got \"1\"");
  check_refused<std::chrono::nanoseconds>("[1e10]", "expected a number of seconds, in steps of 1/1000000000, got 1e10");
  check_refused<std::chrono::seconds>("[1e400]", "expected a number of seconds, without a fraction, got 1e400");
  using Byte = std::chrono::duration<std::uint8_t>;
  BOOST_TEST((read_as<Byte>("[255]").count() == 255));
  check_refused<Byte>("[256]", "expected a number of seconds, without a fraction, got 256");
  check_refused<Byte>("[-1]", "expected a number of seconds, without a fraction, got -1");
}

BOOST_AUTO_TEST_CASE(a_length_that_a_json_number_cannot_keep_is_not_sent) {
  BOOST_CHECK_THROW(written(std::chrono::nanoseconds(std::numeric_limits<std::int64_t>::max())), std::invalid_argument);
  BOOST_CHECK_THROW(written(std::chrono::hours(std::numeric_limits<std::int64_t>::max())), std::invalid_argument);
  check_travels(std::chrono::nanoseconds(1'234'567'890'123), "[1234.567890123]");
}

BOOST_AUTO_TEST_CASE(a_point_in_time_travels_as_seconds_since_the_epoch_to_the_microsecond) {
  const std::chrono::sys_seconds whole{1'700'000'000s};
  check_travels(whole, "[1700000000]");
  check_travels(std::chrono::sys_days(std::chrono::days(2)), "[172800]");
  using Time = std::chrono::system_clock::time_point;
  check_travels(Time(whole) + 123'456us, "[1700000000.123456]");
  check_travels(Time(whole), "[1700000000.0]");
  check_travels(Time(-1500ms), "[-1.5]");
  BOOST_TEST(written(Time(whole) + 123'456'789ns) == "[1700000000.123456]");
  BOOST_TEST((read_as<Time>("[1700000000]") == whole));
  check_refused<Time>("[1e12]", "expected seconds since the epoch, got 1e12");
  check_refused<Time>("[\"2026-01-01\"]", "expected seconds since the epoch, got \"2026-01-01\"");
  check_refused<std::chrono::sys_days>("[3]", "expected seconds since the epoch, got 3");
}

BOOST_AUTO_TEST_CASE(a_path_travels_as_a_string) {
  check_travels(std::filesystem::path("/var/lib/ä"), R"(["/var/lib/ä"])");
  check_refused<std::filesystem::path>("[1]", "expected a string, got 1");
  BOOST_CHECK_THROW(written(std::filesystem::path("\xff")), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(bytes_travel_as_base64) {
  using Bytes = std::vector<std::byte>;
  check_travels(Bytes{}, R"([""])");
  check_travels(Bytes{std::byte{0xff}}, R"(["/w=="])");
  check_travels(Bytes{std::byte{0xfb}, std::byte{0xf0}}, R"(["+/A="])");
  check_travels(Bytes{std::byte{1}, std::byte{2}, std::byte{3}}, R"(["AQID"])");
  check_travels(std::array{std::byte{1}, std::byte{2}}, R"(["AQI="])");
  check_travels(std::vector<std::uint8_t>{1, 2}, "[[1,2]]");  // numbers, as ever
  BOOST_TEST((read_as<Bytes>("[\"AQ\\nID\\n\"]").size() == 3U));
  for (const char* text : {"A", "AQ", "AQI", "AQI=ID==", "AQJ=", "====", "A===", "AQ-_", "AQID ", "=AQI"}) {
    check_refused<Bytes>(std::string("[\"") + text + "\"]",
                         std::string("expected bytes in base64, got \"") + text + "\"");
  }
  check_refused<std::array<std::byte, 2>>(R"(["AQID"])", R"(expected 2 bytes in base64, got "AQID")");
}

BOOST_AUTO_TEST_CASE(sets_pairs_and_tuples_travel_as_arrays) {
  check_travels(std::set<std::string>{"b", "a"}, R"([["a","b"]])");
  check_travels(std::unordered_set<int>{3}, "[[3]]");
  BOOST_TEST((read_as<std::set<int>>("[[2,1,2]]") == std::set<int>{1, 2}));
  check_travels(std::pair<int, std::string>(1, "x"), R"([[1,"x"]])");
  check_travels(std::tuple<int, bool, Colour>(1, true, Colour::red), R"([[1,true,"red"]])");
  using Pair = std::pair<int, std::string>;
  check_refused<Pair>("[[1]]", "expected an array of 2, got [1]");
  check_refused<Pair>(R"([[1,"x",2]])", R"(expected an array of 2, got [1,"x",2])");
  BOOST_CHECK_EXCEPTION(read_as<Pair>("[[1,2]]"), ArgumentError, [](const ArgumentError& error) {
    return std::string(error.what()) == "Holder: argument 1 (value[1]): expected a string, got 2";
  });
}

BOOST_AUTO_TEST_CASE(a_variant_takes_the_first_type_that_fits) {
  using Any = std::variant<std::monostate, bool, int, double, std::vector<int>, std::string>;
  check_travels(Any(), "[null]");
  check_travels(Any(true), "[true]");
  check_travels(Any(5), "[5]");
  check_travels(Any(5.0), "[5.0]");
  check_travels(Any(std::vector{1}), "[[1]]");
  check_travels(Any("x"), R"(["x"])");
  BOOST_TEST((read_as<Any>("[5000000000]") == Any(5e9)));
  check_refused<Any>("[{}]", "expected a value of one of its 6 types, got {}");
  BOOST_TEST(!(brood::detail::narrow_before_wide<std::variant<double, int>>()));
  BOOST_TEST(!(brood::detail::narrow_before_wide<std::variant<brood::Json, int>>()));
}

BOOST_AUTO_TEST_CASE(a_type_of_ones_own_travels_as_it_says) {
  BOOST_TEST(written(Money(1250)) == R"(["1250"])");
  BOOST_TEST(read_as<Money>(R"(["1250"])").cents() == 1250);
  check_refused<Money>(R"(["12x"])", R"(expected cents as digits, got "12x")");
  check_refused<Money>("[12]", "expected a string, got 12");
  BOOST_TEST((read_as<std::map<std::string, Money>>(R"([{"a":"7"}])").at("a").cents() == 7));
}

BOOST_AUTO_TEST_CASE(an_optional_of_any_of_them_may_be_missing) {
  BOOST_TEST(written(std::optional<Money>()) == "[]");
  BOOST_TEST((read_as<std::optional<Colour>>("[]") == std::nullopt));
  check_travels(std::optional<std::chrono::seconds>(3s), "[3]");
}
