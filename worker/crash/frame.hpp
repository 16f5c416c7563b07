#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shared/scoreboard/stack_record.hpp"

namespace brood {

// One place in a stack, as far as it is known.
struct Frame {
  std::uint64_t address = 0;  // of the instruction that was under way, in memory
  std::uint64_t offset = 0;   // its address in the module's file, as addr2line takes it
  std::string module;         // the file's name; empty: the address lies in no module
  std::string build_id;       // lower-case hex; empty: the module has none
  std::string function;       // empty: not known
  std::string file;           // of the source; empty: not known
  int line = 0;
  bool inlined = false;  // into the next frame, which has the same address
};

// Returns `#0 decode(Image&) at decode.cpp:42 (libjobs.so+0x1a2b)`, with `, inlined` after the place of an inlined
// call.
// Returns `#0 libjobs.so+0x1a2b [build id 1f2e...]` for a frame without a name.  The text is valid UTF-8 of a bounded
// length, whatever the names contain.
std::string to_text(int number, const Frame& frame);

// Returns one frame for each address, with only the facts of the record.  For a record without frames it returns the
// program counter alone.
std::vector<Frame> raw_frames(const CapturedStack& stack);

// Removes brood's own frames around the job, from the one that called the job outwards.
std::vector<Frame> frames_of_job(std::vector<Frame> frames);

// Whether the frame is not the job's own code; see is_machinery() in shared/scoreboard/stack_record.hpp.
bool is_machinery(const Frame& frame);

}  // namespace brood
