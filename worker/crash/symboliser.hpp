#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "shared/scoreboard/stack_record.hpp"
#include "worker/crash/frame.hpp"

namespace brood {

struct SymboliserOptions {
  std::string debug_directory = "/usr/lib/debug";  // it holds separate debug files, by build id
  std::chrono::milliseconds budget{2'000};         // CPU time for all frames; frames beyond it get no names
  std::chrono::milliseconds longest{6'000};        // the same in elapsed time, for a busy machine
  std::function<void()> frame_done = {};           // called after each frame, to show progress; may be empty
};

// Returns the frames of a process that may have ended, innermost first, with names, and with source lines if debug
// information exists.  Each inlined call is a frame of its own.  It reads only files of this machine, and only if their
// build id is the recorded one: the library may have been replaced since.
//
// Broken files may crash or hang this process.  So call it in a process that another one watches.
std::vector<Frame> symbolise(const CapturedStack& stack, const SymboliserOptions& options = {});

// From then on symbolise() also reads these open files in this process: the files that libraries were loaded from may
// have lost their names.
void symbolise_also_from(std::vector<int> descriptors);

}  // namespace brood
