#include "worker/run/class_rules.hpp"

#include <algorithm>
#include <vector>

namespace brood {

bool ClassRules::has_code(const std::string& job_class) const {
  return registry_.find(job_class) || registry_.find_program(job_class);
}

bool ClassRules::is_isolated(const std::string& job_class) const {
  const ClassSettings* const own = configured(job_class);
  if (own != nullptr && own->isolation) return *own->isolation == Isolation::process;
  const auto* const known = registry_.find(job_class);
  return known != nullptr && known->job_class.isolation == abi::isolation_process;
}

const SandboxSettings* ClassRules::sandbox(const std::string& job_class) const {
  const ClassSettings* const own = configured(job_class);
  return own != nullptr && own->sandbox ? &*own->sandbox : nullptr;
}

bool ClassRules::any_has_sandbox() const {
  return std::any_of(config_.classes.begin(), config_.classes.end(),
                     [](const auto& one) { return one.second.sandbox.has_value(); });
}

LeftThreads ClassRules::threads(const std::string& job_class) const {
  const ClassSettings* const own = configured(job_class);
  if (own != nullptr && own->threads) return *own->threads;
  const auto* const known = registry_.find(job_class);
  const std::uint64_t in_code = known != nullptr ? known->job_class.threads : abi::threads_as_configured;
  if (in_code == abi::threads_allow) return LeftThreads::allow;
  return in_code == abi::threads_replace ? LeftThreads::replace : for_all_.threads;
}

ExpiredJobs ClassRules::expired(const std::string& job_class) const {
  const ClassSettings* const own = configured(job_class);
  return own != nullptr && own->expired ? *own->expired : config_.expired;
}

bool ClassRules::encrypts(const std::string& job_class) const {
  const auto* known = registry_.find(job_class);
  return known != nullptr && known->job_class.encrypts != 0;
}

bool ClassRules::has_on_expired(const std::string& job_class) const {
  const auto* const known = registry_.find(job_class);
  return known != nullptr && known->job_class.on_expired != nullptr;
}

const ClassSettings* ClassRules::configured(const std::string& job_class) const {
  const auto found = config_.classes.find(job_class);
  return found != config_.classes.end() ? &found->second : nullptr;
}

}  // namespace brood
