/* uploads - see uploads.h. */
#include "coordinator/uploads.h"

#include <stdlib.h>
#include <string.h>

enum status uploads_take(struct uploads *u, uint64_t number, size_t bytes, const char *host,
                         struct upload **out)
{
    struct upload *upload;

    if (number <= u->acked)
        return ST_EXISTS;
    if (number <= u->taken)
        return ST_BAD_STATE;
    if (u->count == UPLOADS_MAX)
        return ST_FULL;
    upload = calloc(1, sizeof(*upload));
    if (upload == NULL)
        return ST_NOMEM;
    upload->number = number;
    upload->bytes = bytes;
    memcpy(upload->host, host, strnlen(host, MESSAGE_HOST_MAX));

    if (u->last != NULL)
        u->last->next = upload;
    else
        u->first = upload;
    u->last = upload;
    u->count++;
    u->bytes += bytes;
    u->taken = number;
    *out = upload;
    return ST_OK;
}

void uploads_untake(struct uploads *u, struct upload *upload)
{
    struct upload *before = NULL;

    for (struct upload *at = u->first; at != upload; at = at->next)
        before = at;
    if (before != NULL)
        before->next = NULL;
    else
        u->first = NULL;
    u->last = before;
    u->count--;
    u->bytes -= upload->bytes;
    u->taken = before != NULL ? before->number : u->acked;
    upload_free(upload);
}

static void pop(struct uploads *u)
{
    struct upload *head = u->first;

    u->first = head->next;
    if (u->first == NULL)
        u->last = NULL;
    u->count--;
    u->bytes -= head->bytes;
    u->acked = head->number;
    upload_free(head);
}

bool uploads_finish(struct uploads *u, struct upload *upload)
{
    uint64_t before = u->acked;

    upload->finished = true;
    while (u->first != NULL && u->first->finished)
        pop(u);
    return u->acked != before;
}

void uploads_fail(struct uploads *u, struct upload *upload)
{
    u->bytes -= upload->bytes;
    upload->bytes = 0;
    upload->failed = true;
}

void uploads_orphan(struct uploads *u)
{
    struct upload *next;

    for (struct upload *at = u->first; at != NULL; at = next) {
        next = at->next;
        at->owner = NULL;
        at->next = NULL;
        if (at->finished || at->failed)
            upload_free(at);
    }
    *u = (struct uploads){0};
}

void upload_free(struct upload *upload)
{
    free(upload);
}
