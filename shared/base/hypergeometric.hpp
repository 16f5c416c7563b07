#pragma once

namespace brood {

// How likely it is that exactly `found` of `drawn` are marked ones, when they are drawn from `all` of which `marked`
// are.  0 where that cannot be.  Whole numbers, as doubles since they come of counts that may be large.
double hypergeometric(double found, double drawn, double marked, double all);

}  // namespace brood
