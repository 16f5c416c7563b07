#pragma once

namespace brood {

// Confines this process, with its present threads: from here on it can execute no program, start no other process,
// trace or signal no other, mount, load or change nothing of the machine, and use no more than a fixed amount of memory
// of its own.  It leaves no core file, and no other process of its user reads its memory.  Returns false if one of
// these is refused; the others hold.
bool confine_page();

}  // namespace brood
