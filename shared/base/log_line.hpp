#pragma once

#include <sys/types.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.hpp"
#include "shared/base/log.hpp"

namespace brood::log {

// One event as the line that is written, its newline included.  Pure: the time and the writer's pid are given.
//   text   2026-11-21T05:09:37.123Z INFO pid=4711 event=worker_crashed slot=3 status="killed by SIGSEGV"
//   json   {"ts":"2026-11-21T05:09:37.123Z","level":"info","pid":4711,"event":"worker_crashed","slot":3,...}
// Facts of `more` are added unless the line has that name already.  For journald the line starts with its <priority>
// and has no time.
std::string format_line(const Options& options, Level level, WallTime now, pid_t pid, std::string_view event,
                        std::initializer_list<Fact> facts, const std::vector<Fact>& more = {});

// `text` with all characters escaped that a terminal or a log reader would act on, and all bytes that are not UTF-8:
// for messages that quote text of other programs.
std::string printable(std::string_view text);

// The same JSON, with \uXXXX for such characters in its strings.
std::string printable_json(std::string_view json);

}  // namespace brood::log

namespace brood::log {

// Adds a fact of a job to every further line of this process, until the facts are cleared.  A line's own fact of the
// same name wins.  Returns false if the name is not 1 to 64 of A-Z a-z 0-9 _ . -, if every line has it anyway, and for
// a seventeenth name.  A value is cut to 1,000 bytes.
bool set_standing_fact(std::string_view name, std::string_view value);
void clear_standing_facts();

const std::vector<Fact>& standing_facts();

}  // namespace brood::log
