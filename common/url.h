/* url - whether a channel's URL leads over a network, where nothing on it is encrypted. */
#ifndef COMMON_URL_H
#define COMMON_URL_H

#include <stdbool.h>
#include <stddef.h>

bool url_is_loopback(const char *host, size_t length); /* localhost, 127.x.y.z, ::1, [::1] */
bool url_is_remote(const char *url); /* tcp:// to another host than this one */

#endif
