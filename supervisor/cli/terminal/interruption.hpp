#pragma once

namespace brood {

// From now on the first INT, TERM or HUP only makes interrupted() true; the same signal a second time ends the program.
void note_interruption();
bool interrupted();

}  // namespace brood
