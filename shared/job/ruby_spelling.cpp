#include "shared/job/ruby_spelling.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include <brood/detail/write_arguments.hpp>

#include "shared/json/json.hpp"

namespace brood {
namespace {

// The value of a decimal text, whatever its spelling: digits without zeros at either end, and where the point is.
struct Decimal {
  std::string digits;
  long point = 0;  // the value is 0.digits * 10^point

  bool operator==(const Decimal&) const = default;
};

Decimal read_decimal(std::string_view text) {
  Decimal decimal;
  if (text.front() == '-') text.remove_prefix(1);
  const std::size_t end = std::min(text.find_first_of("eE"), text.size());
  if (end < text.size()) {
    const std::size_t digits = end + (text[end + 1] == '+' ? 2 : 1);
    std::from_chars(text.data() + digits, text.data() + text.size(), decimal.point);
  }
  bool behind_point = false;
  for (const char c : text.substr(0, end)) {
    if (c == '.') {
      behind_point = true;
    } else if (c != '0' || !decimal.digits.empty()) {
      decimal.digits += c;
      decimal.point += behind_point ? 0 : 1;
    } else if (behind_point) {
      --decimal.point;
    }
  }
  decimal.digits.erase(decimal.digits.find_last_not_of('0') + 1);
  if (decimal.digits.empty()) decimal.point = 0;
  return decimal;
}

std::string number(std::string_view text) {
  if (is_json_integer(text)) return text == "-0" ? "0" : std::string(text);
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc()) return std::string(text);
  std::string ours = json_float(value);
  return read_decimal(ours) == read_decimal(text) ? ours : std::string(text);
}

void write(std::string& out, detail::JsonReader& reader);

void write_object(std::string& out, detail::JsonReader& reader) {
  std::vector<std::pair<std::string, std::string>> members;
  reader.each_member([&](const std::string& key) {
    std::string value;
    write(value, reader);
    const auto earlier =
        std::find_if(members.begin(), members.end(), [&](const auto& one) { return one.first == key; });
    if (earlier != members.end()) {
      earlier->second = std::move(value);
    } else {
      members.emplace_back(key, std::move(value));
    }
  });
  const char* between = "{";
  for (const auto& [key, value] : members) {
    detail::write_string(out.append(std::exchange(between, ",")), key);
    out.append(":").append(value);
  }
  out.append(members.empty() ? "{}" : "}");
}

void write(std::string& out, detail::JsonReader& reader) {
  const char first = reader.peek();
  if (first == '{') {
    write_object(out, reader);
  } else if (first == '[') {
    out.push_back('[');
    reader.each_element([&](std::size_t index) {
      if (index > 0) out.push_back(',');
      write(out, reader);
    });
    out.push_back(']');
  } else if (first == '"') {
    std::string text;
    reader.read_string(text);
    detail::write_string(out, text);
  } else if (first == '-' || (first >= '0' && first <= '9')) {
    out.append(number(reader.read_number()));
  } else {
    out.append(reader.skip_value());
  }
}

}  // namespace

std::string ruby_spelling(std::string_view json, int depth) {
  std::string out;
  out.reserve(json.size());
  detail::JsonReader reader(json, depth);
  write(out, reader);
  reader.expect_end();
  return out;
}

}  // namespace brood
