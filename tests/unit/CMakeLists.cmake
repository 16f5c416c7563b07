brood_test(unit/layers)
brood_test(unit/log LINK brood_base)
