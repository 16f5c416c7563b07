#include "shared/periodic/zone.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <sstream>
#include <system_error>
#include <vector>

#include "shared/base/nearest.hpp"

namespace brood {

using namespace std::chrono;

namespace {

// Moments beyond these are not used: arithmetic with them could overflow.
constexpr sys_seconds first_moment = sys_days(year(1800) / 1 / 1), last_moment = sys_days(year(2250) / 1 / 1);

// Reads numbers one after the other, the highest byte first.  is_short() shows whether the file ended too early.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : left_(bytes) {}

  std::string_view take(std::uint64_t size) {
    if (size > left_.size()) {
      is_short_ = true;
      left_ = {};
      return {};
    }
    const std::string_view taken = left_.substr(0, size);
    left_.remove_prefix(size);
    return taken;
  }
  template <typename Number>
  Number number() {
    std::make_unsigned_t<Number> value = 0;
    for (const char byte : take(sizeof value))
      value = static_cast<decltype(value)>(value << 8 | static_cast<unsigned char>(byte));
    return static_cast<Number>(value);
  }
  bool is_short() const { return is_short_; }
  std::string_view left() const { return left_; }

 private:
  std::string_view left_;
  bool is_short_ = false;
};

struct Header {
  char version = 0;
  std::uint32_t universal, standard, leaps, times, types, letters;

  std::uint64_t size_of_data(std::uint64_t size_of_time) const {
    return times * (size_of_time + 1) + types * std::uint64_t{6} + letters + leaps * (size_of_time + 4) + standard +
           universal;
  }
};

std::optional<Header> read_header(Bytes& bytes) {
  if (bytes.take(4) != "TZif") return std::nullopt;
  Header header{};
  header.version = bytes.number<char>();
  bytes.take(15);
  for (std::uint32_t* const count :
       {&header.universal, &header.standard, &header.leaps, &header.times, &header.types, &header.letters})
    *count = bytes.number<std::uint32_t>();
  if (bytes.is_short()) return std::nullopt;
  return header;
}

sys_seconds bounded(sys_seconds moment) { return std::clamp(moment, first_moment, last_moment); }

}  // namespace

// The last line of a file: "CET-1CEST,M3.5.0,M10.5.0/3", as in the variable TZ.
class RuleReader {
 public:
  static std::optional<ZoneFile::Rule> read(std::string_view text) {
    RuleReader reader(text);
    const ZoneFile::Rule rule = reader.rule();
    if (reader.failed_ || !reader.left_.empty()) return std::nullopt;
    return rule;
  }

 private:
  using YearlyChange = ZoneFile::YearlyChange;

  explicit RuleReader(std::string_view text) : left_(text) {}

  bool takes(char wanted) {
    if (!left_.starts_with(wanted)) return false;
    left_.remove_prefix(1);
    return true;
  }
  void require(bool holds) { failed_ = failed_ || !holds; }

  int number(int least, int most) {
    int value = 0;
    std::size_t digits = 0;
    for (; digits < left_.size() && digits < 4 && left_[digits] >= '0' && left_[digits] <= '9'; ++digits)
      value = value * 10 + (left_[digits] - '0');
    left_.remove_prefix(digits);
    require(digits > 0 && value >= least && value <= most);
    return value;
  }
  // "<+0330>" or "CET"
  void name() {
    const bool is_quoted = takes('<');
    const auto is_letter = [&](char c) {
      return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
             (is_quoted && ((c >= '0' && c <= '9') || c == '+' || c == '-'));
    };
    const auto end = std::find_if_not(left_.begin(), left_.end(), is_letter);
    require(end != left_.begin());
    left_.remove_prefix(static_cast<std::size_t>(end - left_.begin()));
    if (is_quoted) require(takes('>'));
  }
  seconds time() {
    const bool is_negative = takes('-');
    if (!is_negative) takes('+');
    seconds value = hours(number(0, 167));
    if (takes(':')) value += minutes(number(0, 59));
    if (takes(':')) value += seconds(number(0, 59));
    return is_negative ? -value : value;
  }
  YearlyChange change() {
    YearlyChange change;
    if (takes('M')) {
      change.kind = YearlyChange::Kind::month_week_day;
      change.month = number(1, 12);
      require(takes('.'));
      change.week = number(1, 5);
      require(takes('.'));
      change.day = number(0, 6);
    } else if (takes('J')) {
      change.kind = YearlyChange::Kind::day_without_leap_day;
      change.day = number(1, 365);
    } else {
      change.day = number(0, 365);
    }
    change.time = takes('/') ? time() : hours(2);
    return change;
  }
  // The offsets in such a text must be added to the local time to get UTC.
  ZoneFile::Rule rule() {
    ZoneFile::Rule rule;
    name();
    rule.standard = -time();
    if (left_.empty()) return rule;
    name();
    rule.summer = left_.starts_with(',') ? rule.standard + hours(1) : -time();
    require(takes(','));
    const YearlyChange begin = change();
    require(takes(','));
    rule.changes = {begin, change()};
    return rule;
  }

