#include "supervisor/process/descriptor_limit.hpp"

#include <algorithm>

#include "shared/base/check.hpp"

namespace brood {

DescriptorLimit::DescriptorLimit(std::size_t needed) {
  check("getrlimit", getrlimit(RLIMIT_NOFILE, &found_));
  rlimit raised = found_;
  raised.rlim_cur = std::max(found_.rlim_cur, std::min<rlim_t>(needed, found_.rlim_max));
  now_ = setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : found_.rlim_cur;
}

void DescriptorLimit::give_back() const { setrlimit(RLIMIT_NOFILE, &found_); }

}  // namespace brood
