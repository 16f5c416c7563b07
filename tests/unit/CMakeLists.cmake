brood_test(unit/layers)
brood_test(unit/log LINK brood_base)
brood_test(unit/ledger LINK brood_test_support)
