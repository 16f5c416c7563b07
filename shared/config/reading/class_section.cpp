#include "shared/config/reading/class_section.hpp"

#include "shared/config/reading/sandbox_section.hpp"

namespace brood {
namespace {

using namespace setting;

Isolation read_isolation(const Place& at, const std::string& word) {
  return choose<Isolation>(at, word, {{"worker", Isolation::worker}, {"process", Isolation::process}});
}

}  // namespace

void read_class(const std::string& name, const Place& at, const ConfigSection& section, ClassSettings& job_class) {
  check_class_name(at, name);
  job_class.place = at.name;
  section.text("threads", [&](const Place& threads_at, const std::string& word) {
    job_class.threads = read_left_threads(threads_at, word);
  });
  section.text("isolation", [&](const Place& isolation_at, const std::string& word) {
    job_class.isolation = read_isolation(isolation_at, word);
  });
  section.text("expired", [&](const Place& expired_at, const std::string& word) {
    job_class.expired = read_expired(expired_at, word);
  });
  section.section("sandbox", [&](const ConfigSection& sandbox) { job_class.sandbox = read_sandbox(sandbox); });
  if (!job_class.sandbox) return;
  if (job_class.isolation == Isolation::worker)
    at.refuse("a sandbox needs isolation = \"process\": it is left only by the end of a process");
  job_class.isolation = Isolation::process;
}

}  // namespace brood