  std::string_view left_;
  bool failed_ = false;
};

local_seconds ZoneFile::YearlyChange::in(year year) const {
  const local_days new_year{year / January / 1};
  switch (kind) {
    case Kind::month_week_day: {
      const weekday wanted(static_cast<unsigned>(day));
      const auto of_month = std::chrono::month(static_cast<unsigned>(month));
      if (week == 5) return local_days{year / of_month / wanted[last]} + time;
      return local_days{year / of_month / wanted[static_cast<unsigned>(week)]} + time;
    }
    case Kind::day_without_leap_day:
      return new_year + days(day - 1 + (year.is_leap() && day > 59 ? 1 : 0)) + time;
    case Kind::day:
      break;
  }
  return new_year + days(day) + time;
}

std::optional<ZoneFile> ZoneFile::parse(std::string_view text) {
  Bytes bytes(text);
  auto header = read_header(bytes);
  const bool is_first_version = header && header->version == 0;
  if (header && !is_first_version) {  // the first data count by 32 bits; behind them the same again, by 64
    bytes.take(header->size_of_data(4));
    header = read_header(bytes);
  }
  if (!header || header->leaps != 0 || header->types == 0) return std::nullopt;

  ZoneFile zone;
  for (std::uint32_t i = 0; i < header->times && !bytes.is_short(); ++i) {
    const std::int64_t at = is_first_version ? bytes.number<std::int32_t>() : bytes.number<std::int64_t>();
    zone.changes_.push_back({sys_seconds(seconds(at)), seconds(0)});
  }
  const std::string_view type_of_each = bytes.take(header->times);
  std::vector<seconds> ahead;
  for (std::uint32_t i = 0; i < header->types && !bytes.is_short(); ++i) {
    ahead.emplace_back(bytes.number<std::int32_t>());
    bytes.take(2);  // whether it is summer time, and its name
  }
  bytes.take(header->letters + std::uint64_t{header->standard} + header->universal);
  if (bytes.is_short()) return std::nullopt;
  for (std::size_t i = 0; i < zone.changes_.size(); ++i) {
    const auto type = static_cast<unsigned char>(type_of_each[i]);
    if (type >= ahead.size() || (i > 0 && zone.changes_[i].at <= zone.changes_[i - 1].at)) return std::nullopt;
    zone.changes_[i].ahead = ahead[type];
  }
  zone.first_ahead_ = ahead.front();

  std::string_view rule = is_first_version ? "" : bytes.left();
  if (rule.starts_with('\n')) rule.remove_prefix(1);
  rule = rule.substr(0, rule.find('\n'));
  if (!rule.empty()) {
    zone.rule_ = RuleReader::read(rule);
    if (!zone.rule_) return std::nullopt;
  }
  return zone;
}

