#include "shared/config/periodic_settings.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "shared/config/config.hpp"
#include "shared/config/config_section.hpp"

namespace brood {
namespace {

using namespace std::chrono_literals;
using setting::Place;
using CatchUp = PeriodicSettings::CatchUp;
using Overlap = PeriodicSettings::Overlap;

constexpr std::array<std::pair<std::string_view, CatchUp>, 3> catch_up_words{
    {{"none", CatchUp::none}, {"last", CatchUp::last}, {"all", CatchUp::all}}};
constexpr std::array<std::pair<std::string_view, Overlap>, 3> overlap_words{
    {{"allow", Overlap::allow}, {"skip", Overlap::skip}, {"queue", Overlap::queue}}};

template <typename Words>
auto read_word(const Words& words, const Place& at, const std::string& word) {
  std::string known;
  for (const auto& [name, value] : words) {
    if (word == name) return value;
    known += (known.empty() ? "\"" : "\", \"") + std::string(name);
  }
  at.refuse("must be one of " + known + "\", not \"" + word + "\"");
}

template <typename Words>
auto value_of(const Words& words, std::string_view word) -> std::optional<decltype(words[0].second)> {
  for (const auto& [name, value] : words) {
    if (word == name) return value;
  }
  return std::nullopt;
}

template <typename Words, typename Value>
std::string_view word_of(const Words& words, Value value) {
  for (const auto& [name, one] : words) {
    if (one == value) return name;
  }
  return "";
}

CronRule read_rule(const Place& at, const std::string& text) try {
  return CronRule::parse(text);
} catch (const CronError& error) {
  at.refuse(error.what());
}

PeriodicSettings read_periodic_job(const std::string& name, const Place& at, const ConfigSection& section) {
  PeriodicSettings job;
  job.place = at.name;
  setting::check_name(at, name);
  section.text("cron", [&](const Place& cron_at, const std::string& text) {
    job.rule = read_rule(cron_at, text);
    job.cron = text;
  });
  if (job.cron.empty()) at.refuse("needs cron = \"0 3 * * *\", or another rule");
  section.text("class", [&](const Place& class_at, const std::string& job_class) {
    job.job_class = setting::check_class_name(class_at, job_class);
  });
  if (job.job_class.empty()) at.refuse("needs class = \"...\": which job runs then");
  section.json_array("args", job.args);
  section.text("queue", [&](const Place& queue_at, const std::string& queue) {
    job.queue = setting::check_name(queue_at, queue);
  });
  section.text("tz", [&](const Place& zone_at, const std::string& zone) {
    job.zone = setting::check_text(zone_at, zone);
    job.place = zone_at.name;
  });
  section.truth_or_count("retry", job.retry, 1'000'000);
  section.text("catch_up", [&](const Place& word_at, const std::string& word) {
    job.catch_up = read_word(catch_up_words, word_at, word);
  });
  if (section.has("within")) section.duration("within", job.within.emplace(), 1s, PeriodicSettings::longest_within);
  section.text("overlap", [&](const Place& word_at, const std::string& word) {
    job.overlap = read_word(overlap_words, word_at, word);
  });
  section.duration("jitter", job.jitter, 0ms, PeriodicSettings::longest_jitter);
  section.texts("enabled_on", [&](const Place& label_at, const std::string& label) {
    job.enabled_on.push_back(setting::check_text(label_at, label));
  });
  if (section.has("enabled_on") && job.enabled_on.empty())
    section.where_is("enabled_on").refuse("names no label: leave it out, and all supervisors serve the job");
  return job;
}

}  // namespace

bool PeriodicSettings::is_enabled_on(const std::vector<std::string>& labels) const {
  return enabled_on.empty() || std::any_of(enabled_on.begin(), enabled_on.end(), [&](const std::string& label) {
           return std::find(labels.begin(), labels.end(), label) != labels.end();
         });
}

CatchUp PeriodicSettings::catches_up() const {
  if (catch_up) return *catch_up;
  return rule.is_hourly_at_most() || overlap == Overlap::queue ? CatchUp::last : CatchUp::none;
}

std::chrono::seconds PeriodicSettings::late_at_most() const {
  if (catches_up() == CatchUp::none) return 60s;
  if (within) return *within;
  return overlap == Overlap::queue ? 24h : 1h;
}

std::optional<CatchUp> catch_up_of(std::string_view word) { return value_of(catch_up_words, word); }
std::optional<Overlap> overlap_of(std::string_view word) { return value_of(overlap_words, word); }
std::string_view name_of(CatchUp catch_up) { return word_of(catch_up_words, catch_up); }
std::string_view name_of(Overlap overlap) { return word_of(overlap_words, overlap); }

void read_periodic_jobs(const ConfigSection& section, Config& config) {
  section.boolean("sidekiq_cron", config.serves_sidekiq_cron);
  section.own_sections([&](const std::string& name, const Place& at, const ConfigSection& one) {
    config.periodic.emplace(name, read_periodic_job(name, at, one));
  });
}

}  // namespace brood
