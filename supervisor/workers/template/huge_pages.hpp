#pragma once

#include <cstddef>

namespace brood {

// Makes the kernel move large private memory of this process, such as a table of a gigabyte, into huge pages: a fork
// then copies only a 512th of the page tables.  Returns the number of bytes moved; 0 if the kernel (before Linux 6.1)
// or a lack of such pages does not allow it.
std::size_t gather_into_huge_pages();

}  // namespace brood
