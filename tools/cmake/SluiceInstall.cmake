# cmake --install: the runtime's libraries and headers, the tools, and the package file for find_package(Sluice).
