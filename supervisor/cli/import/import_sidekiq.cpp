#include "supervisor/cli/import/import_sidekiq.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "shared/base/log_line.hpp"
#include "shared/config/config_file.hpp"
#include "shared/config/queue_order.hpp"
#include "supervisor/cli/import/schedule_rules.hpp"
#include "supervisor/cli/import/sidekiq_yaml.hpp"
#include "supervisor/cli/import/throttles.hpp"

namespace brood {
namespace {

// Settings without a counterpart, and what to do instead.
const std::map<std::string, std::string>& remarks() {
  static const std::map<std::string, std::string> all = {
      {"require", "brood loads no Ruby; its own `require` names job libraries"},
      {"pidfile", "systemd knows the process; the packaged unit needs no file"},
      {"daemon", "systemd runs brood in the background"},
      {"logfile", "brood logs to standard error, which the journal keeps; see [log] file"},
      {"index", "it numbers processes; brood has one supervisor for all workers"},
      {"namespace", "brood reads Sidekiq's keys without a prefix, as Sidekiq 7 and later do"},
      {"redis", "write the address into [redis] url, or set REDIS_URL"},
      {"url", "write the address into [redis] url, or set REDIS_URL"},
      {"process_limits", "brood caps a queue over all machines: see [limits]"},
      {"blocking", "a worker that waits for one queue alone: see [capsules]"},
      {"global", "the caps of brood always hold for all machines"},
      {"fetch_class", "every fetch of brood is reliable"},
      {"reliable_fetch", "every fetch of brood is reliable"},
      {"thread_priority", "workers are processes: see Nice= in systemd.exec(5)"},
      {"poll_interval_average", "brood multiplies `poll_interval` with the number of processes"},
      {"backtrace", "brood keeps the native stack of each crash"},
      {"skip_default_job_logging", "see [log] log_jobs, which is false by default"},
      {"logger", "see [log]"},
      {"log_formatter", "see [log] format"},
      {"listened_queues_only", "every supervisor with the rule serves it: see enabled_on"},
      {"default_job_options", "give each class its options, such as `retry`; see `max_retries` for all classes"},
      {"cron", "the rules of sidekiq-cron stand in a file of their own: see --schedule"},
      {"rufus_scheduler_options", "it is for the Ruby scheduler"},
  };
  return all;
}

// Settings with a counterpart, and its name.
const std::map<std::string, std::string> number_settings = {
    {"concurrency", "concurrency"}, {"max_retries", "max_retries"}, {"dead_max_jobs", "dead_max_jobs"}};
const std::map<std::string, std::string> seconds_settings = {{"timeout", "shutdown_timeout"},
                                                             {"average_scheduled_poll_interval", "poll_interval"},
                                                             {"dead_timeout_in_seconds", "dead_timeout"},
                                                             {"max_iteration_runtime", "max_iteration_runtime"}};
const std::map<std::string, std::string> text_settings = {{"environment", "environment"}, {"tag", "tag"}};

// Settings that are translated part by part.
const std::set<std::string> parted_settings = {"queues",   "dynamic",   "capsules", "limits",
                                               "schedule", "scheduler", "redis"};

bool is_setting(const std::string& name) {
  static const std::set<std::string> others = {"labels", "strict", "verbose", "enabled"};
  return number_settings.contains(name) || seconds_settings.contains(name) || text_settings.contains(name) ||
         parted_settings.contains(name) || others.contains(name) || remarks().contains(name);
}

class Import {
 public:
  explicit Import(const ImportRequest& request) : request_(request) {}

  Imported run() {
    path_ = request_.config.path;
    const YamlValue root = read(request_.config);
    const Members settings = settings_of(root);
    runs_no_rules_ = switches_scheduler_off(settings);
    for (const auto& [name, value] : settings) take(name, value);
    write_queues();
    if (request_.schedule) {
      path_ = request_.schedule->path;
      take_rules(read(*request_.schedule));
    }
    take_throttles(find_throttles(request_.ruby));
    return {text(), translated_, std::move(notes_)};
  }

 private:
  using Members = std::vector<std::pair<std::string, YamlValue>>;

