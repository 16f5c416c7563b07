#pragma once

#include <string>

namespace brood {

// Writes a small file by which workers tell their supervisor something, whole or not at all.  Never waits: it does not
// open what a job may have put in the file's place, such as a FIFO.
void write_told_file(const std::string& path, const std::string& text);

}  // namespace brood
