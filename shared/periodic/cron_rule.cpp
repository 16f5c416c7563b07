#include "shared/periodic/cron_rule.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <utility>
#include <vector>

#include "shared/base/ascii.hpp"

namespace brood {
namespace {

using namespace std::chrono;

constexpr std::size_t longest_text = 1000, longest_shown = 40;

constexpr std::size_t minute = 1, hour = 2, month_day = 3, week_day = 5;

constexpr std::array<CronField, 6> fields = [] {
  std::array<CronField, 6> with_two_sundays = cron_fields;
  with_two_sundays[week_day].most = 7;
  return with_two_sundays;
}();

int read_number(const CronField& field, std::string_view text, std::string_view whole) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || !ascii::is_digit(text[0]) || error != std::errc() || end != text.data() + text.size())
    field.refuse(whole, field.words.empty() ? "is no number, range or *" : "is no number, name, range or *");
  return number;
}

int read_value(const CronField& field, std::string_view text, std::string_view whole) {
  if (const auto named = field.named(text)) return *named;
  const int value = read_number(field, text, whole);
  if (value < field.least || value > field.most)
    field.refuse(whole, "is not within " + std::to_string(field.least) + " to " + std::to_string(field.most));
  return value;
}

int read_step(const CronField& field, std::string_view text, std::string_view whole) {
  const int step = read_number(field, text, whole);
  if (step < 1 || step > field.most)
    field.refuse(whole, "has a step that is not within 1 to " + std::to_string(field.most));
  return step;
}

// "*", "5", "mon-fri", and each with "/2".
std::uint64_t read_range(const CronField& field, std::string_view whole) {
  std::string_view text = whole;
  int step = 1;
  const std::size_t slash = text.find('/');
  if (slash != text.npos) {
    step = read_step(field, text.substr(slash + 1), whole);
    text = text.substr(0, slash);
  }
  int first = field.least, last = &field == &fields[week_day] ? 6 : field.most;
  if (text != "*") {
    const std::size_t dash = text.find('-');
    first = read_value(field, text.substr(0, dash), whole);
    if (dash != text.npos) last = read_value(field, text.substr(dash + 1), whole);
    if (&field == &fields[week_day] && dash != text.npos && last == 0 && first > 0) last = 7;  // Saturday to Sunday
    if (dash == text.npos && slash == text.npos) last = first;
    if (first > last) field.refuse(whole, "runs backwards");
  }
  std::uint64_t bits = 0;
  for (int value = first; value <= last; value += step) bits |= std::uint64_t{1} << value;
  return bits;
}

std::uint64_t read_field(const CronField& field, std::string_view text) {
  std::uint64_t bits = 0;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    if (comma == begin) field.refuse(text, "has nothing between two commas");
    bits |= read_range(field, text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  constexpr std::uint64_t seventh = std::uint64_t{1} << 7;
  if (&field == &fields[week_day] && (bits & seventh)) bits = (bits & ~seventh) | 1;
  return bits;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = text.find_first_not_of(" \t", i);
    if (begin == text.npos) break;
    i = std::min(text.find_first_of(" \t", begin), text.size());
    words.push_back(text.substr(begin, i - begin));
  }
  return words;
}

std::vector<std::string_view> words_of(std::string_view text) {
  if (text.size() > longest_text) throw CronError("the rule is longer than 1000 characters");
  std::vector<std::string_view> words = split(text);
  if (words.empty()) throw CronError("the rule is empty");
  if (words.size() == 1 && words[0].starts_with('@')) {
    if (const auto meaning = fields_of_nickname(words[0])) return split(*meaning);
    throw CronError(shown_rule(words[0]) +
                    " is none of @yearly, @annually, @monthly, @weekly, @daily, @midnight and @hourly");
  }
  if (words.size() != 5 && words.size() != 6)
    throw CronError("a rule has 5 fields, or 6 with seconds in front, and " + shown_rule(text) + " has " +
                    std::to_string(words.size()));
  return words;
}

bool has(std::uint64_t bits, unsigned value) { return bits >> value & 1; }

