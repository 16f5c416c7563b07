#include "worker/crash/symboliser.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "tests/support/build_id.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/layouts.hpp"
#include "tests/support/temporary_directory.hpp"
#include "worker/crash/demangle.hpp"

using namespace brood;

namespace {

const std::string library = BROOD_BINARY_DIR "/tests/job_libraries/libstack_site.so";

// The library in this process, and what a handler would record of it.
struct Site {
  void* handle;
  CapturedStack stack;

  explicit Site(const std::string& path = library) : handle(dlopen(path.c_str(), RTLD_NOW)) {
    BOOST_REQUIRE_MESSAGE(handle != nullptr, dlerror());
    link_map* map = nullptr;
    BOOST_REQUIRE(dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0);
    stack.state = StackState::complete;
    stack.modules.push_back({map->l_addr, map->l_addr + 0x1'000'000, map->l_addr, build_id_of(path), path});
  }
  ~Site() { dlclose(handle); }
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  CapturedStack::Module& module() { return stack.modules.front(); }
  std::uint64_t address(const char* symbol) const { return reinterpret_cast<std::uint64_t>(dlsym(handle, symbol)); }
  // Where return_address() was called from.
  std::uint64_t place_in_decode() const {
    return reinterpret_cast<std::uint64_t>(reinterpret_cast<void* (*)()>(dlsym(handle, "place_in_decode"))());
  }
  // A stack in return_address(), called in decode().
  std::vector<Frame> frames(const SymboliserOptions& options = {}) {
    stack.frames = {address("return_address"), place_in_decode()};
    return symbolise(stack, options);
  }
};

std::vector<std::string> functions(const std::vector<Frame>& frames) {
  std::vector<std::string> names;
  for (const Frame& frame : frames) names.push_back(frame.function);
  return names;
}

bool is_raw(const std::vector<Frame>& frames) {
  return frames.size() == 2 && functions(frames) == std::vector<std::string>{"", ""} && frames[0].offset != 0;
}

}  // namespace

BOOST_AUTO_TEST_CASE(inlined_calls_are_frames_of_their_own_with_names_and_lines) {
  Site site;
  const std::vector<Frame> frames = site.frames();

  const std::vector<std::string> names{"return_address", "pixels::(anonymous namespace)::innermost",
                                       "pixels::Decoder::row(int volatile*)", "pixels::decode(pixels::Image const&)"};
  BOOST_TEST(functions(frames) == names, boost::test_tools::per_element());
  BOOST_REQUIRE(frames.size() == 4U);
  BOOST_TEST(frames[1].line == 13);
  BOOST_TEST(frames[2].line == 21);
  BOOST_TEST(frames[3].line == 27);
  BOOST_TEST((!frames[0].inlined && frames[1].inlined && frames[2].inlined && !frames[3].inlined));
  for (const Frame& frame : frames) {
    BOOST_TEST(frame.file.ends_with("/stack_site.cpp"));
    BOOST_TEST(frame.module == "libstack_site.so");
  }
  const std::string inlined = to_text(2, frames[2]);
  BOOST_TEST(inlined.starts_with("#2 pixels::Decoder::row(int volatile*) at stack_site.cpp:21 (libstack_site.so+0x"));
  BOOST_TEST(inlined.ends_with(", inlined)"));
  BOOST_TEST(to_text(3, frames[3])
                 .starts_with("#3 pixels::decode(pixels::Image const&) at stack_site.cpp:27 (libstack_site.so+0x"));
}

