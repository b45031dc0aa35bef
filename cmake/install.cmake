# What `cmake --install` puts where: program, libraries with the headers that tenfold.h reaches, data that bare names are
# looked up in, man pages.
install(TARGETS tenfold_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS tenfold tenfold_shared ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
                                       LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})

# PUBLIC_HEADERS: tenfold.h and what it includes, and so on, relative to src.
set(PUBLIC_HEADERS tenfold.h)
set(unread tenfold.h)
while(unread)
    list(POP_FRONT unread header)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS src/${header})
    file(STRINGS src/${header} lines REGEX "^#include \"")
    foreach(line ${lines})
        string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" included "${line}")
        if(NOT included IN_LIST PUBLIC_HEADERS)
            list(APPEND PUBLIC_HEADERS ${included})
            list(APPEND unread ${included})
        endif()
    endforeach()
endwhile()
foreach(header ${PUBLIC_HEADERS})
    get_filename_component(folder ${header} DIRECTORY)
    install(FILES src/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tenfold/${folder})
endforeach()

install(DIRECTORY models spaces plots DESTINATION ${CMAKE_INSTALL_DATADIR}/tenfold)
install(DIRECTORY src/rtl/templates DESTINATION ${CMAKE_INSTALL_DATADIR}/tenfold/src/rtl)

# Completions are made by the program from its own tables of options.
foreach(shell bash zsh)
    add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/completion/${shell}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/completion
        COMMAND tenfold_cli completion ${shell} > ${CMAKE_BINARY_DIR}/completion/${shell}
        DEPENDS tenfold_cli VERBATIM)
endforeach()
add_custom_target(tenfold_completion ALL DEPENDS ${CMAKE_BINARY_DIR}/completion/bash ${CMAKE_BINARY_DIR}/completion/zsh)
install(FILES ${CMAKE_BINARY_DIR}/completion/bash RENAME tenfold
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${CMAKE_BINARY_DIR}/completion/zsh RENAME _tenfold
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)

# What the JSON of each command holds, from its own tables of columns.
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/schemas/cost.json
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${CMAKE_BINARY_DIR}/schemas
    COMMAND tenfold_cli schema -o ${CMAKE_BINARY_DIR}/schemas --quiet > ${CMAKE_BINARY_DIR}/schemas.log
    DEPENDS tenfold_cli VERBATIM)
add_custom_target(tenfold_schemas ALL DEPENDS ${CMAKE_BINARY_DIR}/schemas/cost.json)
install(DIRECTORY ${CMAKE_BINARY_DIR}/schemas DESTINATION ${CMAKE_INSTALL_DATADIR}/tenfold FILES_MATCHING PATTERN "*.json")

# A command's manual page is what docs/man/written says of it around the names, usage and options of those tables. docs/man/man1
# holds them as they came out (`man -M docs/man tenfold-sweep`; a test compares), the program's own page, and one of a line that
# sends to another's.
install(FILES docs/man/man1/tenfold.1 docs/man/man1/tenfold-merge.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
file(GLOB written CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/docs/man/written ${PROJECT_SOURCE_DIR}/docs/man/written/*.1)
foreach(page ${written})
    string(REGEX REPLACE "^tenfold-(.*)[.]1$" "\\1" command ${page})
    if(NOT TENFOLD_SATELLITES AND command MATCHES "^(${SATELLITE_COMMAND_NAMES})$")
        continue()
    endif()
    add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/man/${page}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/man
        COMMAND ${PROJECT_SOURCE_DIR}/scripts/man-page $<TARGET_FILE:tenfold_cli> ${command}
                ${PROJECT_SOURCE_DIR}/docs/man/written/${page} > ${CMAKE_BINARY_DIR}/man/${page}
        DEPENDS tenfold_cli scripts/man-page docs/man/written/${page} VERBATIM)
    list(APPEND TENFOLD_PAGES ${CMAKE_BINARY_DIR}/man/${page})
endforeach()
add_custom_target(tenfold_man ALL DEPENDS ${TENFOLD_PAGES})
install(FILES ${TENFOLD_PAGES} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)

file(RELATIVE_PATH TENFOLD_PC_UP ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/tenfold.pc.in tenfold.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/tenfold.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

include(CMakePackageConfigHelpers)
configure_file(cmake/tenfold-config.cmake.in tenfold-config.cmake @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/tenfold-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/tenfold-config.cmake ${CMAKE_BINARY_DIR}/tenfold-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tenfold)

# The pages, with their pictures and examples.
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "figures/*.png"
    PATTERN "examples/*" PATTERN "man" EXCLUDE)
