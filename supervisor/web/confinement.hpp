#pragma once

namespace brood {

// Confines this process, with its present threads.  From here on it can execute no program, start, trace or signal no
// other process, mount, load or change nothing of the machine, and use no more than a fixed amount of memory of its
// own. It leaves no core file, and no other process of its user can read its memory.  Returns false if the kernel
// refuses one of these; the others hold.
bool confine_page();

}  // namespace brood
