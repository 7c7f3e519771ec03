/* web - the two pages that the coordinator serves, embedded in the program.
 * Each is one self-contained HTML text: style and script are inside, nothing else is requested.
 * The texts end with a NUL that the length does not count. */
#ifndef COORDINATOR_WEB_WEB_H
#define COORDINATOR_WEB_WEB_H

#include <stddef.h>

/* The line of the flame page that its data replaces, once:
 *   <script id="data" type="application/json">JSON</script>
 * The JSON must not hold the text "</": write a slash after "<" as "\/". Names come from binaries,
 * so without that a name could end the script element. */
#define WEB_FLAME_PLACEHOLDER "<!--FLEETPROF-DATA-->"

extern const char web_flame_html[];
extern const size_t web_flame_html_length;

/* The overview: fleet, sessions and a window to look at; reads /api/v1 itself. */
extern const char web_index_html[];
extern const size_t web_index_html_length;

#endif