  YamlValue read(const SidekiqFile& file) {
    SidekiqYaml yaml = read_sidekiq_yaml(file.path, file.text, request_.variable);
    variables_.clear();
    for (const ErbTag& tag : yaml.tags) {
      note(tag.line, "ERB", remark_on(tag, file.path));
      if (tag.is_of_environment && !tag.is_withheld) variables_.emplace(tag.line, tag.variable);
    }
    if (yaml.root.kind == YamlValue::Kind::none) return {};
    if (yaml.root.kind == YamlValue::Kind::list && request_.schedule && file.path == request_.schedule->path)
      return yaml.root;
    if (yaml.root.kind != YamlValue::Kind::map)
      setting::Place{fmt::format("{}:{}", file.path, yaml.root.line)}.refuse(
          "is no map of settings: is it Sidekiq's file?");
    return yaml.root;
  }

  // Shows no value of a variable, which may be a password or a URL with one, and no default of such a variable.
  static std::string remark_on(const ErbTag& tag, const std::string& path) {
    const std::string code = log::printable(tag.code.substr(0, 80));
    if (tag.is_withheld)
      return fmt::format("the value of `{}` may be a secret, so it is not written: set it in brood.toml yourself",
                         log::printable(tag.variable));
    if (!tag.value)
      return fmt::format("`{}` cannot be evaluated without Ruby: pipe the output of `erb {}` to `brood import -`", code,
                         path == standard_input ? "FILE" : path);
    return fmt::format("`{}` is {} here; brood.toml reads no environment, so set it there", code,
                       tag.is_of_environment ? "taken from the environment" : *tag.value);
  }

  // The settings for all environments, overridden by those of ours.
  Members settings_of(const YamlValue& root) {
    Members settings;
    for (const auto& [name, value] : root.map) {
      if (!is_environment(name, value)) {
        settings.emplace_back(name, value);
      } else if (name != request_.environment) {
        note(value.line, name, fmt::format("left out: this is for the environment {}; see --environment", name));
      }
    }
    const YamlValue* own = root.find(request_.environment);
    if (own == nullptr || !is_environment(request_.environment, *own)) return settings;
    for (const auto& [name, value] : own->map) {
      if (value.kind == YamlValue::Kind::none) continue;
      std::erase_if(settings, [&own_name = name](const auto& known) { return known.first == own_name; });
      settings.emplace_back(name, value);
    }
    return settings;
  }

  // Whether the settings in `value` are for the environment `name`: it has a usual name, or that of --environment, or
  // holds settings that no gem has.
  bool is_environment(const std::string& name, const YamlValue& value) const {
    static const std::set<std::string> usual{"production", "staging", "development", "test"};
    if (value.kind != YamlValue::Kind::map || is_setting(name)) return false;
    return usual.contains(name) || name == request_.environment || value.find("concurrency") != nullptr ||
           value.find("queues") != nullptr;
  }

  // sidekiq-scheduler: `enabled: false`, since version 5 below `scheduler`.
  bool switches_scheduler_off(const Members& settings) {
    bool is_off = false;
    const auto look_at = [&](const YamlValue& enabled) {
      if (enabled.truth() == false)
        is_off = true;
      else if (!enabled.truth())
        note(enabled.line, "enabled", "is neither true nor false here: remove the rules below if Ruby runs none");
    };
    for (const auto& [name, value] : settings) {
      if (name == "enabled") look_at(value);
      if (const YamlValue* const inner = value.find("enabled"); name == "scheduler" && inner != nullptr)
        look_at(*inner);
    }
    return is_off;
  }

