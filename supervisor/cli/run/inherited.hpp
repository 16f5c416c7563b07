#pragma once

namespace brood {

// Repairs what `brood run` inherits from the program that started it: timers whose signal would kill it, SIGXFSZ
// instead of an error from a file that may not grow, a umask by which it could not read its own files, a small stack.
// Call it before the first file is made.  For signals see begin_program(), for descriptors DescriptorLimit.
void mend_inherited();

// Logs what cannot be repaired: limits that end or hinder a supervisor sooner or later, a deleted working directory.
void warn_of_inherited();

}  // namespace brood
