#include "supervisor/cli/import/throttles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "shared/base/ascii.hpp"
#include "shared/base/log_line.hpp"
#include "shared/base/plain_number.hpp"
#include "shared/config/queue_order.hpp"

namespace brood {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

constexpr std::int64_t most_concurrent = 10'000;  // that a cap may have

std::string_view trimmed(std::string_view text) {
  constexpr const char* blanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

bool is_word(char c) { return ascii::is_letter_or_digit(c) || c == '_'; }

// Walks over Ruby code and distinguishes code from strings and comments.
class RubyText {
 public:
  explicit RubyText(std::string_view text, std::size_t at = 0) : text_(text), at_(at) {}

  bool at_end() const { return at_ >= text_.size(); }
  std::size_t at() const { return at_; }
  char here() const { return text_[at_]; }
  int depth() const { return depth_; }  // of brackets
  bool in_string() const { return quote_ != '\0'; }

  void step() {
    const char c = text_[at_++];
    if (quote_ != '\0') {
      if (c == '\\')
        at_ = std::min(at_ + 1, text_.size());
      else if (c == quote_)
        quote_ = '\0';
    } else if (c == '"' || c == '\'') {
      quote_ = c;
    } else if (c == '(' || c == '[' || c == '{') {
      ++depth_;
    } else if (c == ')' || c == ']' || c == '}') {
      --depth_;
    }
  }

  bool begins_comment() const {
    return quote_ == '\0' && here() == '#' &&
           (at_ == 0 || std::string_view(" \t\n,([{").find(text_[at_ - 1]) != std::string_view::npos);
  }

  void skip_line() { at_ = std::min(text_.find('\n', at_), text_.size()); }

 private:
  std::string_view text_;
  std::size_t at_;
  int depth_ = 0;
  char quote_ = '\0';
};

// The arguments of the call whose name ends at `from`, without comments and without the brackets around them.
std::string arguments_at(std::string_view text, std::size_t from) {
  std::string found;
  RubyText code(text, from);
  while (!code.at_end() && (code.here() == ' ' || code.here() == '\t')) code.step();
  const bool has_brackets = !code.at_end() && code.here() == '(';
  if (has_brackets) code.step();
  while (!code.at_end()) {
    if (code.begins_comment()) {
      code.skip_line();
      continue;
    }
    const char c = code.here();
    if (!code.in_string()) {
      if (has_brackets && code.depth() == 1 && c == ')') break;
      if (!has_brackets && code.depth() == 0 && (c == ';' || c == '}')) break;
      const std::string_view before = trimmed(found);
      if (!has_brackets && c == '\n' && code.depth() == 0 && !before.ends_with(',') && !before.ends_with('\\')) break;
    }
    const std::size_t at = code.at();
    code.step();
    found += text.substr(at, code.at() - at);
  }
  return std::string(trimmed(found));
}

// Splits code at the commas outside of brackets.
std::vector<std::string> elements_of(std::string_view list) {
  std::vector<std::string> elements;
  RubyText code(list);
  std::size_t begin = 0;
  const auto add = [&](std::size_t end) {
    if (const std::string_view element = trimmed(list.substr(begin, end - begin)); !element.empty())
      elements.emplace_back(element);
  };
  for (; !code.at_end(); code.step()) {
    if (code.here() != ',' || code.depth() != 0 || code.in_string()) continue;
    add(code.at());
    begin = code.at() + 1;
  }
  add(list.size());
  return elements;
}

// Removes brackets around all of it.
std::string_view without(std::string_view brackets, std::string_view code) {
  if (code.size() >= 2 && code.front() == brackets[0] && code.back() == brackets[1])
    return trimmed(code.substr(1, code.size() - 2));
  return code;
}

// `name: value` or `:name => value`; an element of another form has no name.
Pairs pairs_of(std::string_view hash) {
  Pairs pairs;
  for (const std::string& element : elements_of(without("{}", trimmed(hash)))) {
    std::string_view rest = element;
    const bool is_symbol = rest.front() == ':';
    if (is_symbol) rest.remove_prefix(1);
    const std::size_t end = static_cast<std::size_t>(std::ranges::find_if_not(rest, is_word) - rest.begin());
    const std::string_view name = rest.substr(0, end);
    rest = is_symbol ? trimmed(rest.substr(end)) : rest.substr(end);
    const std::string_view mark = is_symbol ? "=>" : ":";
    if (name.empty() || !rest.starts_with(mark) || rest.starts_with("::"))
      pairs.emplace_back("", element);
    else
      pairs.emplace_back(name, trimmed(rest.substr(mark.size())));
  }
  return pairs;
}

const std::string* find(const Pairs& pairs, std::string_view name) {
  const auto pair = std::ranges::find(pairs, name, [](const auto& one) { return std::string_view(one.first); });
  return pair == pairs.end() ? nullptr : &pair->second;
}

// `10` or `1_000`.
std::optional<std::int64_t> number_in(std::string text) {
  std::erase(text, '_');
  return plain_number<std::int64_t>(text);
}

// As C++ writes it: `1.hour` is 1h, and `60` is 60s.
std::optional<std::string> duration_in(std::string_view text) {
  if (text.ends_with(".to_i")) text.remove_suffix(5);
  const std::size_t point = std::min(text.find('.'), text.size());
  const auto number = number_in(std::string(text.substr(0, point)));
  if (!number || *number < 1) return std::nullopt;
  const std::string_view unit = point == text.size() ? "seconds" : text.substr(point + 1);
  if (unit == "second" || unit == "seconds") return fmt::format("{}s", *number);
  if (unit == "minute" || unit == "minutes") return fmt::format("{}min", *number);
  if (unit == "hour" || unit == "hours") return fmt::format("{}h", *number);
  if (unit == "day" || unit == "days") return fmt::format("{}h", 24 * *number);
  return std::nullopt;
}

// `:name`, "name" or 'name'.
std::string symbol_in(std::string_view text) {
  if (text.starts_with(':')) text.remove_prefix(1);
  return std::string(without("''", without("\"\"", text)));
}

class Scan {
 public:
  void read(const SidekiqFile& file) {
    path_ = log::printable(file.path);
    enclosing_.clear();
    line_ = 0;
    bool in_comment = false;
    for (std::size_t begin = 0; begin < file.text.size();) {
      const std::size_t end = std::min(file.text.find('\n', begin), file.text.size());
      const std::string_view line = std::string_view(file.text).substr(begin, end - begin);
      ++line_;
      if (line.starts_with("__END__")) break;
      if (line.starts_with("=begin")) in_comment = true;
      if (!in_comment) read_line(file.text, begin, line);
      if (line.starts_with("=end")) in_comment = false;
      begin = end + 1;
    }
  }

  Throttles result() {
    for (const Use& use : uses_) share(use);
    for (const ThrottleCap& cap : shared_) {
      if (cap.classes.empty())
        note(cap.place, cap.name, "left out: no class has sidekiq_throttle_as with this name");
      else if (cap.most > 0)
        found_.caps.push_back(cap);
    }
    return std::move(found_);
  }

 private:
  struct Enclosing {
    std::size_t indentation;
    std::string name;
  };
  struct Use {
    std::string strategy, job_class, place;
  };

  void read_line(std::string_view text, std::size_t begin, std::string_view line) {
    const std::size_t indentation = line.find_first_not_of(" \t\r");
    if (indentation == line.npos) return;
    while (!enclosing_.empty() && enclosing_.back().indentation >= indentation) enclosing_.pop_back();
    bool has_ended = false;  // a class, or something else
    for (const std::size_t at : statements_in(line)) {
      const std::string_view code = line.substr(at);
      if (const std::string name = class_opened_by(code); !name.empty())
        enclosing_.push_back({indentation, name});
      else if (is_call(code, "end"))
        has_ended = true;
      else if (has_ended && code.starts_with("sidekiq_throttle"))
        note(place(), "sidekiq_throttle", "left out: write it on a line of its own");
      else
        read_statement(text, begin + at, code);
    }
    const std::string_view code = without_comment(line).substr(indentation);
    if (constexpr std::string_view add = "Throttled::Registry.add"; code.find(add) != code.npos)
      take_shared(arguments_at(text, begin + indentation + code.find(add) + add.size()));
    if (code.find(".sidekiq_throttle") != code.npos && !code.starts_with("def self.sidekiq"))
      note(place(), "sidekiq_throttle", "cannot be read without Ruby: it is a call of another object");
  }

  static std::string_view without_comment(std::string_view line) {
    RubyText code(line);
    while (!code.at_end() && !code.begins_comment()) code.step();
    return line.substr(0, code.at());
  }

  // Where a statement may begin: at the line's first character, behind `;`, and where a block begins.
  static std::vector<std::size_t> statements_in(std::string_view line) {
    std::vector<std::size_t> found;
    bool is_begin = true;
    for (RubyText code(without_comment(line)); !code.at_end(); code.step()) {
      const char c = code.here();
      if (c == ' ' || c == '\t' || c == '\r') {
        is_begin |= line.substr(0, code.at()).ends_with(" do");
        continue;
      }
      if (is_begin) found.push_back(code.at());
      is_begin = !code.in_string() && (c == ';' || c == '{' || c == '|');
    }
    return found;
  }

  // The name in `class Name`, `module Name` and `Name = Class.new`; empty for other code.
  static std::string class_opened_by(std::string_view code) {
    const auto name_in = [](std::string_view rest) {
      return std::string(rest.begin(), std::ranges::find_if_not(rest, [](char c) { return is_word(c) || c == ':'; }));
    };
    for (const std::string_view word : {"class ", "module "}) {
      if (code.starts_with(word)) return name_in(trimmed(code.substr(word.size())));
    }
    const std::string name = ascii::is_upper(code.front()) ? name_in(code) : "";
    std::string_view rest = trimmed(code.substr(name.size()));
    if (name.empty() || !rest.starts_with('=')) return "";
    rest = trimmed(rest.substr(1));
    return rest.starts_with("Class.new") || rest.starts_with("Module.new") ? name : "";
  }

  static bool is_call(std::string_view code, std::string_view name) {
    return code.starts_with(name) &&
           (code.size() == name.size() || (!is_word(code[name.size()]) && code[name.size()] != ':'));
  }

  void read_statement(std::string_view text, std::size_t at, std::string_view code) {
    constexpr std::string_view own = "sidekiq_throttle", as = "sidekiq_throttle_as";
    if (is_call(code, own))
      take_own(arguments_at(text, at + own.size()));
    else if (is_call(code, as))
      uses_.push_back({symbol_in(arguments_at(text, at + as.size())), job_class(), place()});
  }

  std::string place() const { return fmt::format("{}:{}", path_, line_); }

  std::string job_class() const {
    std::string name;
    for (const Enclosing& one : enclosing_) {
      const bool is_absolute = one.name.starts_with("::");
      if (is_absolute) name.clear();
      name += (name.empty() ? "" : "::") + one.name.substr(is_absolute ? 2 : 0);
    }
    return name;
  }

  void take_own(const std::string& arguments) {
    const std::string name = job_class();
    if (name.empty()) return note(place(), "sidekiq_throttle", "left out: it stands in no class");
    ThrottleCap cap{.name = name, .classes = {name}, .most = limit_of(name, pairs_of(arguments)), .place = place()};
    const auto same = std::ranges::find(found_.caps, name, &ThrottleCap::name);
    if (same != found_.caps.end()) {
      note(same->place, name, "left out: the class has another sidekiq_throttle, see below");
      found_.caps.erase(same);
    }
    if (cap.most > 0) found_.caps.push_back(std::move(cap));
  }

  void take_shared(const std::string& arguments) {
    Pairs pairs = pairs_of(arguments);
    if (pairs.empty() || !pairs.front().first.empty() || !is_safe_name(symbol_in(pairs.front().second)))
      return note(place(), "Registry.add", "cannot be read without Ruby: its name is no plain one");
    const std::string name = symbol_in(pairs.front().second);
    pairs.erase(pairs.begin());
    if (pairs.size() == 1 && pairs.front().first.empty())
      pairs = pairs_of(std::string(pairs.front().second));  // { ... }
    shared_.push_back({.name = name, .classes = {}, .most = limit_of(name, pairs), .place = place()});
  }

  void share(const Use& use) {
    const auto shared = std::ranges::find(shared_, use.strategy, &ThrottleCap::name);
    if (use.job_class.empty() || shared == shared_.end())
      return note(use.place, use.job_class.empty() ? "sidekiq_throttle_as" : use.job_class,
                  fmt::format("left out: no Registry.add of {} is in the files", use.strategy));
    shared->classes.push_back(use.job_class);
  }

  // The concurrency of a strategy; 0 if none can become a cap.  Notes every setting that it does not translate.
  std::int64_t limit_of(const std::string& name, const Pairs& strategy) {
    std::int64_t least = 0;
    for (const auto& [member, value] : strategy) {
      if (member == "concurrency") {
        for (const std::string& one : elements_of(without("[]", value))) {
          if (const std::int64_t most = concurrency_of(name, pairs_of(one)); most > 0)
            least = least == 0 ? most : std::min(least, most);
        }
      } else if (member == "threshold") {
        for (const std::string& one : elements_of(without("[]", value))) note_threshold(name, pairs_of(one));
      } else if (member == "requeue") {
        note(place(), name + " requeue",
             "has no counterpart: a job above the cap waits in the queue \"<queue>@<name>\"");
      } else if (member == "observer") {
        note(place(), name + " observer", "has no counterpart: `brood limits` and the metrics show who waits");
      } else {
        note(place(), member.empty() ? name : name + " " + member, "cannot be read without Ruby");
      }
    }
    return least;
  }

  std::int64_t concurrency_of(const std::string& name, const Pairs& concurrency) {
    const std::string shown = name + " concurrency";
    const std::string* const limit = find(concurrency, "limit");
    if (find(concurrency, "key_suffix") != nullptr) {
      note(place(), shown,
           "left out: key_suffix makes a limit for each value; brood caps classes and queues, and tenants by per = "
           "\"tenant\"; else use a brood::Limiter with the value in its name");
      return 0;
    }
    const auto most = limit == nullptr ? std::nullopt : number_in(*limit);
    if (!most || *most < 0) {
      note(place(), shown, "left out: its limit is no plain number, and cannot be read without Ruby");
      return 0;
    }
    if (*most == 0 || *most > most_concurrent) {
      note(place(), shown,
           *most == 0 ? "left out: a cap is at least 1; `brood classes pause` stops a class"
                      : fmt::format("left out: a cap is at most {}", most_concurrent));
      return 0;
    }
    for (const auto& [member, value] : concurrency) {
      if (member == "ttl" || member == "avg_job_duration" || member == "lost_job_threshold")
        note(place(), shown + " " + member, "is not needed: a place is free when its job or its worker has ended");
      else if (member != "limit")
        note(place(), shown + (member.empty() ? "" : " " + member), "has no counterpart");
    }
    return *most;
  }

  void note_threshold(const std::string& name, const Pairs& threshold) {
    const std::string *const limit = find(threshold, "limit"), *const period = find(threshold, "period");
    const auto number = limit == nullptr ? std::nullopt : number_in(*limit);
    const auto duration = period == nullptr ? std::nullopt : duration_in(*period);
    const bool is_plain = number && duration && find(threshold, "key_suffix") == nullptr;
    std::string limiter = name;
    std::ranges::replace_if(
        limiter, [](char c) { return !is_word(c) && c != '-'; }, '-');
    note(place(), name + " threshold",
         is_plain ? fmt::format("is no setting: use brood::Limiter::window(\"{}\", {}, {}) in the job", limiter,
                                *number, *duration)
                  : "is no setting: use a brood::Limiter::window in the job; its values cannot be read without Ruby");
  }

  void note(const std::string& where, const std::string& name, const std::string& text) {
    found_.notes.push_back({where, log::printable(name), log::printable(text)});
  }

  std::string path_;
  int line_ = 0;
  std::vector<Enclosing> enclosing_;
  std::vector<ThrottleCap> shared_;
  std::vector<Use> uses_;
  Throttles found_;
};

}  // namespace

Throttles find_throttles(const std::vector<SidekiqFile>& files) {
  Scan scan;
  for (const SidekiqFile& file : files) scan.read(file);
  return scan.result();
}

}  // namespace brood
