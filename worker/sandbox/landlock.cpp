#include "worker/sandbox/landlock.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "shared/base/check.hpp"
#include "shared/base/unique_fd.hpp"

namespace brood {
namespace {

// Like struct landlock_ruleset_attr and landlock_path_beneath_attr of linux/landlock.h; older headers have fewer
// members.
struct RulesetAttributes {
  std::uint64_t files, network, scopes;
};
struct [[gnu::packed]] BeneathAttributes {
  std::uint64_t access;
  std::int32_t parent;
};
constexpr std::uint32_t ask_for_version = 1;
constexpr int rule_beneath = 1;

// An older kernel accepts these attributes if the members that it does not know are 0: see landlock_rules().
void allow(int ruleset, const LandlockRules::Beneath& rule) {
  const UniqueFd path(::open(rule.path.c_str(), O_PATH | O_CLOEXEC));
  if (!path && !rule.required) return;
  check(rule.path.c_str(), path.get());
  struct stat status {};
  check(rule.path.c_str(), fstat(path.get(), &status));
  const std::uint64_t access = S_ISDIR(status.st_mode) ? rule.access : rule.access & landlock::of_files;
  if (access == 0) return;
  const BeneathAttributes attributes{access, path.get()};
  check(("landlock_add_rule for " + rule.path).c_str(),
        syscall(SYS_landlock_add_rule, ruleset, rule_beneath, &attributes, 0));
}

}  // namespace

int landlock_abi() {
  const long abi = syscall(SYS_landlock_create_ruleset, nullptr, 0, ask_for_version);
  if (abi < 0 && (errno == ENOSYS || errno == EOPNOTSUPP)) return 0;
  return static_cast<int>(check("landlock_create_ruleset", abi));
}

void enter_landlock(const LandlockRules& rules) {
  check("prctl", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  if (rules.files == 0 && rules.network == 0 && rules.scopes == 0) return;
  const RulesetAttributes attributes{rules.files, rules.network, rules.scopes};
  const UniqueFd ruleset(static_cast<int>(
      check("landlock_create_ruleset", syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0))));
  for (const LandlockRules::Beneath& rule : rules.beneath) allow(ruleset.get(), rule);
  check("landlock_restrict_self", syscall(SYS_landlock_restrict_self, ruleset.get(), 0));
}

}  // namespace brood
