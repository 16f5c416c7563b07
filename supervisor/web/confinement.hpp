#pragma once

namespace brood {

// From here on this process can execute no program, start no other process, trace or signal no other, mount, load or
// change nothing of the machine, and have no more than so much memory of its own; it leaves no core file, and no other
// process of its user reads its memory.  What it has by now, threads included, is bound too.  False where
// something of this is refused: the rest holds then.
bool confine_page();

}  // namespace brood
