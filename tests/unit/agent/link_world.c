#include "tests/unit/agent/link_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define WALL_SKEW_NS (UINT64_C(1700000000) * NS_PER_S) /* of the held wall clock to the other */
#define PATIENCE_NS (20 * NS_PER_S) /* of real time, for the loopback network */

struct world world;
uint32_t world_goal;

/* ---- the agent's owner ---- */

static void ring(void *arg)
{
    (void)arg;
    (void)eventfd_write(world.wake_fd, 1);
}

static void fill_hello(void *arg, struct hello *out)
{
    (void)arg;
    (void)snprintf(out->host, sizeof(out->host), "web1");
    (void)snprintf(out->version, sizeof(out->version), "9.9");
    out->incarnation = 77;
    out->plan_revision = 5;
    out->running[0] = (struct id128){{1}};
    out->running_count = 1;
    assert_int_equal(labels_set(&out->labels, "zone", "eu-1"), ST_OK);
}

static void fill_heartbeat(void *arg, struct heartbeat *out)
{
    (void)arg;
    out->plan_revision = 5;
    out->cost.user_ns = 123;
}

static void on_welcomed(void *arg)
{
    (void)arg;
    world.welcomed++;
}

static void on_plan(void *arg, const struct plan *p)
{
    (void)arg;
    world.plans++;
    world.plan_revision = p->revision;
}

static void on_wanted(void *arg, const struct symbols_wanted *s)
{
    (void)arg;
    world.wanted += s->count;
}

struct wall world_wall(void)
{
    return (struct wall){world.now.ns + WALL_SKEW_NS + (uint64_t)world.wall_step_ns};
}

int64_t world_clock_offset_ns(void)
{
    return link_clock_offset_ns(world.link, world.now, world_wall());
}

void world_tick(void)
{
    link_tick(world.link, world.now, world_wall());
}

void world_pass(uint64_t ns)
{
    world.now.ns += ns;
    world_tick();
}

void world_pump_once(void)
{
    struct pollfd fds[2] = {{.fd = world.wake_fd, .events = POLLIN},
                            {.fd = world.far.wake_fd, .events = POLLIN}};
    eventfd_t rings;

    (void)poll(fds, 2, 50);
    (void)eventfd_read(world.wake_fd, &rings);
    link_drain(world.link, world.now, world_wall());
    far_end_drain(&world.far);
}

void world_pump(bool (*done)(void))
{
    const struct mono patience = mono_after(clock_mono(), PATIENCE_NS);

    while (!done()) {
        assert_false(mono_reached(clock_mono(), patience));
        world_pump_once();
    }
}

/* ---- conditions ---- */

bool world_hello_heard(void)
{
    return world.far.heard[MESSAGE_HELLO] >= world_goal && world.far.channel != NULL;
}

bool world_is_up(void)
{
    return link_is_up(world.link);
}

bool world_is_down(void)
{
    return !link_is_up(world.link);
}

bool world_chunks_came(void)
{
    return world.far.chunk_count >= world_goal;
}

bool world_far_sees_no_one(void)
{
    return world.far.channel == NULL;
}

void world_pump_to(bool (*done)(void), uint32_t count)
{
    world_goal = count;
    world_pump(done);
}

/* ---- the world ---- */

void world_add_chunks(uint8_t first_byte, uint32_t count)
{
    uint64_t number;

    for (uint32_t i = 0; i < count; i++) {
        const uint8_t bytes[] = {(uint8_t)(first_byte + i), 'x', 'y'};

        assert_int_equal(
            spool_add(world.spool, (struct slice){bytes, sizeof(bytes)}, 10, world_wall(), &number),
            ST_OK);
    }
}

uint64_t world_chunks_waiting(void)
{
    return spool_read_counters(world.spool).chunks;
}

static void open_spool(void)
{
    const struct spool_options options = {
        .directory = world.directory, .bytes_max = 64 << 20, .age_max_ns = 3600 * NS_PER_S};

    (void)snprintf(world.directory, sizeof(world.directory), "/tmp/agent-link.XXXXXX");
    assert_non_null(mkdtemp(world.directory));
    assert_int_equal(spool_open(&options, world_wall(), &world.spool), ST_OK);
}

int world_make(void **state)
{
    struct link_options options = {
        .url = world.url,
        .wake = ring,
        .handler = {fill_hello, fill_heartbeat, on_welcomed, on_plan, on_wanted, NULL}};

    (void)state;
    memset(&world, 0, sizeof(world));
    world.now.ns = 1000 * NS_PER_S;
    world.wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    far_end_open(&world.far);
    far_end_url(&world.far, world.url);
    open_spool();
    options.spool = world.spool;
    return link_new(&options, &world.link) == ST_OK ? 0 : -1;
}

static void remove_directory(const char *path)
{
    DIR *dir = opendir(path);
    const struct dirent *e;

    while (dir != NULL && (e = readdir(dir)) != NULL)
        (void)unlinkat(dirfd(dir), e->d_name, 0);
    if (dir != NULL)
        closedir(dir);
    (void)rmdir(path);
}

int world_drop(void **state)
{
    (void)state;
    link_free(world.link);
    far_end_close(&world.far);
    spool_close(world.spool);
    remove_directory(world.directory);
    close(world.wake_fd);
    return 0;
}

void world_greet(uint32_t hello)
{
    const uint64_t before = link_read_counters(world.link).dials;

    /* It may still have to hear that the last connection is gone, and then waits its back-off. */
    for (world_tick(); link_read_counters(world.link).dials == before; world_pass(NS_PER_S))
        world_pump_once();
    world_pump_to(world_hello_heard, hello);
}

void world_connect(uint32_t window)
{
    world_greet(world.far.heard[MESSAGE_HELLO] + 1);
    far_end_welcome(&world.far, window, world_wall());
    world_pump(world_is_up);
}

void world_lose_connection(void)
{
    far_end_hang_up(&world.far);
    world_pump(world_is_down);
    world_pump(world_far_sees_no_one);
}
