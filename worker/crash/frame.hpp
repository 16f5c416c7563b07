#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shared/scoreboard/stack_record.hpp"

namespace brood {

// One place in a stack, as far as it is known.
struct Frame {
  std::uint64_t address = 0;  // in memory: of the instruction that was under way
  std::uint64_t offset = 0;   // the same in the module's file, as addr2line takes it
  std::string module;         // the file's name; empty: the address lies in no module
  std::string build_id;       // lower-case hex; empty: the module has none
  std::string function;       // empty: not known
  std::string file;           // of the source; empty: not known
  int line = 0;
  bool inlined = false;  // into the next frame, which has the same address
};

// `#0 decode(Image&) at decode.cpp:42 (libjobs.so+0x1a2b)`, with `, inlined` after the place if it is; without a name,
// `#0 libjobs.so+0x1a2b [build id 1f2e...]`.  Valid UTF-8 of a bounded length, whatever the names hold.
std::string to_text(int number, const Frame& frame);

// One frame for each address, with the facts of the record alone.  For a record without frames only the program
// counter.
std::vector<Frame> raw_frames(const CapturedStack& stack);

// Leaves out what lies beneath every job: brood's own frames, from the one that called the job outwards.
std::vector<Frame> frames_of_job(std::vector<Frame> frames);

// See shared/scoreboard/stack_record.hpp.
bool is_machinery(const Frame& frame);

}  // namespace brood
