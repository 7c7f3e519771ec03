#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/unit/common/end.h"

static void ring(void *arg)
{
    const struct end *e = arg;

    (void)eventfd_write(e->wake_fd, 1);
}

static void on_up(void *arg, struct channel *c)
{
    struct end *e = arg;

    if (e->ups < END_CHANNELS_MAX)
        e->up[e->ups] = c;
    e->ups++;
}

static void on_frame(void *arg, struct channel *c, struct slice body)
{
    struct end *e = arg;

    e->frames++;
    e->frame_bytes += body.length;
    e->last_length = body.length;
    memcpy(e->last, body.bytes, body.length < sizeof(e->last) ? body.length : sizeof(e->last));
    if (e->echo)
        (void)channel_send(c, body); /* tests that count the echoes notice */
}

static void on_down(void *arg, struct channel *c, enum status why)
{
    struct end *e = arg;

    e->downs++;
    e->last_why = why;
    for (unsigned i = 0; i < END_CHANNELS_MAX; i++)
        if (e->up[i] == c)
            e->up[i] = NULL;
}

void end_open(struct end *e, const struct channel_options *options)
{
    struct channel_options own = *options;

    memset(e, 0, sizeof(*e));
    e->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    assert_true(e->wake_fd >= 0);
    own.wake = ring;
    own.arg = e;
    assert_int_equal(channel_hub_new(&own, &e->hub), ST_OK);
}

void end_close(struct end *e)
{
    channel_hub_free(e->hub);
    close(e->wake_fd);
}

void end_listen(struct end *e, const char *url)
{
    assert_int_equal(channel_listen(e->hub, url, &e->listener), ST_OK);
}

const char *end_url(const struct end *e, char out[64])
{
    snprintf(out, 64, "tcp://127.0.0.1:%u", channel_listener_port(e->listener));
    return out;
}

void end_drain(struct end *e)
{
    const struct channel_handler handler = {
        .up = on_up, .frame = on_frame, .down = on_down, .arg = e};

    channel_hub_drain(e->hub, &handler);
}

void end_pump(struct end *a, struct end *b, bool (*done)(const struct end *a, const struct end *b))
{
    const struct mono deadline = mono_after(clock_mono(), 20 * NS_PER_S);

    while (!done(a, b)) {
        struct pollfd fds[2] = {{.fd = a->wake_fd, .events = POLLIN},
                                {.fd = b != NULL ? b->wake_fd : -1, .events = POLLIN}};
        eventfd_t rings;

        assert_false(mono_reached(clock_mono(), deadline));
        (void)poll(fds, 2, 50);
        (void)eventfd_read(a->wake_fd, &rings);
        end_drain(a);
        if (b != NULL) {
            (void)eventfd_read(b->wake_fd, &rings);
            end_drain(b);
        }
    }
}

unsigned end_open_sockets(void)
{
    static const char prefix[] = "socket:";
    DIR *fds = opendir("/proc/self/fd");
    const struct dirent *entry;
    unsigned count = 0;

    assert_non_null(fds);
    while ((entry = readdir(fds)) != NULL) {
        char target[sizeof(prefix)] = "";

        (void)!readlinkat(dirfd(fds), entry->d_name, target, sizeof(target) - 1);
        count += strcmp(target, prefix) == 0;
    }
    closedir(fds);
    return count;
}
