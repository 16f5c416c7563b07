#pragma once

#include <vector>

#include "shared/base/unique_fd.hpp"
#include "supervisor/upgrade/handover_record.hpp"

namespace brood {

// What one program leaves to the next in the same process: a file with the handover, and descriptors, which survive the
// exec.

// The descriptors in the handover.  Until the next program stands they stay open for the
// program before; the next program works with copies.
std::vector<int> descriptors_of(const Handover& handover);
// A copy of such a descriptor; none for -1.  Throws std::system_error.
UniqueFd own_descriptor(int left);

// Writes the handover to a memfd, which an exec closes unless it is told otherwise, and reads it back without moving
// the file's offset.  Only the handover of a rehearsal can be written to afterwards.
UniqueFd write_handover(const Handover& handover);
Handover read_handover(int descriptor);

// A program that could take over signs the copy that it was given; a program that is not brood would not do so.  Throws
// std::system_error.
void sign_rehearsal(int descriptor);
bool is_signed(int descriptor);

}  // namespace brood
