#pragma once

#include <csignal>
#include <cstddef>
#include <string>

namespace brood {

// A shared mapping of a file that every process of the same user may truncate.  Access to a page that is gone raises
// SIGBUS.  After note_mapped_file() our handler then restores the page, empty.  It does so in the file, if that is
// still the one that was mapped and may be written; else for this process alone.

// `memory` is a mapping of the file that is open as `fd`.  Handles SIGBUS for this process; other faults go on to
// the handler that was there before, and ours stays.
void note_mapped_file(void* memory, std::size_t size, int fd, const std::string& path, bool writable);

// Call it before the memory is unmapped.
void forget_mapped_file(void* memory);

// For handlers of SIGBUS: restores the page of a fault.  Returns true if it has, and the interrupted code can go on.
// Async-signal-safe.
bool bring_back_page(const siginfo_t& fault);

}  // namespace brood