  void take(const std::string& name, const YamlValue& value) {
    if (name == "enabled") return;  // see switches_scheduler_off()
    if (value.kind == YamlValue::Kind::none) return;
    if (value.holds_withheld() && !parted_settings.contains(name)) return note_withheld(value.line, name);
    if (const auto to = number_settings.find(name); to != number_settings.end()) {
      take_number(name, to->second, value);
    } else if (const auto to_seconds = seconds_settings.find(name); to_seconds != seconds_settings.end()) {
      const auto number = value.decimal();
      if (!number) return note(value.line, name, "is no number of seconds");
      add(root_, fmt::format("{} = \"{}s\"", to_seconds->second, *number), value);
    } else if (const auto to_text = text_settings.find(name); to_text != text_settings.end() && !value.word().empty()) {
      add(root_, fmt::format("{} = {}", to_text->second, toml_string(value.word())), value);
    } else if (name == "labels" && value.kind == YamlValue::Kind::list) {
      add(root_, "labels = " + toml_of(value).value_or("[]"), value);
    } else if (name == "queues") {
      queues_from_ = value;
      queues_ = queues_of(value);
    } else if (name == "strict") {
      is_strict_ = value.truth() == true;
    } else if (name == "dynamic") {
      take_dynamic(value);
    } else if (name == "verbose") {
      if (value.truth() == true) add(section("log"), "level = \"debug\"", value);
    } else if (parted_settings.contains(name) && name != "redis" && value.kind == YamlValue::Kind::text) {
      note(value.line, name, "left out: is no map of settings");
    } else if (name == "capsules") {
      for (const auto& [capsule, settings] : value.map) take_capsule(capsule, settings);
    } else if (name == "limits" && value.kind == YamlValue::Kind::map) {
      for (const auto& [queue, most] : value.map) take_limit(queue, most);
    } else if (name == "schedule") {
      take_schedule(value);
    } else if (name == "scheduler") {
      for (const auto& [inner, of_scheduler] : value.map) {
        if (inner == "schedule")
          take_schedule(of_scheduler);
        else if (inner == "dynamic" && of_scheduler.truth() == true)
          note(of_scheduler.line, "scheduler.dynamic", "rules that change at run time: see `brood periodic add`");
        else if (inner != "dynamic" && inner != "enabled" && inner != "dynamic_every")
          note_without_counterpart("scheduler." + inner, inner, of_scheduler.line);
      }
    } else {
      note_without_counterpart(name, name, value.line);
    }
  }

  void take_number(const std::string& name, const std::string& key, const YamlValue& value) {
    const auto number = value.number();
    if (!number || *number < 0) return note(value.line, name, "is no number");
    add(root_, fmt::format("{} = {}", key, *number), value);
    if (name == "concurrency" && *number > 1)
      note(value.line, name,
           fmt::format("{} threads of one process in Ruby are {} worker processes here; jobs that "
                       "compute need no more than there are processors, which is the default",
                       *number, *number));
  }

  struct Queue {
    std::string name;
    long long weight = 0;  // 0: none given
  };

  // A list of names, of pairs or of "name,weight"; one such; or a map of weights by names.
  std::vector<Queue> queues_of(const YamlValue& value) {
    std::vector<Queue> queues;
    for (const auto& [name, weight] : value.map) {
      if (weight.is_withheld)
        note_withheld(weight.line, "queues");
      else
        add_queue({name, weight.number().value_or(0)}, weight.line, queues);
    }
    if (value.kind == YamlValue::Kind::map) return queues;
    for (const YamlValue& entry : value.kind == YamlValue::Kind::list ? value.list : std::vector{value}) {
      if (entry.holds_withheld()) {
        note_withheld(entry.line, "queues");
        continue;
      }
      Queue queue;
      const bool is_pair = entry.kind == YamlValue::Kind::list && !entry.list.empty();
      queue.name = is_pair ? entry.list[0].word() : entry.word();
      if (is_pair && entry.list.size() > 1) queue.weight = entry.list[1].number().value_or(0);
      if (const std::size_t comma = queue.name.find(','); comma != queue.name.npos) {
        const YamlValue weight{.kind = YamlValue::Kind::text, .text = queue.name.substr(comma + 1)};
        queue.weight = weight.number().value_or(0);
        queue.name.erase(comma);
      }
      add_queue(queue, entry.line, queues);
    }
    return queues;
  }

  void add_queue(const Queue& queue, int line, std::vector<Queue>& queues) {
    const auto known = std::ranges::find(queues, queue.name, &Queue::name);
    if (!is_safe_name(queue.name))
      note(line, "queues", fmt::format("{} is no name of a queue", toml_string(queue.name)));
    else if (known != queues.end())
      known->weight += std::max(queue.weight, 1LL);
    else
      queues.push_back(queue);
  }

  static std::string toml_of_queues(const std::vector<Queue>& queues, bool is_strict,
                                    const std::vector<std::string>& more) {
    const bool has_weights =
        !is_strict && std::ranges::any_of(queues, [](const Queue& queue) { return queue.weight > 0; });
    std::string all;
    for (const Queue& queue : queues) {
      all += all.empty() ? "" : ", ";
      all += has_weights ? fmt::format("[{}, {}]", toml_string(queue.name), std::max(queue.weight, 1LL))
                         : toml_string(queue.name);
    }
    for (const std::string& entry : more) all += (all.empty() ? "" : ", ") + entry;
    return "queues = [" + all + "]";
  }

