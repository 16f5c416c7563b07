#pragma once

namespace brood {

// From now on the first INT, TERM or HUP only makes interrupted() true; the second one ends the program.
void note_interruption();
bool interrupted();

}  // namespace brood
