/* demangle - readable names of C++ and Rust functions. Any thread. */
#ifndef COORDINATOR_QUERY_DEMANGLE_H
#define COORDINATOR_QUERY_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/* Longest readable name, with its NUL. A mangled name can ask for an exponentially longer one. */
enum { DEMANGLE_TEXT_MAX = 8192 };

/* Without parameter types, as perf and pprof show names: "std::vector<int>::push_back". Overloads
 * so share a row, which is what a ranking is for; template arguments stay, since each is code of
 * its own, and so do the types that tell lambdas apart. False: not a mangled name, or too long when
 * readable; `out` holds nothing of use then. */
bool demangle(const char *mangled, char out[DEMANGLE_TEXT_MAX]);

#endif
