#include "shared/base/mapped_file.hpp"

#include <fcntl.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <string>

#include "shared/base/check.hpp"
#include "shared/base/unique_fd.hpp"
#include "tests/support/in_child.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace brood;

namespace {

constexpr std::size_t page = 4096;

// A page of a file that was truncated after it was mapped.
class CutFile {
 public:
  CutFile(const TemporaryDirectory& directory, const std::string& name, bool is_noted)
      : path_(directory.write(name, std::string(page, 'x'))) {
    const UniqueFd fd(check("open", open(path_.c_str(), O_RDWR | O_CLOEXEC)));
    memory_ = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (memory_ == MAP_FAILED) check("mmap", -1);
    if (is_noted) note_mapped_file(memory_, page, fd.get(), path_, true);
    cut();
  }
  ~CutFile() {
    forget_mapped_file(memory_);
    munmap(memory_, page);
  }
  CutFile(const CutFile&) = delete;
  CutFile& operator=(const CutFile&) = delete;

  void cut() const { check("truncate", truncate(path_.c_str(), 0)); }
  char first_byte() const { return *static_cast<volatile const char*>(memory_); }

 private:
  std::string path_;
  void* memory_;
};

sigjmp_buf back;
volatile sig_atomic_t caught = 0;

void handle(int number, int flags, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(number, &action, nullptr);
}

void leave_by_a_jump(int) {
  caught = caught + 1;
  siglongjmp(back, 1);
}

bool faults(const CutFile& file) {
  if (sigsetjmp(back, 1) != 0) return true;
  file.first_byte();
  return false;
}

template <typename Body>
int ended_by(Body body) {
  const pid_t pid = check("fork", fork());
  if (pid == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  check("waitpid", waitpid(pid, &status, 0));
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_page_is_brought_back_also_after_faults_that_the_handler_before_has_taken) {
  const TemporaryDirectory directory;
  BOOST_TEST(in_child([&] {
    handle(SIGBUS, 0, leave_by_a_jump);
    const CutFile ours(directory, "ours", true), foreign(directory, "foreign", false);

    for (int times = 1; times <= 2; ++times) {
      if (!faults(foreign) || caught != times) return false;
      ours.cut();
      if (faults(ours) || ours.first_byte() != 0) return false;
    }
    return true;
  }));
}

BOOST_AUTO_TEST_CASE(a_handler_for_one_signal_alone_gets_one) {
  const TemporaryDirectory directory;
  BOOST_TEST(ended_by([&] {
               handle(SIGBUS, SA_RESETHAND, [](int) {});  // it returns, and the fault comes again
               const CutFile ours(directory, "ours", true), foreign(directory, "foreign", false);
               foreign.first_byte();
             }) == SIGBUS);
}

BOOST_AUTO_TEST_CASE(without_a_handler_before_a_foreign_fault_is_the_end) {
  const TemporaryDirectory directory;
  for (void (*const before)(int) : {SIG_DFL, SIG_IGN}) {
    BOOST_TEST(ended_by([&] {
                 handle(SIGBUS, 0, before);
                 const CutFile ours(directory, "ours", true), foreign(directory, "foreign", false);
                 foreign.first_byte();
               }) == SIGBUS);
  }
}

BOOST_AUTO_TEST_CASE(a_signal_that_was_sent_does_what_it_would_do_without_us) {
  const TemporaryDirectory directory;
  for (const auto& [before, end] : {std::pair{SIG_DFL, SIGBUS}, std::pair{SIG_IGN, 0}}) {
    const auto disposition = before;
    BOOST_TEST(ended_by([&] {
                 handle(SIGBUS, 0, disposition);
                 const CutFile ours(directory, "ours", true);
                 kill(getpid(), SIGBUS);
                 if (ours.first_byte() != 0) _exit(1);
               }) == end);
  }
}
