#pragma once

#include <vector>

#include "shared/base/unique_fd.hpp"
#include "supervisor/upgrade/handover_record.hpp"

namespace brood {

// How a handover passes from one program to the next in the same process: a file with the record, and descriptors,
// which survive the exec.

// The descriptors in the handover.  They stay open for the previous program until the takeover is complete; the next
// program works with copies.
std::vector<int> descriptors_of(const Handover& handover);
// A copy of such a descriptor; empty for -1.  Throws std::system_error.
UniqueFd own_descriptor(int left);

// Writes the handover to a memfd, which is closed at an exec by default.  Reading it back does not move the file's
// offset. Only the handover of a rehearsal can be written to afterwards.
UniqueFd write_handover(const Handover& handover);
Handover read_handover(int descriptor);

// Signs the copy: the program could take over.  A program other than brood would not do this.  Throws
// std::system_error.
void sign_rehearsal(int descriptor);
bool is_signed(int descriptor);

}  // namespace brood
