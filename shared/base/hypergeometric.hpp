#pragma once

namespace brood {

// The probability that exactly `found` of `drawn` things are marked, when they are drawn from `all`, of which `marked`
// are.  0 where that cannot be.  The arguments are whole numbers, but doubles, since counts may be large.
double hypergeometric(double found, double drawn, double marked, double all);

}  // namespace brood
