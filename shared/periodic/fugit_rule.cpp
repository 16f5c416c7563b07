#include "shared/periodic/fugit_rule.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/ascii.hpp"
#include "shared/periodic/cron_rule.hpp"

namespace brood {
namespace {

constexpr std::size_t longest_fugit_rule = 1000;

constexpr std::size_t of_hours = 2, of_days = 3, of_weekdays = 5;

std::string lowered(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = ascii::lower(c);
  return lower;
}

std::optional<int> digits(std::string_view text) {
  int number = 0;
  const bool all = !text.empty() && text.size() <= 2 && std::all_of(text.begin(), text.end(), ascii::is_digit);
  if (all) std::from_chars(text.data(), text.data() + text.size(), number);
  return all ? std::optional(number) : std::nullopt;
}

// One bound of a range.  A day of the month may be counted from the end: -1 is the last one.
int bound(const CronField& field, std::string_view text, std::string_view whole) {
  const bool counts_days = &field == &cron_fields[of_days];
  if (counts_days && (lowered(text) == "l" || lowered(text) == "last")) return -1;
  if (const auto named = field.named(text)) return *named;
  const bool from_end = counts_days && text.starts_with('-');
  const auto number = digits(text.substr(from_end ? 1 : 0));
  if (!number) field.refuse(whole, "is no number, name, range or * that brood reads");
  // 24 is midnight, and 7 is Sunday.
  const int most = field.most + (&field == &cron_fields[of_hours] || &field == &cron_fields[of_weekdays] ? 1 : 0);
  if (*number < field.least || *number > most)
    field.refuse(whole, "is not within " + std::to_string(field.least) + " to " + std::to_string(most));
  return from_end ? -*number : *number;
}

// "*", "5", "mon-fri", "/5", and each with a step.
struct Part {
  std::optional<int> first, last, step;
};

Part read_part(const CronField& field, std::string_view whole) {
  Part part;
  std::string_view text = whole;
  if (text.find('~') != text.npos) field.refuse(whole, "is chosen at random, each time anew");
  if (text.find('%') != text.npos) field.refuse(whole, "is of every so many weeks, which brood does not count");
  if (const std::size_t slash = text.find('/'); slash != text.npos) {
    part.step = digits(text.substr(slash + 1));
    if (!part.step || *part.step < 1) field.refuse(whole, "has a step that is not within 1 to 99");
    text = text.substr(0, slash);
    if (text.empty()) return part;
  }
  if (text == "*") return part;
  const std::size_t dash = text.find('-', text.starts_with('-') ? 1 : 0);
  part.first = bound(field, text.substr(0, dash), whole);
  if (dash != text.npos) part.last = bound(field, text.substr(dash + 1), whole);
  return part;
}

// The values of a field that fit.  `full`: the field is spelled so that all fit, which makes a difference for days.
struct Values {
  std::uint64_t bits = 0, from_end = 0;
  bool full = false;
};

std::uint64_t bit(int value) { return std::uint64_t{1} << value; }

// Adds the values from `first` to `last` in steps, over the end of the field if need be.
void add_range(const CronField& field, std::string_view whole, int first, int last, int step, Values& values) {
  if ((first < 0) != (last < 0)) field.refuse(whole, "runs from the end of the month to its beginning");
  const bool from_end = first < 0;
  const int least = from_end ? -field.most : field.least, most = from_end ? -1 : field.most;
  const int size = most - least + 1;
  int length = last - first;
  while (length < 0) length += size;
  for (int i = 0; i <= length; i += step) {
    const int value = (first - least + i) % size + least;
    (from_end ? values.from_end : values.bits) |= bit(from_end ? -value : value);
  }
}

void add_part(const CronField& field, std::string_view whole, Values& values) {
  const Part part = read_part(field, whole);
  if (part.first && !part.last && !part.step) return add_range(field, whole, *part.first, *part.first, 1, values);
  const int first = part.first.value_or(field.least), step = part.step.value_or(1);
  int last = part.last.value_or(field.most);
  if (last < 0 && first > 0) last = field.most;
  if (first == field.least && last == field.most && step == 1) {
    values.full = true;
    return;
  }
  add_range(field, whole, first, last, step, values);
}

std::vector<std::string_view> parts_between(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = text.find_first_not_of(separators, i);
    if (begin == text.npos) break;
    i = std::min(text.find_first_of(separators, begin), text.size());
    parts.push_back(text.substr(begin, i - begin));
  }
  return parts;
}

Values read_values(const CronField& field, std::string_view text) {
  Values values;
  const std::vector<std::string_view> parts = parts_between(text, ",");
  if (parts.empty()) field.refuse(text, "is empty");
  for (const std::string_view part : parts) add_part(field, part, values);
  if (values.full) add_range(field, text, field.least, field.most, 1, values);
  return values;
}

// Days of the week are read differently: `*` beside other values adds none, and a step without a range repeats nothing.
struct Weekdays {
  std::uint64_t bits = 0, nth = 0, nth_from_end = 0;
  bool full = false;
};

void add_nth(const CronField& field, std::string_view whole, std::size_t hash, Weekdays& days) {
  const int day = bound(field, whole.substr(0, hash), whole) % 7;
  const std::string which = lowered(whole.substr(hash + 1));
  const bool last = which == "l" || which == "last", from_end = last || which.starts_with('-');
  const auto number = last ? std::optional(1) : digits(std::string_view(which).substr(from_end ? 1 : 0));
  if (!number || *number < 1 || *number > 5) field.refuse(whole, "has no number of 1 to 5, -1 to -5 or L behind #");
  (from_end ? days.nth_from_end : days.nth) |= bit(day * 5 + *number - 1);
}

void add_weekdays(const CronField& field, std::string_view whole, Weekdays& days) {
  if (const std::size_t hash = whole.find('#'); hash != whole.npos) return add_nth(field, whole, hash, days);
  const Part part = read_part(field, whole);
  if (!part.first && !part.step) return;  // *
  int last = part.last.value_or(part.first.value_or(6));
  const int first = part.first.value_or(0);
  if (first > last) last += 7;
  for (int day = first; day <= last; day += part.step.value_or(1)) days.bits |= bit(day % 7);
}

Weekdays read_weekdays(const CronField& field, std::string_view text) {
  Weekdays days;
  const std::vector<std::string_view> parts = parts_between(text, ",");
  if (parts.empty()) field.refuse(text, "is empty");
  for (const std::string_view part : parts) add_weekdays(field, part, days);
  days.full = days.bits == 0 && days.nth == 0 && days.nth_from_end == 0;
  if (days.full) days.bits = bit(7) - 1;
  return days;
}

// "+09:00", "-0330".
std::optional<std::chrono::minutes> distance_from_utc(std::string_view word) {
  if (word.size() < 5 || (word[0] != '+' && word[0] != '-')) return std::nullopt;
  const std::string_view minutes_text = word.substr(word[3] == ':' ? 4 : 3);
  const auto hours = digits(word.substr(1, 2)), minutes = digits(minutes_text);
  const bool fits = hours && minutes && minutes_text.size() == 2 && *hours <= 24 && *minutes % 15 == 0 && *minutes < 60;
  if (!fits) return std::nullopt;
  const auto distance = std::chrono::hours(*hours) + std::chrono::minutes(*minutes);
  return word[0] == '-' ? -distance : distance;
}

// Whether a word begins with a capital and another letter or digit, and is no day such as "MON" or "SUN#1".
bool looks_like_a_zone(std::string_view word) {
  if (word.size() < 2 || !ascii::is_upper(word[0]) || !ascii::is_letter_or_digit(word[1])) return false;
  const bool is_day =
      cron_fields[of_weekdays].named(word.substr(0, 3)) && (word.size() == 3 || !ascii::is_letter(word[3]));
  return !is_day && word.find_first_of("#%,*&") == word.npos;
}

// Takes the zone off the end of a rule; UTC if there is none.
Zone take_zone(std::vector<std::string_view>& words) {
  if (words.size() < 2) return {};
  const std::string_view last = words.back();
  if (const auto distance = distance_from_utc(last)) {
    words.pop_back();
    return Zone::fixed(last, *distance);
  }
  if (!looks_like_a_zone(last)) return {};
  words.pop_back();
  const auto zone = Zone::find(last);
  if (!zone) throw CronError("this machine knows no time zone " + shown_rule(last));
  return *zone;
}

std::vector<std::string_view> with_nickname_read(std::vector<std::string_view> words, std::string_view text) {
  if (words.size() != 1 || !words[0].starts_with('@')) return words;
  const auto meaning = words[0] == "@noon" ? "0 12 * * *" : fields_of_nickname(words[0]);
  if (meaning) return parts_between(*meaning, " ");
  throw CronError(shown_rule(text) +
                  " is none of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @noon and @hourly");
}

bool take_and(std::string_view& field) {
  const bool both = field.ends_with('&');
  if (both) field.remove_suffix(1);
  return both;
}

}  // namespace

