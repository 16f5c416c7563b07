#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "shared/scoreboard/stack_record.hpp"
#include "worker/crash/frame.hpp"

namespace brood {

struct SymboliserOptions {
  std::string debug_directory = "/usr/lib/debug";  // with separate debug files, by build id
  std::chrono::milliseconds budget{2'000};         // processor time for all frames; frames beyond it get no names
  std::chrono::milliseconds longest{6'000};        // by the clock: a busy machine gives that time slowly
  std::function<void()> frame_done = {};           // called after each frame, to show progress; may be empty
};

// The frames of a process that may have ended, innermost first, with names, and source lines if debug information
// exists. Each inlined call is a frame of its own.  Only files of this machine are read, and only if their build id is
// the recorded one: a library that was replaced since is not the one that ran.
//
// Broken files may crash or hang this process: call it in a process that is watched.
std::vector<Frame> symbolise(const CapturedStack& stack, const SymboliserOptions& options = {});

// From now on this process also looks into these open files: those that a library was loaded from may have lost their
// names.
void symbolise_also_from(std::vector<int> descriptors);

}  // namespace brood
