#include "coordinator/http/peer.h"

#include <pwd.h>
#include <stdio.h>

enum { USER_BUFFER = 4096 }; /* bytes of a passwd entry; longer ones are shown by number */

const char *peer_name(const struct call *c, char buffer[PEER_NAME_MAX])
{
    char entry_texts[USER_BUFFER];
    struct passwd entry, *found = NULL;
    uint32_t uid;

    if (!http_peer_uid(c->request, &uid))
        return "anonymous";
    if (getpwuid_r(uid, &entry, entry_texts, sizeof(entry_texts), &found) == 0 && found != NULL)
        (void)snprintf(buffer, PEER_NAME_MAX, "%s", found->pw_name);
    else
        (void)snprintf(buffer, PEER_NAME_MAX, "uid %u", uid);
    return buffer;
}
