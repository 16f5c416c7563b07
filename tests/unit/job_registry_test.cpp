#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "shared/base/log.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/temporary_directory.hpp"
#include "worker/job/job_registry.hpp"

using namespace brood;

namespace {

std::string library(const std::string& name) { return BROOD_BINARY_DIR "/tests/job_libraries/lib" + name + ".so"; }

std::string why_refused(const std::string& path) {
  JobRegistry registry;
  try {
    registry.load(path);
  } catch (const LibraryError& error) {
    BOOST_TEST(registry.class_names().empty());
    BOOST_TEST(registry.libraries().empty());
    return error.what();
  }
  return "";
}

bool says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return true;
  BOOST_TEST_MESSAGE("it says: " << text);
  return false;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_library_names_its_job_classes) {
  JobRegistry registry;
  registry.load(library("perform_jobs"));
  BOOST_TEST(registry.find("ResizeImage") != nullptr);
  BOOST_TEST(registry.find("Oddities::ThrowsTooHot") != nullptr);
  BOOST_TEST(registry.find("Resize") == nullptr);
  BOOST_TEST(registry.find("TellsContext")->job_class.timeout_ms == 1500);
  BOOST_TEST(registry.find("TellsContext")->path == library("perform_jobs"));
  const auto names = registry.class_names();
  BOOST_TEST(std::is_sorted(names.begin(), names.end()));
  BOOST_TEST(names.size() == 21u);
}

BOOST_AUTO_TEST_CASE(a_library_for_which_memory_or_descriptors_do_not_suffice_may_be_loaded_later) {
  const TemporaryDirectory directory;
  const std::string copy = directory / "libcopy.so";  // not one that this process has loaded already
  std::filesystem::copy_file(library("perform_jobs"), copy);
  const auto may_work_later = [&](__rlimit_resource resource, rlim_t most) {
    return in_child([&] {
      const rlimit limit{most, most};
      if (setrlimit(resource, &limit) != 0) return false;
      try {
        JobRegistry().load(copy);
      } catch (const StartupError&) {
        return true;
      }
      return false;
    });
  };
  BOOST_TEST(may_work_later(RLIMIT_NOFILE, 3));

  std::uintmax_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const std::uintmax_t bytes = pages * static_cast<std::uintmax_t>(sysconf(_SC_PAGESIZE));
  if (bytes > std::uintmax_t{1} << 40) return;  // a sanitizer's, which does not bear such a limit
  BOOST_TEST(may_work_later(RLIMIT_AS, bytes + 64 * 1024));
}

BOOST_AUTO_TEST_CASE(hooks_and_death_handlers_are_known_without_running_a_job) {
  JobRegistry registry;
  registry.load(library("perform_jobs"));
  registry.load(library("same_name"));
  BOOST_TEST(registry.find("RetriesSoon")->has_hooks());
  BOOST_TEST(registry.find("TellsExhausted")->has_hooks());
  BOOST_TEST(!registry.find("ResizeImage")->has_hooks());
  BOOST_TEST(registry.has_failure_handlers("ResizeImage"));
  BOOST_TEST(!registry.has_failure_handlers("Other::ResizeImage"));
}

