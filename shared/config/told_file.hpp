#pragma once

#include <string>

namespace brood {

// Writes a small file by which workers tell their supervisor something: whole, or not at all.  It never waits: it does
// not open what a job has left in the file's place, a FIFO for example.
void write_told_file(const std::string& path, const std::string& text);

}  // namespace brood
