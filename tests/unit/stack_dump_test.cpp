// A process that is asked for its stack writes it, and goes on.
#include <dlfcn.h>
#include <link.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <csignal>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/crashing_child.hpp"
#include "tests/support/eventually.hpp"

using namespace brood;
using namespace brood::crashing_child;
using namespace std::chrono_literals;

JOB_CODE void sleep_long() { std::this_thread::sleep_for(1h); }

namespace {

void spin_until_killed(SlotRecord& record) {
  for (;;) record.processed.fetch_add(1);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_spinning_process_tells_where_it_is_and_goes_on) {
  Child child([](SlotRecord& record) { std::thread(spin_until_killed, std::ref(record)).detach(), spin(); });
  BOOST_REQUIRE(eventually([&] { return child.record().ready.load() == 1; }));

  for (std::uint32_t number = 1; number <= 20; ++number) {
    const auto dump = child.dump(number);
    BOOST_REQUIRE(dump);
    BOOST_TEST(dump->request == number);
    BOOST_TEST(dump->signal == 0);
    BOOST_TEST(begins_with_pc(*dump));
  }
  CHECK_CALLS(*child.dump(21), {"spin"});
  const std::uint64_t before = child.record().processed.load();
  BOOST_TEST(eventually([&] { return child.record().processed.load() > before + 1000; }));
  BOOST_TEST(!read_stack(child.record().crash).any());
}

BOOST_AUTO_TEST_CASE(a_sleeping_process_tells_where_it_is_and_sleeps_on) {
  Child child([](SlotRecord& record) {
    record.processed.store(1);
    sleep_long();
  });
  BOOST_REQUIRE(eventually([&] { return child.record().processed.load() == 1; }));
  const auto sleeps = [&] {
    const auto dump = child.dump(3);
    const auto names = dump ? functions(*dump) : std::vector<std::string>();
    return std::find(names.begin(), names.end(), "sleep_long") != names.end();
  };
  BOOST_TEST(eventually(sleeps));
  BOOST_TEST(sleeps());
  BOOST_TEST(waitpid(child.pid(), nullptr, WNOHANG) == 0);
}

BOOST_AUTO_TEST_CASE(dumps_inside_malloc_and_the_dynamic_linker_harm_no_job) {
  Child child([](SlotRecord& record) {
    for (;;) {
      errno = EDOM;
      std::vector<std::string> texts;
      for (int i = 0; i < 20; ++i) texts.emplace_back(static_cast<std::size_t>(100 + 997 * i), 'x');
      if (void* library = dlopen("libanl.so.1", RTLD_NOW)) dlclose(library);
      for (const std::string& text : texts)
        if (text.back() != 'x') _exit(1);
      record.processed.fetch_add(1);
    }
  });
  BOOST_REQUIRE(eventually([&] { return child.record().processed.load() > 0; }));

  for (std::uint32_t number = 1; number <= 200; ++number) BOOST_REQUIRE(child.dump(number));

  const std::uint64_t before = child.record().processed.load();
  BOOST_TEST(eventually([&] { return child.record().processed.load() > before; }));
}

BOOST_AUTO_TEST_CASE(a_process_that_holds_the_lock_of_the_dynamic_linker_tells_where_it_is) {
  const auto hold_and_spin = [](SlotRecord& record) {
    dl_iterate_phdr(
        [](dl_phdr_info*, std::size_t, void* argument) {
          static_cast<SlotRecord*>(argument)->processed.store(1);
          spin();
          return 0;
        },
        &record);
  };
  Child child(hold_and_spin);
  BOOST_REQUIRE(eventually([&] { return child.record().processed.load() == 1; }));
  const auto dump = child.dump(1);
  BOOST_REQUIRE(dump);
  const auto names = functions(*dump);
  BOOST_TEST((std::find(names.begin(), names.end(), "dl_iterate_phdr") != names.end()), text(names));

  kill(child.pid(), SIGABRT);

  BOOST_TEST(child.ended_by() == SIGABRT);
  BOOST_TEST(whole(child.crash()));
}

// A broken stack that its job would still repair: looking at it must not end the process.
JOB_CODE void spin_on_a_smashed_stack(SlotRecord& record) {
  auto* const frame = static_cast<volatile std::uint64_t*>(__builtin_frame_address(0));
  const std::uint64_t caller = frame[0], return_address = frame[1];
  frame[0] = 0x4141414141414141;
  frame[1] = 0x4141414141414141;
  record.processed.store(1);
  while (record.failed.load() == 0) {
  }
  frame[0] = caller;
  frame[1] = return_address;
}

BOOST_AUTO_TEST_CASE(a_dump_of_a_broken_stack_harms_no_job) {
  Child child([](SlotRecord& record) {
    spin_on_a_smashed_stack(record);
    _exit(21);
  });
  BOOST_REQUIRE(eventually([&] { return child.record().processed.load() == 1; }));

  for (std::uint32_t number = 1; number <= 5; ++number) {
    const auto dump = child.dump(number);
    BOOST_REQUIRE(dump);
    BOOST_TEST(begins_with_pc(*dump));
  }
  child.record().failed.store(1);
  BOOST_TEST(child.exit_status() == 21);
}

BOOST_AUTO_TEST_CASE(a_dump_keeps_errno) {
  Child child([](SlotRecord& record) {
    const rlimit no_descriptors{0, 0};  // so that the handler has a call that fails
    setrlimit(RLIMIT_NOFILE, &no_descriptors);
    errno = EDOM;
    record.processed.store(1);
    while (record.failed.load() == 0) {
    }
    _exit(errno == EDOM ? 21 : 22);
  });
  BOOST_REQUIRE(eventually([&] { return child.record().processed.load() == 1; }));
  BOOST_TEST(child.dump(1).has_value());
  child.record().failed.store(1);
  BOOST_TEST(child.exit_status() == 21);
}