BOOST_AUTO_TEST_CASE(names_and_lines_are_found_however_a_linker_lays_out_the_library) {
  const std::vector<std::string> names{"return_address", "pixels::(anonymous namespace)::innermost",
                                       "pixels::Decoder::row(int volatile*)", "pixels::decode(pixels::Image const&)"};
  for (const std::string& path : layouts()) {
    BOOST_TEST_CONTEXT(path) {
      Site site(path);
      const std::vector<Frame> frames = site.frames();
      BOOST_TEST(functions(frames) == names, boost::test_tools::per_element());
      BOOST_REQUIRE(frames.size() == 4U);
      BOOST_TEST((frames[1].line == 13 && frames[2].line == 21 && frames[3].line == 27));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_return_address_belongs_to_the_instruction_before_it) {
  Site site;
  const std::uint64_t begin = site.address("return_address");
  site.stack.frames = {begin, begin};
  const std::vector<Frame> frames = symbolise(site.stack);
  BOOST_TEST(frames.front().function == "return_address");
  BOOST_TEST(frames.back().function != "return_address");
  BOOST_TEST(frames.back().offset == begin - 1 - site.module().bias);
}

BOOST_AUTO_TEST_CASE(a_stripped_library_names_what_it_exports_and_the_rest_by_its_debug_file) {
  Site site;
  site.module().path = library + ".stripped";
  const std::vector<Frame> bare = site.frames({.debug_directory = "/nonexistent"});
  BOOST_TEST(functions(bare) == (std::vector<std::string>{"return_address", ""}), boost::test_tools::per_element());
  BOOST_TEST(to_text(1, bare[1]).find(" [build id " + site.module().build_id + "]") != std::string::npos);

  const TemporaryDirectory directory;
  const std::string id = site.module().build_id;
  std::filesystem::create_directories(directory / (".build-id/" + id.substr(0, 2)));
  std::filesystem::copy(library + ".debug",
                        directory / (".build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug"));
  const std::vector<Frame> named = site.frames({.debug_directory = directory.path()});
  BOOST_REQUIRE(named.size() == 4U);
  BOOST_TEST(named[3].function == "pixels::decode(pixels::Image const&)");
  BOOST_TEST(named[3].line == 27);
}

BOOST_AUTO_TEST_CASE(of_the_runtime_names_are_enough) {
  Site site;
  const TemporaryDirectory directory;
  site.module().path = directory / "libc.so.6";
  std::filesystem::copy(library, site.module().path);
  const std::vector<Frame> frames = site.frames();
  BOOST_TEST(functions(frames) == (std::vector<std::string>{"return_address", "pixels::decode(pixels::Image const&)"}),
             boost::test_tools::per_element());
  for (const Frame& frame : frames) BOOST_TEST((frame.file.empty() && frame.line == 0));
}

BOOST_AUTO_TEST_CASE(a_library_that_was_replaced_since_is_not_asked) {
  Site site;
  const std::string recorded = site.module().build_id;
  for (const std::string& other : {std::string(40, '0'), std::string(), recorded.substr(2)}) {
    site.module().build_id = other;
    BOOST_TEST(is_raw(site.frames()));
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_library_any_more_gives_frames_without_names) {
  Site site;
  const TemporaryDirectory directory;
  const std::string fifo = directory / "fifo", whole = text_of_file(library);
  BOOST_REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  for (const std::string& path :
       {fifo, directory.path(), std::string("/dev/zero"), directory / "missing", std::string("libstack_site.so"),
        std::string(), std::string("[vdso]"), directory.write("text", "no library"), directory.write("empty", "")}) {
    site.module().path = path;
    BOOST_TEST_CONTEXT(path) BOOST_TEST(is_raw(site.frames()));
  }
  for (std::size_t size = 1; size < whole.size(); size += 997) {
    site.module().path = directory.write("truncated", whole.substr(0, size));
    BOOST_TEST_CONTEXT(size) BOOST_TEST(site.frames().size() >= 2U);
  }
}

BOOST_AUTO_TEST_CASE(an_address_in_no_module_is_a_frame_all_the_same) {
  Site site;
  site.stack.frames = {0x10, 0, UINT64_MAX};
  const std::vector<Frame> frames = symbolise(site.stack);
  BOOST_REQUIRE(frames.size() == 3U);
  BOOST_TEST(to_text(0, frames[0]) == "#0 0x10");
  BOOST_TEST(to_text(1, frames[1]) == "#1 0x0");

  // Rubbish of a scribbled record.
  site.stack.modules = {{0, UINT64_MAX, UINT64_MAX / 2, site.module().build_id, library}};
  BOOST_TEST(symbolise(site.stack).size() == 3U);
}

BOOST_AUTO_TEST_CASE(what_the_time_does_not_suffice_for_stays_without_names) {
  Site site;
  BOOST_TEST(is_raw(site.frames({.budget = std::chrono::milliseconds(0)})));
}

BOOST_AUTO_TEST_CASE(a_watcher_hears_of_each_frame_that_took_work) {
  Site site;
  int told = 0;
  site.frames({.frame_done = [&] { ++told; }});
  BOOST_TEST(told == 2);
  site.frames({.budget = std::chrono::milliseconds(0), .frame_done = [&] { ++told; }});
  BOOST_TEST(told == 2);  // nothing was done for those
}

BOOST_AUTO_TEST_CASE(a_place_that_a_recursion_comes_by_again_is_looked_up_once) {
  Site site;
  int told = 0;
  const std::uint64_t place = site.place_in_decode();
  site.stack.frames = {site.address("return_address"), place, place, place};
  const std::vector<std::string> names = functions(symbolise(site.stack, {.frame_done = [&] { ++told; }}));
  BOOST_TEST(told == 2);
  BOOST_REQUIRE(names.size() == 10u);  // three for each of the three
  for (std::size_t i = 4; i < names.size(); ++i) BOOST_TEST(names[i] == names[i - 3]);
}

BOOST_AUTO_TEST_CASE(a_record_without_frames_gives_its_program_counter) {
  CapturedStack stack;
  stack.state = StackState::header;
  stack.pc = 0xdeadbeef;
  BOOST_TEST(to_text(0, symbolise(stack).at(0)) == "#0 0xdeadbeef");
  BOOST_TEST(symbolise(CapturedStack{}).empty());
}

BOOST_AUTO_TEST_CASE(names_are_readable_and_of_bounded_length) {
  BOOST_TEST(demangled("_Z6decodeRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE") ==
             "decode(std::string const&)");
  BOOST_TEST(demangled("St13runtime_error") == "std::runtime_error");
  BOOST_TEST(demangled("_Z3digi.constprop.0.isra.0") == "dig(int)");
  BOOST_TEST(demangled("main") == "main");
  BOOST_TEST(demangled("").empty());
  BOOST_TEST(demangled("_Z" + std::string(100'000, '9')).size() <= 240U);
  std::string nested = "_Z1f";
  for (int i = 0; i < 600; ++i) nested += "1TI";
  BOOST_TEST(demangled(nested + "i" + std::string(600, 'E') + "v").size() <= 240U);
}