int days_at_most(unsigned number_of_month) {
  constexpr std::array<int, 12> most{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return most.at(number_of_month - 1);
}

void refuse_days_that_never_come(const CronRule& rule, std::string_view text) {
  if (rule.either_day) return;
  const int first = std::countr_zero(rule.days);
  for (unsigned number = 1; number <= 12; ++number) {
    if (has(rule.months, number) && first <= days_at_most(number)) return;
  }
  fields[month_day].refuse(text, "comes in none of the months");
}

bool is_day(const CronRule& rule, local_days day) {
  const year_month_day date(day);
  if (!has(rule.months, static_cast<unsigned>(date.month()))) return false;
  const auto number = static_cast<unsigned>(date.day());
  const auto last = static_cast<unsigned>((date.year() / date.month() / std::chrono::last).day());
  const unsigned of_seven = weekday(day).c_encoding();
  const bool of_month = has(rule.days, number) || has(rule.days_from_end, last - number + 1);
  const bool of_week = has(rule.weekdays, of_seven) || has(rule.nth_weekdays, 5 * of_seven + (number - 1) / 7) ||
                       has(rule.nth_weekdays_from_end, 5 * of_seven + (last - number) / 7);
  return rule.either_day ? of_month || of_week : of_month && of_week;
}

// The first value from `from` on; nullopt: none.
std::optional<unsigned> next_bit(std::uint64_t bits, unsigned from) {
  const std::uint64_t rest = bits >> from << from;
  return rest == 0 ? std::nullopt : std::optional<unsigned>(std::countr_zero(rest));
}

// The first time of a day from `from` on.
std::optional<std::chrono::seconds> next_time(const CronRule& rule, std::chrono::seconds from) {
  const auto begin = static_cast<unsigned>(from.count());
  const unsigned at_hour = begin / 3600, at_minute = begin / 60 % 60, at_second = begin % 60;
  for (auto h = next_bit(rule.hours, at_hour); h; h = next_bit(rule.hours, *h + 1)) {
    const bool this_hour = *h == at_hour;
    for (auto m = next_bit(rule.minutes, this_hour ? at_minute : 0); m; m = next_bit(rule.minutes, *m + 1)) {
      const auto s = next_bit(rule.seconds, this_hour && *m == at_minute ? at_second : 0);
      if (s) return std::chrono::hours(*h) + std::chrono::minutes(*m) + std::chrono::seconds(*s);
    }
  }
  return std::nullopt;
}

}  // namespace

std::string shown_rule(std::string_view text) {
  std::string shown = "\"";
  for (const char c : text.substr(0, longest_shown)) shown += c >= ' ' && c <= '~' ? c : '?';
  return shown + (text.size() > longest_shown ? "...\"" : "\"");
}

CronRule CronRule::parse(std::string_view text) {
  std::vector<std::string_view> words = words_of(text);
  if (words.size() == 5) words.insert(words.begin(), "0");
  CronRule rule;
  std::uint64_t* const parts[] = {&rule.seconds, &rule.minutes, &rule.hours, &rule.days, &rule.months, &rule.weekdays};
  for (std::size_t i = 0; i < fields.size(); ++i) *parts[i] = read_field(fields[i], words[i]);
  rule.either_day = words[month_day][0] != '*' && words[week_day][0] != '*';
  rule.names_time = (std::string(words[minute]) + std::string(words[hour])).find_first_of("*/") == std::string::npos;
  refuse_days_that_never_come(rule, words[month_day]);
  return rule;
}

bool CronRule::fits(local_seconds moment) const {
  const local_days day = floor<std::chrono::days>(moment);
  return is_day(*this, day) && next_time(*this, moment - day) == moment - day;
}

std::optional<local_seconds> CronRule::first_within(local_seconds begin, local_seconds end) const {
  constexpr auto longest_look = std::chrono::days(366 * 41);  // a 29th of February that is a Monday comes in 40 years
  end = std::min(end, begin + longest_look);
  for (local_days day = floor<std::chrono::days>(begin); day < end; day += std::chrono::days(1)) {
    if (!is_day(*this, day)) continue;
    const auto time = next_time(*this, std::max<std::chrono::seconds>(begin - day, std::chrono::seconds(0)));
    if (!time) continue;
    if (day + *time >= end) return std::nullopt;
    return day + *time;
  }
  return std::nullopt;
}

bool CronRule::is_hourly_at_most() const { return std::has_single_bit(seconds) && std::has_single_bit(minutes); }

std::optional<int> CronField::named(std::string_view word) const {
  if (word.size() != 3) return std::nullopt;
  const std::array<char, 3> lower{ascii::lower(word[0]), ascii::lower(word[1]), ascii::lower(word[2])};
  for (std::size_t i = 0; i < words.size(); i += 3) {
    if (words.substr(i, 3) == std::string_view(lower.data(), lower.size())) return least + static_cast<int>(i / 3);
  }
  return std::nullopt;
}

void CronField::refuse(std::string_view text, const std::string& why) const {
  throw CronError("the " + std::string(name) + " " + shown_rule(text) + " " + why);
}

std::optional<std::string_view> fields_of_nickname(std::string_view nickname) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> meanings{{{"@yearly", "0 0 1 1 *"},
                                                                                          {"@annually", "0 0 1 1 *"},
                                                                                          {"@monthly", "0 0 1 * *"},
                                                                                          {"@weekly", "0 0 * * 0"},
                                                                                          {"@daily", "0 0 * * *"},
                                                                                          {"@midnight", "0 0 * * *"},
                                                                                          {"@hourly", "0 * * * *"}}};
  for (const auto& [name, fields] : meanings) {
    if (nickname == name) return fields;
  }
  return std::nullopt;
}

}  // namespace brood
