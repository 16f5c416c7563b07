brood_test(store/connection LINK brood_test_support)
brood_test(store/async_connection LINK brood_test_support)
