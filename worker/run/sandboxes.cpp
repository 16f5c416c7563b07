#include "worker/run/sandboxes.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "shared/base/log.hpp"
#include "shared/config/executable.hpp"

namespace brood {
namespace {

// A job that has a cgroup of its own is no longer in that of its worker, so it gets the worker's limit, too.
SandboxSettings with_memory_of_worker(SandboxSettings sandbox, std::uint64_t of_worker) {
  const bool has_own_cgroup = sandbox.memory_bytes > 0 || sandbox.cpu > 0 || sandbox.processes > 0;
  if (!has_own_cgroup || of_worker == 0) return sandbox;
  sandbox.memory_bytes = sandbox.memory_bytes > 0 ? std::min(of_worker, sandbox.memory_bytes) : of_worker;
  return sandbox;
}

}  // namespace

Sandboxes::Sandboxes(Workplace& place) : place_(place) {
  if (!place.rules.any_has_sandbox()) return;
  cgroup_.emplace(place.setup.slot, place.setup.supervisor);
  offers_ = sandbox_offers();
  for (const LackingSandbox& one : lacking_sandboxes(place.config, offers_, &*cgroup_)) {
    if (!one.may_run()) throw LibraryError(one.text());
    // One worker of a capsule warns for all of them.
    if (place.setup.number == 0)
      log::warn("sandbox_incomplete",
                {{"class", one.job_class}, {"lacks", fmt::format("{}", fmt::join(one.lacks, "; "))}});
  }
  scratch_.emplace(place.slot.record());
}

std::optional<Failure> Sandboxes::judge_kill(const Payload& job, const MemoryCounts& before,
                                             std::uint64_t peak_kb) const {
  const SandboxSettings& settings = *place_.rules.sandbox(job.code_class());
  if (settings.memory_bytes > 0 && cgroup_->memory_counts().at_limit > before.at_limit)
    return out_of_memory("the job and what it started took more memory than its sandbox allows");
  return failure_of_victim(job, peak_kb, share_of_host(place_));
}

std::optional<Failure> Sandboxes::enter(const Payload& job, int channel, JobCode& job_code) {
  const SandboxSettings* const sandbox = place_.rules.sandbox(job.code_class());
  if (sandbox == nullptr) return std::nullopt;
  std::vector<std::string> code = place_.config.require;
  std::vector<int> kept = {channel};
  if (const CommandSettings* const program = place_.registry.find_program(job.code_class())) {
    code.push_back(program_path(*program));
    if (const int held = descriptor_in(code.back()); held >= 0) kept.push_back(held);
  }
  log::Options of_output = place_.config.log;  // the log's own descriptor is closed, and its file may be out of reach
  of_output.file.clear();
  log::inherit(of_output, -1);
  const SandboxSettings limits = with_memory_of_worker(*sandbox, place_.settings.memory_limit_bytes);
  try {
    const SlotRecord* const orders = enter_sandbox(limits, offers_, *cgroup_, *scratch_, code, std::move(kept));
    if (orders != nullptr) place_.orders.read_flags_of(*orders);
  } catch (const std::system_error& error) {
    Failure failure;
    failure.error_class = "SandboxError";
    failure.message = fmt::format("the sandbox of class {} cannot be entered: {}", job.code_class(), error.what());
    return failure;
  }
  if (sandbox->memory_bytes > 0) job_code.limit_memory(limits.memory_bytes);
  job_code.clock().fix_deadline();
  return std::nullopt;
}

}  // namespace brood
