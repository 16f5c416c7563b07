#pragma once

#include <cstddef>

namespace brood {

// Has the kernel put what this process keeps in large pieces of memory of its own, a table of a gigabyte, say, into
// huge pages: a fork then copies a 512th of the page tables.  Returns how many bytes it was done for; 0 where the
// kernel (before Linux 6.1) or a lack of such pages does not allow it.
std::size_t gather_into_huge_pages();

}  // namespace brood
