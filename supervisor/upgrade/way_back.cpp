#include "supervisor/upgrade/way_back.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>

#include "supervisor/process/event_loop.hpp"
#include "supervisor/process/own_words.hpp"

namespace brood::way_back {
namespace {

struct Crash {
  int signal;
  const char* word;  // the argument for the other program
};
constexpr std::array crashes{
    Crash{SIGSEGV, "--failed=it was killed by SIGSEGV"}, Crash{SIGBUS, "--failed=it was killed by SIGBUS"},
    Crash{SIGILL, "--failed=it was killed by SIGILL"},   Crash{SIGFPE, "--failed=it was killed by SIGFPE"},
    Crash{SIGABRT, "--failed=it was killed by SIGABRT"}, Crash{SIGSYS, "--failed=it was killed by SIGSYS"},
    Crash{SIGTRAP, "--failed=it was killed by SIGTRAP"}};

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> all;
  for (const std::string& word : words) all.push_back(const_cast<char*>(word.c_str()));
  all.push_back(nullptr);
  return all;
}

std::optional<int> descriptor_after(const std::vector<std::string>& argv, std::string_view option) {
  const auto found = std::find(argv.begin(), argv.end(), option);
  if (found == argv.end() || found + 1 == argv.end()) return std::nullopt;
  const std::string& text = found[1];
  int descriptor = -1;
  std::from_chars(text.data(), text.data() + text.size(), descriptor);
  return descriptor >= 0 && fcntl(descriptor, F_GETFD) >= 0 ? descriptor : -1;
}

// One word, since a reason may look like an option.
std::string word_of(const std::string& why) {
  return std::string(failed) + "=" + (why.empty() ? "it ended before it stood" : why);
}

// Prepares everything for an exec beforehand: the handler of a crash must not allocate.
class Way {
 public:
  Way(const std::vector<std::string>& argv, int handover, int program)
      : program_(program), words_(own_arguments(argv)) {
    const HiddenAddress hidden(words_);
    variables_ = environment();
    for (const std::string& word : {std::string(adopt), std::to_string(handover), word_of("")}) words_.push_back(word);
    argv_ = pointers(words_);
    environment_ = pointers(variables_);
  }

  bool leads_back() const { return program_ >= 0; }
  void lose_program() {
    ::close(program_);
    program_ = -1;
  }

  // Both return only if the exec fails.
  void take(const char* word) { execute(program_, word); }
  void begin_again(const char* word) { execute(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC), word); }
  // Lends a copy: unsetenv(3) removes variables from the array itself.
  void restore_environment() {
    lent_ = environment_;
    environ = lent_.data();
  }

 private:
  static std::vector<std::string> environment() {
    std::vector<std::string> all;
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
      all.emplace_back(*variable);
    return all;
  }

  void execute(int program, const char* word) {
    argv_[argv_.size() - 2] = const_cast<char*>(word);
    execveat(program, "", argv_.data(), environment_.data(), AT_EMPTY_PATH);
  }

  int program_;
  std::vector<std::string> words_, variables_;
  std::vector<char*> argv_, environment_, lent_;
};

std::unique_ptr<Way> way;                 // while there is something to give back
alignas(16) char crash_stack[16 * 1024];  // the usual stack may have overflowed

void crashed(int signal) {
  for (const Crash& crash : crashes) {
    if (way && crash.signal == signal) way->take(crash.word);
  }
  raise(signal);  // SA_RESETHAND has restored the default action, so this ends the process
}

void watch_for_crashes() {
  stack_t stack{};
  stack.ss_sp = crash_stack;
  stack.ss_size = sizeof crash_stack;
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = crashed;
  // The signal is not blocked in the handler: a mask would survive the exec.
  action.sa_flags = static_cast<int>(SA_ONSTACK | SA_NODEFER | SA_RESETHAND);
  for (const Crash& crash : crashes) sigaction(crash.signal, &action, nullptr);
}

void stop_watching() {
  for (const Crash& crash : crashes) {
    struct sigaction now {};
    // The handler that guards the scoreboard may have replaced ours meanwhile; then leave it.
    if (sigaction(crash.signal, nullptr, &now) == 0 && now.sa_handler == crashed) ::signal(crash.signal, SIG_DFL);
  }
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
}

}  // namespace

void open(const std::vector<std::string>& argv) {
  const auto handover = descriptor_after(argv, adopt), program = descriptor_after(argv, former);
  const bool only_looks = std::find(argv.begin(), argv.end(), "--check") != argv.end();
  // A rehearsal gets the number of the program's descriptor, but its exec has closed that descriptor.
  if (!handover || *handover < 0 || only_looks || program == -1) return;
  hold_back_signals();  // the previous program did so, but a wrapper script may have cleared the mask
  way = std::make_unique<Way>(argv, *handover, program.value_or(-1));
  if (way->leads_back()) watch_for_crashes();
}

bool is_open() { return way != nullptr; }

void take(const std::string& why) {
  if (!way || !way->leads_back()) return;
  way->take(word_of(why).c_str());
  way->lose_program();
  stop_watching();
}

void begin_again(const std::string& why) { way->begin_again(word_of(why).c_str()); }

void restore_environment() { way->restore_environment(); }

void close() {
  if (!way) return;
  if (way->leads_back()) {
    way->lose_program();
    stop_watching();
  }
  way.reset();
}

std::vector<std::string> own_arguments(std::vector<std::string> argv) {
  argv.erase(std::find(argv.begin(), argv.end(), adopt), argv.end());
  return argv;
}

}  // namespace brood::way_back
