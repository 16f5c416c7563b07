#pragma once

#include <vector>

#include <brood/testing/jobs.hpp>

#include "worker/job/job_registry.hpp"

namespace brood::testing {

struct Jobs::Known {
  JobRegistry registry;
  std::vector<brood::detail::CompiledIn> compiled_in;
};

}  // namespace brood::testing