BOOST_AUTO_TEST_CASE(a_library_loaded_twice_counts_once) {
  JobRegistry registry;
  registry.load(BROOD_BINARY_DIR "/tests/../tests/job_libraries/libbad_nothing.so");
  registry.load(library("bad_nothing"));
  BOOST_TEST(registry.libraries().size() == 1u);
  BOOST_TEST(registry.class_names().size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_class_that_two_libraries_define_is_refused_with_both_names) {
  JobRegistry registry;
  registry.load(library("perform_jobs"));
  try {
    registry.load(library("bad_duplicate"));
    BOOST_FAIL("it was taken");
  } catch (const LibraryError& error) {
    BOOST_TEST(says(error.what(), "job class ResizeImage is already defined by " + library("perform_jobs")));
    BOOST_TEST(says(error.what(), library("bad_duplicate")));
  }
  BOOST_TEST(registry.find("BadSecond") == nullptr);
}

BOOST_AUTO_TEST_CASE(what_is_no_library_is_refused_with_a_sentence) {
  const TemporaryDirectory directory;
  const std::string text = directory.path() + "/text.so", empty = directory.path() + "/empty.so";
  std::ofstream(text) << "this is not a shared object, though its name says so";
  std::ofstream{empty};
  BOOST_TEST(says(why_refused(directory.path() + "/missing.so"), "/missing.so: no such file"));
  BOOST_TEST(says(why_refused(text), "is not a shared object"));
  BOOST_TEST(says(why_refused(empty), "is not a shared object"));
  BOOST_TEST(says(why_refused(directory.path()), "is no regular file"));
  BOOST_TEST(says(why_refused(library("no_symbol")), "BROOD_JOBS"));
}

BOOST_AUTO_TEST_CASE(a_library_cut_anywhere_is_refused) {
  const TemporaryDirectory directory;
  const std::string bytes = text_of_file(library("bad_nothing")), path = directory.path() + "/cut.so";
  BOOST_REQUIRE(bytes.size() > 4'000u);
  for (std::size_t size = 1; size < bytes.size(); size += size < 100 ? 1 : bytes.size() / 20) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes.substr(0, size);
    BOOST_TEST(says(why_refused(path), size < 4 ? "is not a shared object" : "is cut short"));
  }
}

BOOST_AUTO_TEST_CASE(a_library_for_another_machine_is_refused) {
  const TemporaryDirectory directory;
  std::string bytes = text_of_file(library("bad_nothing"));
  bytes[18] = 40;  // EM_ARM
  const std::string path = directory.path() + "/arm.so";
  std::ofstream(path, std::ios::binary) << bytes;
  BOOST_TEST(says(why_refused(path), "is built for another machine"));
}

BOOST_AUTO_TEST_CASE(a_library_of_another_abi_is_refused_before_anything_else_is_read) {
  BOOST_TEST(says(why_refused(library("bad_foreign_abi")), "is built for ABI 7, this brood speaks ABI 1"));
}

BOOST_AUTO_TEST_CASE(each_wrong_word_of_a_library_is_refused) {
  BOOST_TEST(says(why_refused(library("bad_small_library")), "has 16 bytes"));
  BOOST_TEST(says(why_refused(library("bad_null_library")), "returned null"));
  BOOST_TEST(says(why_refused(library("bad_no_jobs")), "has no job class"));
  BOOST_TEST(says(why_refused(library("bad_null_jobs")), "null pointer"));
  BOOST_TEST(says(why_refused(library("bad_null_job")), "job class 2 is a null pointer"));
  BOOST_TEST(says(why_refused(library("bad_small_job")), "job class 1 says that its abi::JobClass has 8 bytes"));
  BOOST_TEST(says(why_refused(library("bad_countless_jobs")), "has 18446744073709551615 job classes, at most 10000"));
  BOOST_TEST(says(why_refused(library("bad_garbage")), "is built for ABI 1768693857"));
  for (const char* name : {"bad_endless_name", "bad_empty_name", "bad_unsafe_name", "bad_long_name", "bad_null_name"}) {
    BOOST_TEST(says(why_refused(library(name)), "job class 1 has no usable name"));
  }
  BOOST_TEST(says(why_refused(library("bad_null_perform")), "BadFirst has no perform function"));
  BOOST_TEST(says(why_refused(library("bad_lost_function")), "registers death handlers, and has a null pointer"));
  BOOST_TEST(says(why_refused(library("bad_unknown_registration")), "registers what this brood does not know"));
  BOOST_TEST(says(why_refused(library("bad_same_name_twice")), "names job class BadFirst twice"));
}

BOOST_AUTO_TEST_CASE(a_setup_that_throws_refuses_the_library) {
  BOOST_TEST(says(why_refused(library("setup_throws")), "brood_setup threw std::domain_error: no licence"));
}

BOOST_AUTO_TEST_CASE(a_static_constructor_that_throws_ends_the_process_with_its_words_in_the_log) {
  const TemporaryDirectory directory;
  const std::string file = directory.path() + "/log";
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);
    log::open(
        {.level = log::Level::info, .format = log::Format::text, .file = file, .journald = false, .colour = false});
    JobRegistry registry;
    try {
      registry.load(library("bad_static_throw"));
      _exit(0);
    } catch (const LibraryError& error) {  // it passed dlopen
      log::error("library_refused", {{"reason", error.what()}});
      log::flush();
      std::abort();
    }
  }
  int status = 0;
  BOOST_REQUIRE(waitpid(child, &status, 0) == child);
  BOOST_TEST(WIFSIGNALED(status));
  const std::string written = text_of_file(file);
  BOOST_TEST(says(written, "thrown by a static constructor"));
  BOOST_TEST(says(written, "libbad_static_throw.so"));
}