  void write_queues() {
    if (queues_.empty() && further_queues_.empty()) return;
    const bool has_weights = std::ranges::any_of(queues_, [](const Queue& queue) { return queue.weight > 0; });
    if (!further_queues_.empty() && has_weights && !is_strict_) further_queues_.front() = "[\"*\", 1]";
    add(root_, toml_of_queues(queues_, is_strict_, further_queues_), queues_from_);
  }

  // sidekiq-limit_fetch: true, or { exclude: [...] }.
  void take_dynamic(const YamlValue& value) {
    if (value.truth() == false) return;
    if (queues_from_.line == 0) queues_from_ = value;
    further_queues_.emplace_back("\"*\"");
    const YamlValue* const excluded = value.find("exclude");
    if (excluded == nullptr) return;
    for (const YamlValue& name : excluded->list) {
      if (name.is_withheld) note_withheld(name.line, "dynamic.exclude");
      if (is_safe_name(name.word())) further_queues_.push_back(toml_string("!" + name.word()));
    }
  }

  void take_capsule(const std::string& name, const YamlValue& settings) {
    if (!is_safe_name(name)) return note(settings.line, "capsules." + name, "is no name of a capsule");
    if (settings.kind != YamlValue::Kind::map)
      return note(settings.line, "capsules." + name, "left out: is no map of settings");
    std::vector<std::string>& lines = section("capsules." + key(name));
    for (const auto& [setting, value] : settings.map) {
      if (setting == "concurrency" && value.is_withheld)
        note_withheld(value.line, "capsules." + name + "." + setting);
      else if (setting == "concurrency" && value.number())
        add(lines, fmt::format("concurrency = {}", *value.number()), value);
      else if (setting == "queues")
        add(lines, toml_of_queues(queues_of(value), false, {}), value);
      else
        note(value.line, "capsules." + name + "." + setting, "has no counterpart");
    }
  }

  void take_limit(const std::string& queue, const YamlValue& most) {
    if (most.is_withheld) return note_withheld(most.line, "limits." + queue);
    const auto number = most.number();
    if (!is_safe_name(queue) || !number || *number < 1)
      return note(most.line, "limits." + queue, "is no number of jobs of a queue");
    std::vector<std::string>& lines = section("limits." + key(queue));
    lines.push_back(fmt::format("queues = [{}]", toml_string(queue)));
    add(lines, fmt::format("concurrent = {}", *number), most);
  }

  void take_throttles(const Throttles& throttles) {
    for (const ThrottleCap& cap : throttles.caps) {
      const bool is_known =
          std::ranges::any_of(sections_, [&](const auto& one) { return one.first == "limits." + key(cap.name); });
      std::vector<std::string>& lines = section("limits." + key((is_known ? "class-" : "") + cap.name));
      std::string classes;
      for (const std::string& name : cap.classes) classes += (classes.empty() ? "" : ", ") + toml_string(name);
      lines.push_back("classes = [" + classes + "]");
      lines.push_back(fmt::format("{:<50} # {}", fmt::format("concurrent = {}", cap.most), cap.place));
      ++translated_;
    }
    notes_.insert(notes_.end(), throttles.notes.begin(), throttles.notes.end());
  }

  // The rules of sidekiq-scheduler.
  void take_schedule(const YamlValue& rules) {
    if (!runs_no_rules_) return take_rules(rules);
    note(rules.line, "schedule", "left out: `enabled: false` switches the rules off, so Ruby runs none of them");
  }

  // A map by names, or a list of maps with `name`.
  void take_rules(const YamlValue& rules) {
    for (const auto& [name, rule] : rules.map) take_rule(name, rule);
    for (const YamlValue& rule : rules.list) {
      const YamlValue* const name = rule.find("name");
      take_rule(name == nullptr ? "" : name->word(), rule);
    }
  }

