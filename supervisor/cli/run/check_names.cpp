#include "supervisor/cli/run/check_names.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>

#include "shared/classes/published_classes.hpp"
#include "shared/classes/push_by_class.hpp"
#include "shared/config/http_endpoint.hpp"
#include "shared/config/password_files.hpp"
#include "shared/errors/error_services.hpp"
#include "shared/job/payload.hpp"
#include "shared/json/json.hpp"
#include "shared/store/queues/known_queues.hpp"
#include "supervisor/schedule/periodic_by_class.hpp"
#include "worker/job/class_descriptions.hpp"
#include "worker/job/perform.hpp"

namespace brood {
namespace {

bool is_fetched(const Config& config, const std::string& queue) {
  return std::any_of(config.capsules.begin(), config.capsules.end(), [&](const CapsuleSettings& capsule) {
    return capsule.concurrency > 0 && fetches_from(capsule.queues.names(), queue);
  });
}

Payload payload_of(const PeriodicSettings& job) {
  return Payload::parse(fmt::format(R"({{"class":{},"args":{},"queue":{},"jid":"check"}})", json_string(job.job_class),
                                    job.args, json_string(job.queue)));
}

void look_at(const PeriodicSettings& job, const std::string& place, const Config& config, const JobRegistry& registry,
             Findings& found) {
  const bool is_ours = is_fetched(config, job.queue);
  const bool is_known = registry.knows(job.job_class);
  if (!is_ours)
    found.warnings.push_back(fmt::format("{}: no capsule fetches the queue {}, so another process must perform {}",
                                         place, job.queue, job.job_class));
  if (!is_ours && !is_known) return;
  const auto* const in_library = registry.find(job.job_class);
  if (is_ours && config.encryption.require && in_library != nullptr && in_library->job_class.encrypts != 0)
    found.refusals.push_back(place + ": " + why_no_rule_encrypts(job.job_class));
  if (const auto why = why_not_performable(registry, payload_of(job)))
    found.refusals.push_back(fmt::format("{}: {}", place, why->message));
}

void look_at_classes(const Config& config, const JobRegistry& registry, Findings& found) {
  for (const auto& [name, settings] : config.classes) {
    const bool is_about_jobs = settings.threads || settings.isolation || settings.expired;  // others concern the page
    if (is_about_jobs && !registry.knows(name))
      found.warnings.push_back(fmt::format("{}: {}", settings.place, registry.describe_unknown(name)));
  }
}

void look_at_limits(const Config& config, const JobRegistry& registry, Findings& found) {
  for (const CapSettings& cap : config.capsules.front().caps) {
    for (const std::string& name : cap.classes) {
      if (!registry.knows(name))
        found.warnings.push_back(fmt::format("{}: {}", cap.place, registry.describe_unknown(name)));
    }
    for (const std::string& queue : cap.queues) {
      if (!is_fetched(config, queue))
        found.warnings.push_back(fmt::format("{}: no capsule fetches the queue {}", cap.place, queue));
    }
  }
}

// nullopt if the file can be written or made.
std::optional<std::string> why_not_writable(const std::string& path) {
  if (access(path.c_str(), F_OK) == 0)
    return access(path.c_str(), W_OK) == 0 ? std::nullopt : std::optional<std::string>(std::strerror(errno));
  std::filesystem::path directory = std::filesystem::path(path).parent_path();
  if (directory.empty()) directory = ".";
  if (access(directory.c_str(), W_OK | X_OK) == 0) return std::nullopt;
  return fmt::format("its directory {}: {}", directory.string(), std::strerror(errno));
}

void look_for_host(const std::string& setting, const std::string& host, Findings& found) {
  if (host.empty()) return;
  addrinfo* addresses = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, nullptr, &addresses);
  if (error == 0) return freeaddrinfo(addresses);
  found.warnings.push_back(fmt::format("{}: the host {} is not known: {}", setting, host, gai_strerror(error)));
}

}  // namespace

Findings unknown_jobs(const Config& config, const JobRegistry& registry, const PeriodicJobSettings& registered) {
  Findings found;
  if (registry.class_names().empty()) return found;  // no job can run, which the check reports
  PublishedClasses classes;
  classes.add({.name = "checked", .runs = true}, describe_classes(registry));
  for (const auto& [name, job] : by_class(config.periodic, classes)) look_at(job, job.place, config, registry, found);
  for (const auto& [name, job] : registered)
    look_at(job, "the periodic job " + name + " of a library", config, registry, found);
  look_at_classes(config, registry, found);
  look_at_limits(config, registry, found);
  return found;
}

void require_readable(const std::string& setting, const std::string& path, Findings& found) try {
  if (path.empty()) return;
  if (const std::string file = credential_path(path); access(file.c_str(), R_OK) != 0)
    found.refusals.push_back(fmt::format("{}: {}: {}", setting, file, std::strerror(errno)));
} catch (const std::exception& error) {
  found.refusals.push_back(fmt::format("{}: {}", setting, error.what()));
}

Findings unknown_places(const Config& config) {
  Findings found;
  if (!config.log.file.empty()) {
    if (const auto why = why_not_writable(config.log.file))
      found.refusals.push_back(fmt::format("log.file: {} cannot be written: {}", config.log.file, *why));
  }
  if (!config.otlp.endpoint.empty()) {
    look_for_host("otlp.endpoint", HttpEndpoint::parse(config.otlp.endpoint).host, found);
    require_readable("otlp.headers_file", config.otlp.headers_file, found);
  }
  if (config.errors.has_service()) {
    const ErrorServices services = read_error_services(config.errors);  // it was readable at the start
    for (const ErrorSink sink : sinks_of(config)) {
      if (const auto endpoint = endpoint_of(config, services, sink))
        look_for_host(fmt::format("on_error, {}", error_sink_names[static_cast<std::size_t>(sink)]), endpoint->host,
                      found);
    }
  }
  return found;
}

}  // namespace brood
