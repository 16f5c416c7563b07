#include "worker/guard/memory_limit.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <functional>
#include <new>
#include <string>

#include "shared/base/check.hpp"

using namespace brood;

namespace {

constexpr std::uint64_t megabyte = 1 << 20;

// Limits stay with a process, so that each fact is found out in one of its own.
bool holds_in_a_child(const std::function<bool()>& fact) {
  const pid_t child = check("fork", fork());
  if (child == 0) _exit(fact() ? 0 : 1);
  int status = 0;
  check("waitpid", waitpid(child, &status, 0));
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool can_have(std::uint64_t bytes) {
  void* volatile const block = std::malloc(bytes);
  std::free(block);
  return block != nullptr;
}

Failure failure_of(const std::string& error_class) {
  Failure failure;
  failure.error_class = error_class;
  return failure;
}

// The sanitizers' shadow memory counts as data, so that no limit is possible there.
bool limits_work() {
  if (!MemoryLimit::works()) BOOST_TEST_MESSAGE("skipped: RLIMIT_DATA cannot be used beside a sanitizer");
  return MemoryLimit::works();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_limit_holds_only_while_it_is_imposed) {
  if (!limits_work()) return;
  BOOST_TEST(holds_in_a_child([] {
    const MemoryLimit limit(100 * megabyte);
    bool refused = false;
    {
      const auto imposed = limit.impose();
      refused = can_have(50 * megabyte) && !can_have(110 * megabyte);
    }
    return refused && can_have(110 * megabyte);
  }));
}

BOOST_AUTO_TEST_CASE(the_reserve_is_there_when_a_job_has_left_nothing) {
  if (!limits_work()) return;
  BOOST_TEST(holds_in_a_child([] {
    const MemoryLimit limit(64 * megabyte);
    {
      const auto imposed = limit.impose();
      for (std::uint64_t size = megabyte; size >= 16; size /= 2) {
        while (auto* const leaked = static_cast<volatile char*>(std::malloc(size))) *leaked = 1;
      }
    }
    return can_have(MemoryLimit::reserve_bytes / 2) && !can_have(2 * MemoryLimit::reserve_bytes);
  }));
}

BOOST_AUTO_TEST_CASE(a_worker_that_is_larger_than_its_limit_keeps_its_reserve) {
  if (!limits_work()) return;
  BOOST_TEST(holds_in_a_child([] {
    auto* const own = static_cast<volatile char*>(std::malloc(200 * megabyte));
    *own = 1;
    const MemoryLimit limit(megabyte);
    {
      const auto imposed = limit.impose();
      if (can_have(megabyte)) return false;
    }
    return can_have(MemoryLimit::reserve_bytes / 2);
  }));
}

BOOST_AUTO_TEST_CASE(a_bad_alloc_under_a_limit_is_out_of_memory_and_names_the_limit) {
  if (!limits_work()) return;
  BOOST_TEST(holds_in_a_child([] {
    const MemoryLimit limit(100 * megabyte);
    for (const char* error_class : {"std::bad_alloc", "St9bad_alloc"}) {
      const auto judged = limit.judge(failure_of(error_class));
      if (!judged || judged->error_class != "OutOfMemory" || judged->message.find("100 MB") == std::string::npos)
        return false;
    }
    return !limit.judge(failure_of("std::bad_array_new_length")) && !limit.judge(failure_of("std::runtime_error"));
  }));
}

BOOST_AUTO_TEST_CASE(without_a_limit_nothing_is_changed) {
  BOOST_TEST(holds_in_a_child([] {
    rlimit before{}, after{};
    getrlimit(RLIMIT_DATA, &before);
    const MemoryLimit limit(0);
    const auto imposed = limit.impose();
    getrlimit(RLIMIT_DATA, &after);
    return !limit.in_force() && before.rlim_cur == after.rlim_cur && before.rlim_max == after.rlim_max &&
           !limit.judge(failure_of("std::bad_alloc"));
  }));
}
