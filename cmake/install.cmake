# What `cmake --install` puts where: program, library with its headers, data that bare names are looked up in, man pages.
install(TARGETS tenfold_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS tenfold ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY src/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tenfold
        FILES_MATCHING PATTERN "*.h" PATTERN "cli" EXCLUDE)
install(DIRECTORY models spaces plots DESTINATION ${CMAKE_INSTALL_DATADIR}/tenfold)
install(DIRECTORY docs/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")

file(RELATIVE_PATH TENFOLD_PC_UP ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/tenfold.pc.in tenfold.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/tenfold.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

include(CMakePackageConfigHelpers)
configure_file(cmake/tenfold-config.cmake.in tenfold-config.cmake @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/tenfold-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/tenfold-config.cmake ${CMAKE_BINARY_DIR}/tenfold-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tenfold)
