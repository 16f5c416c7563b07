brood_test(unit/layers)