  void take_rule(const std::string& name, const YamlValue& rule) {
    const std::string shown = "periodic." + name;
    if (!is_safe_name(name))
      return note(rule.line, shown, "is no name of a rule: letters, digits, \"_\", \"-\", \".\" and \":\"");
    if (rule.holds_withheld()) return note_withheld(rule.line, shown);
    if (const YamlValue* const only = rule.find("rails_env"); only != nullptr && !is_for_our_environment(*only))
      return note(rule.line, shown,
                  fmt::format("left out: it is for the environment {}; see --environment", only->word()));
    const ImportedRule imported = import_rule(name, rule);
    for (const std::string& problem : imported.problems) note(rule.line, shown, problem);
    if (imported.lines.empty()) return;
    if (!rules_.insert(name).second) return note(rule.line, shown, "left out: another rule has this name, see above");
    if (rules_.size() == 1)
      note(rule.line, "periodic", "a rule without tz is in UTC here, and in the server's or Rails' time zone there");
    std::vector<std::string>& lines = section("periodic." + key(name));
    if (const YamlValue* text = rule.find("description"); text != nullptr && !text->word().empty())
      lines.push_back("# " + log::printable(text->word().substr(0, 200)));
    if (const std::string names = variables_in(rule); !names.empty())
      lines.push_back("# with values of this machine's environment: " + names);
    for (const std::string& line : imported.lines) lines.push_back(line);
    ++translated_;
  }

  // The names of a rule's `rails_env` are separated by commas.  An empty text stands for no environment.
  bool is_for_our_environment(const YamlValue& rails_env) const {
    if (rails_env.kind == YamlValue::Kind::none) return true;
    std::string names = "," + rails_env.word() + ",";
    std::erase_if(names, [](char c) { return c == ' ' || c == '\t' || c == '\n'; });
    return names.find("," + request_.environment + ",") != names.npos;
  }

  std::vector<std::string>& section(const std::string& name) {
    const auto known = std::ranges::find(sections_, name, [](const auto& one) { return one.first; });
    if (known != sections_.end()) return known->second;
    return sections_.emplace_back(name, std::vector<std::string>()).second;
  }

  // The name as a key of a section.
  static std::string key(const std::string& name) {
    const bool is_bare = std::ranges::all_of(name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    });
    return is_bare ? name : toml_string(name);
  }

  void add(std::vector<std::string>& lines, const std::string& line, const YamlValue& from) {
    const std::string names = variables_in(from);
    lines.push_back(fmt::format("{:<50} # {}:{}{}", line, shown_path(), from.line,
                                names.empty() ? "" : ", from this machine's environment: " + names));
    ++translated_;
  }

  // The variables of the environment whose values stand in the lines of `value`.
  std::string variables_in(const YamlValue& value) const {
    std::set<std::string> names;
    const auto end = variables_.upper_bound(value.last_line());
    for (auto one = variables_.lower_bound(value.line); one != end; ++one) names.insert(log::printable(one->second));
    return fmt::format("{}", fmt::join(names, ", "));
  }

  void note_withheld(int line, const std::string& name) {
    note(line, name, "left out: its value may be a secret of the environment; set it in brood.toml yourself");
  }

  std::string shown_path() const { return log::printable(path_); }

  void note(int line, std::string name, std::string text) {
    notes_.push_back({fmt::format("{}:{}", shown_path(), line), log::printable(name), log::printable(text)});
  }

  void note_without_counterpart(const std::string& shown, const std::string& name, int line) {
    const auto known = remarks().find(name);
    note(line, shown, known == remarks().end() ? "has no counterpart" : "has no counterpart: " + known->second);
  }

  std::string text() const {
    std::string all = fmt::format("# From {}, for the environment {}.  See brood.toml(5).\n\n",
                                  log::printable(request_.config.path), log::printable(request_.environment));
    for (const std::string& line : root_) all += line + "\n";
    for (const auto& [name, lines] : sections_) {
      all += fmt::format("\n[{}]\n", name);
      for (const std::string& line : lines) all += line + "\n";
    }
    all += "\n# Not read: settings in Ruby, such as Sidekiq.configure_server, sidekiq_options and middleware.\n";
    for (const ImportNote& one : notes_) all += fmt::format("# {}: {}: {}\n", one.place, one.name, one.text);
    return all;
  }

  const ImportRequest& request_;
  std::string path_;  // of the file being read
  std::vector<std::string> root_;
  std::vector<std::pair<std::string, std::vector<std::string>>> sections_;
  std::vector<Queue> queues_;
  std::vector<std::string> further_queues_;  // after those, as TOML
  YamlValue queues_from_;
  std::multimap<int, std::string> variables_;  // of the environment, by the line of the file that uses one
  std::set<std::string> rules_;                // their names
  bool is_strict_ = false;
  bool runs_no_rules_ = false;  // of sidekiq-scheduler
  std::size_t translated_ = 0;
  std::vector<ImportNote> notes_;
};

}  // namespace

Imported import_sidekiq(const ImportRequest& request) { return Import(request).run(); }

}  // namespace brood
