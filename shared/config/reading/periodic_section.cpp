#include "shared/config/reading/periodic_section.hpp"

#include <string>

namespace brood {
namespace {

using namespace std::chrono_literals;
using setting::Place;
using CatchUp = PeriodicSettings::CatchUp;
using Overlap = PeriodicSettings::Overlap;

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
  section.text("class", [&](const Place& class_at, const std::string& job_class) {
    job.job_class = setting::check_class_name(class_at, job_class);
  });
  section.json_array("args", job.args);
  section.text("queue", [&](const Place& queue_at, const std::string& queue) {
    job.queue = setting::check_queue(queue_at, queue);
  });
  section.text("tz", [&](const Place& zone_at, const std::string& zone) {
    job.zone = setting::check_text(zone_at, zone);
    job.place = zone_at.name;
  });
  section.truth_or_count("retry", job.retry, 1'000'000);
  job.goes_by_class = true;
  job.says_queue = section.has("queue");
  job.says_retry = section.has("retry");
  section.text("catch_up", [&](const Place& word_at, const std::string& word) {
    job.catch_up = setting::choose<CatchUp>(word_at, word,
                                            {{"none", CatchUp::none}, {"last", CatchUp::last}, {"all", CatchUp::all}});
  });
  std::chrono::seconds within{};
  section.duration("within", within, 1s, PeriodicSettings::longest_within);
  if (section.has("within")) job.within = within;
  section.text("overlap", [&](const Place& word_at, const std::string& word) {
    job.overlap = setting::choose<Overlap>(
        word_at, word, {{"allow", Overlap::allow}, {"skip", Overlap::skip}, {"queue", Overlap::queue}});
  });
  section.duration("jitter", job.jitter, 0ms, PeriodicSettings::longest_jitter);
  section.texts("enabled_on", [&](const Place& label_at, const std::string& label) {
    job.enabled_on.push_back(setting::check_text(label_at, label));
  });
  if (section.has("enabled_on") && job.enabled_on.empty())
    section.where_is("enabled_on").refuse("names no label: leave it out, and all supervisors serve the job");
  bool paused = false;
  section.boolean("paused", paused);
  if (paused) job.paused_at = section.where_is("paused").name;
  if (job.cron.empty()) at.refuse("needs cron = \"0 3 * * *\", or another rule");
  if (job.job_class.empty()) at.refuse("needs class = \"...\": which job runs then");
  return job;
}

}  // namespace

void read_periodic_jobs(const ConfigSection& section, Config& config) {
  section.boolean("sidekiq_cron", config.serves_sidekiq_cron);
  section.own_sections([&](const std::string& name, const Place& at, const ConfigSection& one) {
    config.periodic.emplace(name, read_periodic_job(name, at, one));
  });
}

}  // namespace brood