FugitRule FugitRule::parse(std::string_view text) {
  if (text.size() > longest_fugit_rule) throw CronError("the rule is longer than 1000 characters");
  std::vector<std::string_view> words = parts_between(text, " \t\n\r");
  if (words.empty()) throw CronError("the rule is empty");
  FugitRule read;
  read.zone = take_zone(words);
  words = with_nickname_read(std::move(words), text);
  if (words.size() != 5 && words.size() != 6)
    throw CronError(
        "a rule has 5 fields, or 6 with seconds in front, and perhaps a time zone behind; rules in words are "
        "not read: " +
        shown_rule(text));
  if (words.size() == 5) words.insert(words.begin(), "0");
  const bool both_of_days = take_and(words[of_days]), both = take_and(words[of_weekdays]) || both_of_days;

  CronRule& rule = read.rule;
  std::uint64_t* const bits[] = {&rule.seconds, &rule.minutes, &rule.hours, nullptr, &rule.months};
  for (std::size_t i = 0; i < std::size(bits); ++i) {
    if (bits[i]) *bits[i] = read_values(cron_fields[i], words[i]).bits;
  }
  const Values days = read_values(cron_fields[of_days], words[of_days]);
  rule.days = days.bits;
  rule.days_from_end = days.from_end;
  const Weekdays weekdays = read_weekdays(cron_fields[of_weekdays], words[of_weekdays]);
  rule.weekdays = weekdays.bits;
  rule.nth_weekdays = weekdays.nth;
  rule.nth_weekdays_from_end = weekdays.nth_from_end;
  rule.either_day = !days.full && !weekdays.full && !both;
  rule.names_time = (std::string(words[1]) + std::string(words[2])).find_first_of("*/") == std::string::npos;
  return read;
}

}  // namespace brood
