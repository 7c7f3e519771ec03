/* download - one file from a debuginfod server, by libcurl, within limits of size and time. The
 * server is not trusted: redirects are few and lead to http and https alone, never from the second
 * to the first. Any thread, for as long as it takes. */
#ifndef COORDINATOR_SYMBOLS_DOWNLOAD_H
#define COORDINATOR_SYMBOLS_DOWNLOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/id.h"
#include "common/status.h"

enum {
    DOWNLOAD_URL_MAX = 1024, /* bytes of a server's URL */
    DOWNLOAD_REDIRECTS_MAX = 5,
    DOWNLOAD_CONNECT_S = 10,
    DOWNLOAD_TOTAL_S = 300, /* 256 MiB at 1 MiB/s */
    DOWNLOAD_SLOW_BYTES = 1024, /* a second, for ... */
    DOWNLOAD_SLOW_S = 30, /* ... so long: the server is given up */
};

/* An http or https URL with a host, without blanks, query or fragment. */
bool download_url_valid(const char *url);

/* Before other threads; once. */
enum status download_setup(void);

/* Writes URL/buildid/ID/debuginfo to `fd`. ST_NOT_FOUND: the server says that it has none;
 * ST_TOO_BIG: more than `bytes_max`; ST_TIMEOUT; ST_CLOSED: `stop` was set; ST_IO; ST_NOMEM. */
enum status download_debuginfo(const char *url, const struct build_id *id, uint64_t bytes_max,
                               const atomic_bool *stop, int fd);

#endif