// The changes by the rule, ordered by time.
std::vector<ZoneFile::Change> ZoneFile::changes_between(year first, year last) const {
  std::vector<Change> found;
  for (year one = first; one <= last; ++one) {
    const auto& [to_summer, back] = *rule_->changes;
    // In this order: a year of nothing but summer time ends it at the moment at which it begins anew.
    found.push_back({sys_seconds(back.in(one).time_since_epoch() - rule_->summer), rule_->standard});
    found.push_back({sys_seconds(to_summer.in(one).time_since_epoch() - rule_->standard), rule_->summer});
  }
  std::stable_sort(found.begin(), found.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  return found;
}

ZoneFile::Span ZoneFile::around(sys_seconds moment) const {
  moment = bounded(moment);
  const auto span_in = [&](const std::vector<Change>& changes, Span around) {
    const auto next = std::upper_bound(changes.begin(), changes.end(), moment,
                                       [](sys_seconds wanted, const Change& change) { return wanted < change.at; });
    if (next != changes.end()) around.end = std::min(around.end, next->at);
    if (next != changes.begin() && std::prev(next)->at >= around.begin) {
      around.begin = std::prev(next)->at;
      around.ahead = std::prev(next)->ahead;
    }
    return around;
  };
  Span span = span_in(changes_, {sys_seconds::min(), sys_seconds::max(), first_ahead_});
  const bool is_after_all = changes_.empty() || moment >= changes_.back().at;
  if (is_after_all && rule_ && !rule_->changes) span.ahead = rule_->standard;
  if (is_after_all && rule_ && rule_->changes) {
    const year now = year_month_day(floor<days>(moment)).year();
    span = span_in(changes_between(now - years(1), now + years(1)), span);
  }
  return {bounded(span.begin), bounded(span.end), span.ahead};
}

namespace {

namespace fs = std::filesystem;

const fs::path zones = "/usr/share/zoneinfo";
constexpr std::uintmax_t largest_file = 1 << 20;  // those that exist have some kilobytes

// Whether a name in that directory is no zone: there are tables, zones that count leap seconds, and links.
bool names_no_zone(std::string_view first_part) {
  return first_part == "right" || first_part == "posix" || first_part == "posixrules" || first_part == "localtime";
}

bool may_be_name(std::string_view name) {
  const auto is_part_of_name = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '/' || c == '_' ||
           c == '+' || c == '-';
  };
  return !name.empty() && name.front() != '/' && name.back() != '/' && name.find("//") == name.npos &&
         std::all_of(name.begin(), name.end(), is_part_of_name) && !names_no_zone(name.substr(0, name.find('/')));
}

// Visits the old names of zones, each with its present name.  Debian 13 has the files of these in another package
// (tzdata-legacy).
template <typename Visit>
void visit_links(Visit visit) {
  std::ifstream table(zones / "tzdata.zi");
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string kind, present, old;
    if (words >> kind >> present >> old && kind == "L") visit(old, present);
  }
}

std::optional<ZoneFile> read_zone(std::string_view name) {
  const fs::path path = zones / name;
  std::error_code unreadable;
  if (!fs::is_regular_file(path, unreadable) || fs::file_size(path, unreadable) > largest_file) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return ZoneFile::parse(bytes);
}

}  // namespace

std::optional<Zone> Zone::find(std::string_view name) {
  static std::mutex lock;
  static std::map<std::string, ZoneFile, std::less<>> known;  // for good: zones point into it
  Zone zone;
  if (name == "UTC") return zone;
  if (!may_be_name(name)) return std::nullopt;
  const std::lock_guard guard(lock);
  auto found = known.find(name);
  if (found == known.end()) {
    std::optional<ZoneFile> file = read_zone(name);
    if (!file) {
      visit_links([&](const std::string& old, const std::string& present) {
        if (old == name && may_be_name(present)) file = read_zone(present);
      });
    }
    if (!file) return std::nullopt;
    found = known.emplace(name, std::move(*file)).first;
  }
  zone.name_ = name;
  zone.file_ = &found->second;
  return zone;
}

Zone Zone::fixed(std::string_view name, std::chrono::seconds ahead) {
  Zone zone;
  zone.name_ = name;
  zone.ahead_ = ahead;
  return zone;
}

std::optional<std::string> Zone::like(const std::string& name) {
  std::vector<std::string> known{"UTC"};
  std::error_code unreadable;
  for (auto file = fs::recursive_directory_iterator(zones, unreadable); file != fs::recursive_directory_iterator();
       file.increment(unreadable)) {
    const std::string found = file->path().lexically_relative(zones);
    const bool is_directory = file->is_directory(unreadable);
    if (is_directory && names_no_zone(found)) file.disable_recursion_pending();
    if (!is_directory && may_be_name(found)) known.push_back(found);
  }
  visit_links([&](const std::string& old, const std::string&) { known.push_back(old); });
  return nearest(name, known);
}

Zone::Span Zone::around(std::chrono::sys_seconds moment) const {
  if (file_ != nullptr) return file_->around(moment);
  static const ZoneFile utc;
  Span span = utc.around(moment);
  span.ahead = ahead_;
  return span;
}

}  // namespace brood
