#include "supervisor/web/crash_logger.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shared/base/log.hpp"

namespace brood {
namespace {

constexpr int most_frames = 64;
constexpr unsigned longest_telling_s = 5;

std::atomic<bool> writes_json{false}, writes_for_journald{false};

// A line of the log as log::format_line() makes it, but without heap memory, which may be corrupt.
class PlainLine {
 public:
  explicit PlainLine(std::string_view event) {
    if (writes_for_journald) add("<3>");
    if (writes_json) {
      add("{");
      name("ts");
      add("\"");
      add_time();
      add("\"");
      text("level", "error");
    } else {
      if (!writes_for_journald) {
        add_time();
        add(" ");
      }
      add("ERROR");
    }
    number("pid", static_cast<std::uint64_t>(getpid()));
    text("event", event);
  }

  // Leaves out characters that would end the quoted text.
  void text(std::string_view fact, std::string_view value) {
    const bool is_quoted = writes_json || value.find_first_of(" =\"") != value.npos;
    name(fact);
    if (is_quoted) add("\"");
    for (const char c : value) {
      if (c >= ' ' && c < 0x7f && c != '"' && c != '\\') add(std::string_view(&c, 1));
    }
    if (is_quoted) add("\"");
  }
  void number(std::string_view fact, std::uint64_t value) {
    name(fact);
    add_number(value, 10, 1);
  }
  void write_to(int descriptor) {
    if (writes_json) add("}");
    bytes_[size_++] = '\n';
    [[maybe_unused]] const ssize_t written = ::write(descriptor, bytes_.data(), size_);
  }

 private:
  void add(std::string_view text) {
    for (const char c : text) {
      if (size_ + 3 < bytes_.size()) bytes_[size_++] = c;
    }
  }
  void name(std::string_view fact) {
    if (!writes_json) add(" ");
    if (writes_json && bytes_[size_ - 1] != '{') add(",");
    if (writes_json) add("\"");
    add(fact);
    add(writes_json ? "\":" : "=");
  }
  void add_number(std::uint64_t value, unsigned base, int least_digits) {
    char digits[24];
    int count = 0;
    for (; value != 0 || count < least_digits; value /= base) digits[count++] = "0123456789abcdef"[value % base];
    while (count > 0) add(std::string_view(&digits[--count], 1));
  }
  void add_time() {
    using namespace std::chrono;
    const auto now = floor<milliseconds>(system_clock::now());
    const auto day = floor<days>(now);
    const year_month_day date(day);
    const hh_mm_ss clock(now - day);
    const auto part = [&](auto value, int digits, std::string_view after) {
      add_number(static_cast<std::uint64_t>(value), 10, digits);
      add(after);
    };
    part(static_cast<int>(date.year()), 4, "-");
    part(static_cast<unsigned>(date.month()), 2, "-");
    part(static_cast<unsigned>(date.day()), 2, "T");
    part(clock.hours().count(), 2, ":");
    part(clock.minutes().count(), 2, ":");
    part(clock.seconds().count(), 2, ".");
    part(clock.subseconds().count(), 3, "Z");
  }

  std::array<char, 768> bytes_;
  std::size_t size_ = 0;
};

// The place of a frame: a text of limited length.
class Place {
 public:
  Place& add(std::string_view text) {
    for (const char c : text) {
      if (size_ < bytes_.size()) bytes_[size_++] = c;
    }
    return *this;
  }
  Place& add_hex(std::uintptr_t value) {
    char digits[2 * sizeof value];
    std::size_t count = 0;
    do digits[count++] = "0123456789abcdef"[value & 15];
    while ((value >>= 4) != 0);
    add("0x");
    while (count > 0) add(std::string_view(&digits[--count], 1));
    return *this;
  }
  std::string_view text() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, 512> bytes_;
  std::size_t size_ = 0;
};

std::string_view name_of_signal(int signal) {
  switch (signal) {
    case SIGSEGV:
      return "SIGSEGV";
    case SIGBUS:
      return "SIGBUS";
    case SIGFPE:
      return "SIGFPE";
    case SIGILL:
      return "SIGILL";
    case SIGABRT:
      return "SIGABRT";
    default:
      return "SIGSYS";
  }
}

void tell_frame(int descriptor, int number, void* address) {
  Place place;
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  Dl_info about{};
  link_map* object = nullptr;
  if (dladdr1(address, &about, reinterpret_cast<void**>(&object), RTLD_DL_LINKMAP) != 0 && about.dli_fname != nullptr) {
    place.add(about.dli_fname).add("(");
    if (about.dli_sname != nullptr)
      place.add(about.dli_sname).add("+").add_hex(at - reinterpret_cast<std::uintptr_t>(about.dli_saddr));
    else
      place.add("+").add_hex(at - object->l_addr);  // for addr2line, also if the program has an address of its own
    place.add(") ");
  }
  place.add("[").add_hex(at).add("]");
  PlainLine line("web_stack");
  line.number("frame", static_cast<std::uint64_t>(number));
  line.text("at", place.text());
  line.write_to(descriptor);
}

void tell_crash(int signal, siginfo_t* info, void*) {
  static std::atomic<bool> tells{false};
  if (!tells.exchange(true)) {
    alarm(longest_telling_s);  // a lock taken by the crashed code must not hold us up
    const int descriptor = log::descriptor() >= 0 ? log::descriptor() : STDERR_FILENO;
    PlainLine first("web_crashed");
    first.text("signal", name_of_signal(signal));
    Place address;
    if (info->si_code > 0)
      first.text("address", address.add_hex(reinterpret_cast<std::uintptr_t>(info->si_addr)).text());
    else
      first.number("from_pid", static_cast<std::uint64_t>(info->si_pid));
    first.write_to(descriptor);
    std::array<void*, most_frames> frames;
    const int count = backtrace(frames.data(), most_frames);
    for (int i = 0; i < count; ++i) tell_frame(descriptor, i, frames[static_cast<std::size_t>(i)]);
  }
  // A crash happens again after this returns, with the default action.  A signal that was sent must be raised again.
  std::signal(signal, SIG_DFL);
  if (info->si_code <= 0) raise(signal);
}

}  // namespace

void log_crashes_of_page(const log::Options& options) {
  writes_json = options.format == log::Format::json;
  writes_for_journald = options.journald;
  void* frame = nullptr;
  backtrace(&frame, 1);  // loads its library now, not in a handler
  static std::array<char, 64 * 1024> room;
  const stack_t stack{.ss_sp = room.data(), .ss_flags = 0, .ss_size = room.size()};
  sigaltstack(&stack, nullptr);  // for a stack overflow of the first thread
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS}) {
    struct sigaction action {};
    action.sa_sigaction = tell_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace brood
