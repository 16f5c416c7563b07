#include "worker/sandbox/landlock_rules.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "shared/config/config.hpp"
#include "worker/sandbox/sandbox.hpp"

using namespace brood;
using namespace brood::landlock;

namespace {

const LandlockRules::Beneath* rule_for(const LandlockRules& rules, const std::string& path) {
  const auto found =
      std::find_if(rules.beneath.begin(), rules.beneath.end(), [&](const auto& rule) { return rule.path == path; });
  return found == rules.beneath.end() ? nullptr : &*found;
}

SandboxSettings with_paths(std::vector<std::string> write, std::vector<std::string> read) {
  SandboxSettings settings;
  settings.write = std::move(write);
  settings.read = std::move(read);
  return settings;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_kernel_without_landlock_is_told_nothing) {
  const LandlockRules rules = landlock_rules(with_paths({"/out"}, {}), 0, {}, {"/usr"});
  BOOST_TEST((rules.files == 0 && rules.network == 0 && rules.scopes == 0));
  BOOST_TEST(rules.beneath.empty());
}

BOOST_AUTO_TEST_CASE(no_kernel_is_told_what_it_does_not_know) {
  SandboxSettings settings = with_paths({"/out"}, {"/in"});
  settings.network = false;
  struct Case {
    int abi;
    std::uint64_t newest, too_new;
    bool tcp, scopes;
  };
  for (const Case& c :
       {Case{1, make_sym, refer, false, false}, Case{2, refer, landlock::truncate, false, false},
        Case{3, landlock::truncate, ioctl_dev, false, false}, Case{4, landlock::truncate, ioctl_dev, true, false},
        Case{5, ioctl_dev, 2 * ioctl_dev, true, false}, Case{6, ioctl_dev, 2 * ioctl_dev, true, true},
        Case{9, ioctl_dev, 2 * ioctl_dev, true, true}}) {
    const LandlockRules rules = landlock_rules(settings, c.abi, {"/lib/libjobs.so"}, {"/usr"});
    BOOST_TEST((rules.files & c.newest) != 0u, c.abi);
    BOOST_TEST((rules.files & c.too_new) == 0u, c.abi);
    BOOST_TEST((rules.network != 0) == c.tcp, c.abi);
    BOOST_TEST((rules.scopes != 0) == c.scopes, c.abi);
    for (const LandlockRules::Beneath& rule : rules.beneath) BOOST_TEST((rule.access & ~rules.files) == 0u, rule.path);
  }
}

BOOST_AUTO_TEST_CASE(what_is_not_said_is_not_limited_but_for_what_is_the_kernels) {
  const std::vector<std::string> top{"/home", "/proc", "/sys", "/tmp"};
  const LandlockRules nothing = landlock_rules({}, 9, {}, top);
  BOOST_TEST(nothing.files == (make_char | make_block | write_file | landlock::truncate));  // no job makes devices
  BOOST_TEST(nothing.network == 0u);
  BOOST_TEST(nothing.scopes != 0u);
  const std::uint64_t changing = write_file | landlock::truncate;
  for (const char* const path : {"/home", "/tmp"}) {
    BOOST_TEST_REQUIRE(rule_for(nothing, path) != nullptr, path);
    BOOST_TEST(rule_for(nothing, path)->access == changing);
  }
  for (const char* const path : {"/proc", "/sys", "/proc/self", "/sys/devices/system/cpu"}) {
    const auto* const rule = rule_for(nothing, path);
    BOOST_TEST((rule == nullptr || (rule->access & changing) == 0), path);
  }

  SandboxSettings reads;
  reads.read.emplace();
  BOOST_TEST(rule_for(landlock_rules(reads, 9, {}, top), "/home")->access == changing);
  SandboxSettings writes;
  writes.write.emplace();
  const LandlockRules none_written = landlock_rules(writes, 9, {}, top);
  BOOST_TEST((none_written.files & (read_file | read_dir | execute)) == 0u);
  BOOST_TEST(rule_for(none_written, "/home") == nullptr);
}

BOOST_AUTO_TEST_CASE(further_files_may_be_read_where_reading_is_limited) {
  LandlockRules rules = landlock_rules({}, 9, {}, {});
  allow_reading(rules, {"/etc/ca"});
  BOOST_TEST(rule_for(rules, "/etc/ca") == nullptr);
  rules = landlock_rules(with_paths({"/out"}, {"/in"}), 9, {}, {});
  allow_reading(rules, {"/etc/ca"});
  BOOST_REQUIRE(rule_for(rules, "/etc/ca") != nullptr);
  BOOST_TEST(rule_for(rules, "/etc/ca")->access == (read_file | read_dir));
  BOOST_TEST(!rule_for(rules, "/etc/ca")->required);
}

BOOST_AUTO_TEST_CASE(paths_get_what_they_are_named_for_and_no_more) {
  const LandlockRules rules = landlock_rules(with_paths({"/out"}, {"/in"}), 9, {"/opt/libjobs.so"}, {"/usr", "/home"});
  const auto* const out = rule_for(rules, "/out");
  const auto* const in = rule_for(rules, "/in");
  const auto* const code = rule_for(rules, "/opt/libjobs.so");
  const auto* const null = rule_for(rules, "/dev/null");
  BOOST_REQUIRE((out != nullptr && in != nullptr && code != nullptr && null != nullptr));
  BOOST_TEST((out->required && in->required && !code->required && !null->required));
  BOOST_TEST((out->access & (write_file | make_reg | remove_file | landlock::truncate | refer | read_file)) ==
             (write_file | make_reg | remove_file | landlock::truncate | refer | read_file));
  BOOST_TEST((out->access & (make_char | make_block)) == 0u);
  BOOST_TEST(in->access == (execute | read_file | read_dir));
  BOOST_TEST(code->access == (execute | read_file));
  for (const LandlockRules::Beneath& rule : rules.beneath) {
    const bool is_device = rule.path.starts_with("/dev/");
    BOOST_TEST((rule.path == "/out" || is_device || (rule.access & write_file) == 0), rule.path);
    BOOST_TEST((rule.path != "/" && rule.path != "/proc" && rule.path != "/etc" && rule.path != "/dev"), rule.path);
  }
}

BOOST_AUTO_TEST_CASE(what_the_kernel_lacks_is_named_for_what_was_asked) {
  SandboxSettings settings = with_paths({"/out"}, {});
  BOOST_TEST(sandbox_lacks(settings, {.landlock_abi = 6, .seccomp = true}, nullptr).empty());
  BOOST_TEST(sandbox_lacks(settings, {.landlock_abi = 2, .seccomp = true}, nullptr).size() == 3u);
  const std::vector<std::string> none = sandbox_lacks(settings, {.landlock_abi = 0, .seccomp = false}, nullptr);
  BOOST_REQUIRE(none.size() == 3u);
  BOOST_TEST(none[0] == "Landlock ABI 1, for read and write (the kernel says that it has none)");
  BOOST_TEST(none[1] == "Landlock ABI 6, for signals to other processes (the kernel says that it has none)");
  BOOST_TEST(none[2] == "seccomp, for calls that reach other processes");
  BOOST_TEST(sandbox_lacks({}, {.landlock_abi = 5, .seccomp = true}, nullptr).size() == 1u);
  BOOST_TEST(sandbox_lacks({}, {.landlock_abi = 0, .seccomp = true}, nullptr).at(0) ==
             "Landlock ABI 1, for the kernel's own files (the kernel says that it has none)");
}

BOOST_AUTO_TEST_CASE(a_part_that_the_kernel_lacks_may_be_done_without_unless_the_sandbox_is_strict) {
  Config config;
  config.classes["A"].sandbox.emplace();
  config.classes["Free"];
  const auto of = [&](const SandboxOffers& offers) { return lacking_sandboxes(config, offers, nullptr); };
  SandboxSettings& sandbox = *config.classes["A"].sandbox;
  BOOST_TEST(of({.landlock_abi = 6, .seccomp = true}).empty());

  const SandboxOffers of_an_old_kernel{.landlock_abi = 5, .seccomp = true};
  BOOST_REQUIRE(of(of_an_old_kernel).size() == 1u);
  BOOST_TEST(of(of_an_old_kernel)[0].may_run());
  sandbox.strict = true;
  BOOST_TEST(!of(of_an_old_kernel)[0].may_run());
  BOOST_TEST(of(of_an_old_kernel)[0].text() ==
             "the sandbox of class A cannot be had here: this machine lacks Landlock ABI 6, for signals to other "
             "processes (the kernel says that it has 5); take strict = true out of [classes.\"A\".sandbox], and its "
             "jobs run without that");
}

BOOST_AUTO_TEST_CASE(nothing_does_without_the_walls_that_it_asks_for_or_what_is_forbidden) {
  Config config;
  SandboxSettings& sandbox = config.classes["A"].sandbox.emplace();
  const auto may_run = [&](const SandboxOffers& offers) {
    return lacking_sandboxes(config, offers, nullptr)[0].may_run();
  };
  const SandboxOffers without_landlock{.landlock_abi = 0, .seccomp = true};
  const SandboxOffers without_seccomp{.landlock_abi = 5, .seccomp = false};
  BOOST_TEST(may_run(without_landlock));
  BOOST_TEST(may_run(without_seccomp));
  sandbox.network = false;
  BOOST_TEST(may_run(without_landlock));
  BOOST_TEST(!may_run(without_seccomp));
  sandbox = with_paths({"/out"}, {});
  BOOST_TEST(!may_run(without_landlock));
  BOOST_TEST(may_run(without_seccomp));

  const SandboxOffers under_a_filter{
      .landlock_abi = 0, .seccomp = true, .forbidden = {"capset: Operation not permitted"}};
  sandbox = {};
  BOOST_TEST(!may_run(under_a_filter));
  const std::string text = lacking_sandboxes(config, under_a_filter, nullptr)[0].text();
  BOOST_TEST(text.find("forbids what it needs (capset: Operation not permitted)") != std::string::npos, text);
}
