# At installation, when the prefix is known: the units with the program's own path in them.
set(units "${CMAKE_INSTALL_PREFIX}/lib/systemd/system")
foreach(unit IN ITEMS brood.service brood@.service)
  file(READ "${CMAKE_CURRENT_LIST_DIR}/../systemd/${unit}" text)
  string(REPLACE "/usr/bin/brood" "${CMAKE_INSTALL_PREFIX}/bin/brood" text "${text}")
  message(STATUS "Installing: $ENV{DESTDIR}${units}/${unit}")
  file(WRITE "$ENV{DESTDIR}${units}/${unit}" "${text}")
endforeach()
