#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

// One line per event: `event=worker_crashed slot=3 worker_pid=4711 status="killed by SIGSEGV"`.  Writing never blocks:
// lines that the descriptor does not take at once wait in a bounded ring.  Lines that do not fit are counted, and
// reported as event=log_lines_dropped once lines get through again.  For processes of one thread.
namespace brood::log {

enum class Level { debug, info, warn, error };
enum class Format { text, json };

// One name and its value.  Numbers and booleans stay bare in JSON; everything else is a string.  Values may be hostile:
// control characters and bytes that are not UTF-8 are escaped.  The line adds ts, level, pid and event itself.
struct Fact {
  std::string_view name;
  std::string value;
  bool bare = false;  // a number or a boolean

  template <typename Value>
  Fact(std::string_view fact, const Value& v)
      : name(fact), value(fmt::format("{}", v)), bare(std::is_arithmetic_v<Value>) {}
};

struct Options {
  Level level = Level::info;
  Format format = Format::text;
  std::string file = {};  // empty: standard error
  bool journald = false;  // prefix each line with its <priority>, as systemd reads it from standard error
  bool colour = false;    // standard error is a terminal
  bool operator==(const Options&) const = default;
};

// Opens the destination.  Call once per process before the first event; a forked child inherits it.
// Throws std::system_error when `file` cannot be opened.
void open(const Options& options);

// When open() has failed: goes on writing to `descriptor`, the log of the program that executed this one; -1: to
// standard error.  reopen() tries the file again.
void inherit(const Options& options, int descriptor);

// Opens the file anew under its name.  Does nothing if the destination is no file.  Throws std::system_error; then the
// old file stays in use.  After log rotation has moved the file away, the next line of each process does the same by
// itself.
void reopen();

// Whether journald itself reads our standard error (JOURNAL_STREAM names its device and inode).
bool standard_error_is_the_journal();

// Whether standard error is a terminal and neither NO_COLOR nor TERM=dumb asks for plain text.
bool standard_error_takes_colour();

void set_level(Level level);
bool enabled(Level level);

void write(Level level, std::string_view event, std::initializer_list<Fact> facts);

inline void debug(std::string_view event, std::initializer_list<Fact> facts = {}) {
  if (enabled(Level::debug)) write(Level::debug, event, facts);
}
inline void info(std::string_view event, std::initializer_list<Fact> facts = {}) {
  if (enabled(Level::info)) write(Level::info, event, facts);
}
inline void warn(std::string_view event, std::initializer_list<Fact> facts = {}) {
  if (enabled(Level::warn)) write(Level::warn, event, facts);
}
inline void error(std::string_view event, std::initializer_list<Fact> facts = {}) { write(Level::error, event, facts); }

// The descriptor that lines are written to, or -1 before open().  It is not descriptor 2, and closes on exec.  A forked
// child keeps it, so that its lines go there whatever becomes of its descriptor 2.  If a job has closed it, or replaced
// it, the next line opens the destination anew: the file, or the current descriptor 2.
int descriptor();

// The same descriptor while lines wait to be written, else -1: call flush() when it is writable.  The supervisor's loop
// watches it; a worker calls flush() between jobs.
int waiting_descriptor();
void flush();

// Whether more than half of the ring is full.  Then do not write lines that can wait or be left out.
bool behind();

// How many lines were dropped since the start, because the ring was full or the destination could not be written.
std::uint64_t dropped();

// Why the last line could not be written: "No space left on device".  Empty if it was written, or still waits.  If the
// destination is a file that cannot be written, standard error gets a line about it too, once a minute.
std::string trouble();

// After fork: drops the parent's waiting lines, which the parent itself will write.
void forget_waiting();

}  // namespace brood::log
