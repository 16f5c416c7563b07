#include "shared/config/reading/cap_section.hpp"

#include <algorithm>
#include <string>

#include "shared/config/queue_order.hpp"
#include "shared/config/tenants.hpp"

namespace brood {
namespace {

using namespace setting;

// One cap, or one for each value of "per".
std::vector<CapSettings> read_cap(const std::string& name, const Place& at, const ConfigSection& section) {
  CapSettings cap{.name = name, .queues = {}, .most = 0, .place = at.name};
  section.texts("queues", [&](const Place& queue_at, const std::string& queue) {
    const auto tenant = tenant_in(queue);
    if (is_pattern(queue) && !(tenant && tenant->tenant == "*" && is_safe_queue(tenant->base)))
      queue_at.refuse(
          "a cap names its queues one by one, or tenants as \"images~*\"; with classes and without queues it holds in "
          "all");
    if (!is_pattern(queue)) check_queue(queue_at, queue);
    if (!cap.names(queue)) cap.queues.push_back(queue);
  });
  section.texts("classes", [&](const Place& class_at, const std::string& job_class) {
    if (!cap.is_of_class(check_class_name(class_at, job_class))) cap.classes.push_back(job_class);
  });
  section.count("concurrent", cap.most, 1, 10'000);

  std::vector<CapSettings> all{cap};
  const auto each_of = [&](const Place& per_at, std::vector<std::string> CapSettings::*values) {
    if ((cap.*values).empty()) per_at.refuse("stands for values that the cap does not name");
    all.clear();
    for (const std::string& value : cap.*values) {
      CapSettings& one = all.emplace_back(cap);
      one.name = name + "." + value;
      one.*values = {value};
    }
  };
  section.text("per", [&](const Place& per_at, const std::string& per) {
    if (per == "queue") return each_of(per_at, &CapSettings::queues);
    if (per == "class") return each_of(per_at, &CapSettings::classes);
    if (per == "tenant") {
      for (const std::string& queue : cap.queues) {
        if (!is_tenants(queue)) per_at.refuse("needs queues such as \"images~*\", not \"" + queue + "\"");
      }
      if (cap.queues.empty() || !cap.classes.empty())
        per_at.refuse("needs queues such as \"images~*\", and no classes");
      all.front().per_tenant = true;
      return;
    }
    throw UnknownWord(
        fmt::format("{}: must be \"queue\", \"class\" or \"tenant\", not \"{}\": for a limit of a time, or of other "
                    "things, let the jobs have a brood::Limiter",
                    per_at.name, per),
        {"queue", "class", "tenant"});
  });
  if (cap.queues.empty() && cap.classes.empty()) at.refuse("needs queues = [\"...\"] or classes = [\"...\"]");
  if (cap.most == 0) at.refuse("needs concurrent = N");
  return all;
}

// Checks that no queue has two caps of a kind.
void check_against(const std::vector<CapSettings>& others, const CapSettings& cap, const Place& at) {
  for (const CapSettings& other : others) {
    if (other.name == cap.name) at.refuse("there is a cap \"" + cap.name + "\" already");
    if (cap.classes.empty() != other.classes.empty()) continue;
    if (cap.classes.empty()) {
      for (const std::string& queue : cap.queues) {
        if (other.names(queue)) at.refuse("the queue \"" + queue + "\" has the cap \"" + other.name + "\" already");
      }
      continue;
    }
    const bool share_a_queue =
        cap.queues.empty() || other.queues.empty() ||
        std::any_of(cap.queues.begin(), cap.queues.end(), [&](const std::string& queue) { return other.names(queue); });
    for (const std::string& job_class : cap.classes) {
      if (share_a_queue && other.is_of_class(job_class))
        at.refuse("the class \"" + job_class + "\" has the cap \"" + other.name + "\" already");
    }
  }
}

}  // namespace

std::vector<CapSettings> read_caps(const ConfigSection& root, std::int64_t shards) {
  std::vector<CapSettings> caps;
  root.named_sections("limits", [&](const std::string& name, const Place& at, const ConfigSection& section) {
    check_name(at, name);
    for (CapSettings& cap : read_cap(name, at, section)) {
      check_against(caps, cap, at);
      if (!cap.classes.empty() && cap.name.find('@') != cap.name.npos)
        at.refuse("a cap of classes has a name without @: a queue is named after it");
      if (cap.most < shards)
        at.refuse("needs concurrent = " + std::to_string(shards) +
                  " at least: each shard has its share of the places, and without one its jobs would not run");
      caps.push_back(std::move(cap));
    }
  });
  return caps;
}

}  // namespace brood
