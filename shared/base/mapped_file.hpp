#pragma once

#include <csignal>
#include <cstddef>
#include <string>

namespace brood {

// A file that is mapped and shared, and that everybody of the same user may cut short: whoever then touches what is
// gone gets a SIGBUS.  From here on that brings the pages back, empty, in the file if it is still the one that was
// mapped and may be written, else for this process alone.

// `memory` is a mapping of the file that is open as `fd`.  Handles SIGBUS for this process if nobody else does.
void note_mapped_file(void* memory, std::size_t size, int fd, const std::string& path, bool writable);

// Before it is unmapped.
void forget_mapped_file(void* memory);

// For handlers of SIGBUS: true when the pages are there again, and what was interrupted can go on.  Async-signal-safe.
bool bring_back_page(const siginfo_t& fault);

}  // namespace brood
