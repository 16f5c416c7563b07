// Where the parts of this process are.  This program itself is linked with gaps between its segments.
#include "worker/crash/module_map.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "shared/scoreboard/stack_record.hpp"
#include "tests/support/build_id.hpp"
#include "tests/support/layouts.hpp"
#include "worker/crash/stack_capture.hpp"

using namespace brood;

namespace {

std::string hex_of(const ModuleRecord& record) {
  std::string text;
  for (std::uint32_t i = 0; i < record.build_id_size; ++i) {
    text += "0123456789abcdef"[record.build_id[i] >> 4];
    text += "0123456789abcdef"[record.build_id[i] & 15];
  }
  return text;
}

std::uint64_t address_of(const void* place) { return reinterpret_cast<std::uint64_t>(place); }

int written = 1;

// Checks what a map knows of a library that was loaded before or after the map looked.
void check_layout(const ModuleMap& modules, const LoadedLayout& library, const std::string& path) {
  const std::uint64_t code = library.address("place_in_decode"), data = library.dynamic_section();
  for (const std::uint64_t address : {code, data}) {
    ModuleRecord record{};
    BOOST_REQUIRE_MESSAGE(modules.describe(address, record), path);
    BOOST_TEST((record.begin <= address && address < record.end), path);
    BOOST_TEST(record.bias == library.bias(), path);
    BOOST_TEST(hex_of(record) == build_id_of(path), path);
    BOOST_TEST(std::string(record.path) == path);
  }
  BOOST_TEST(modules.is_code(code), path);
  BOOST_TEST(!modules.is_code(data), path);

  ModuleRecord around{}, gap{};
  BOOST_REQUIRE(modules.describe(code, around));
  BOOST_TEST((!modules.describe(around.end, gap) || gap.begin == around.end), path);  // no further than its segment
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_linkers_library_is_known_whether_it_was_loaded_before_the_last_look_or_since) {
  for (const std::string& path : layouts()) {
    ModuleMap before;
    before.refresh();
    const LoadedLayout library(path);
    check_layout(before, library, path);

    ModuleMap after;
    after.refresh();
    check_layout(after, library, path);
  }
}

BOOST_AUTO_TEST_CASE(an_address_in_a_gap_is_in_no_module) {
  ModuleMap modules;
  modules.refresh();
  const std::uint64_t code = address_of(reinterpret_cast<const void*>(&address_of));
  ModuleRecord record{}, none{};
  BOOST_REQUIRE(modules.describe(code, record));
  BOOST_TEST(std::filesystem::path(record.path) == std::filesystem::read_symlink("/proc/self/exe"));

  // Where the program leaves room, the kernel may put other memory.
  BOOST_TEST(!modules.describe(record.end, none));
  BOOST_TEST(!modules.is_code(record.end));
  BOOST_TEST(!modules.describe(record.begin - 1, none));
}

BOOST_AUTO_TEST_CASE(the_program_is_known_to_a_map_that_has_never_looked) {
  ModuleMap looked;
  looked.refresh();
  const ModuleMap nothing;
  for (const void* const place : {reinterpret_cast<const void*>(&address_of), static_cast<const void*>(&written),
                                  static_cast<const void*>("a constant")}) {
    ModuleRecord expected{}, found{};
    BOOST_REQUIRE(looked.describe(address_of(place), expected));
    BOOST_REQUIRE(nothing.describe(address_of(place), found));
    BOOST_TEST((found.begin == expected.begin && found.end == expected.end && found.bias == expected.bias));
    BOOST_TEST(hex_of(found) == hex_of(expected));
    BOOST_TEST(nothing.is_code(address_of(place)) == looked.is_code(address_of(place)));
  }
}

BOOST_AUTO_TEST_CASE(the_unwinder_can_be_primed_in_a_program_with_gaps) { prime_unwinder(); }

BOOST_AUTO_TEST_CASE(memory_of_no_module_is_described_by_none) {
  ModuleMap modules;
  modules.refresh();
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const memory = mmap(nullptr, page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  BOOST_REQUIRE(memory != MAP_FAILED);
  ModuleRecord record{};
  for (const std::uint64_t address : {address_of(memory), address_of(&record), std::uint64_t{0}, ~std::uint64_t{0}}) {
    BOOST_TEST(!modules.describe(address, record));
    BOOST_TEST(!modules.is_code(address));
  }
  munmap(memory, page);
}
