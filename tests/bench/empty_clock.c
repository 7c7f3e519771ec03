/* empty_clock - empty_clock HZ: the agent's sampling clock on every CPU with a BPF program that
 * does nothing: the floor under every profiler of this kind. Runs until its standard input ends. */
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>

static const struct bpf_insn nothing[] = {
    {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
    {.code = BPF_JMP | BPF_EXIT},
};

static int attach(int program, int cpu, unsigned long period_ns)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = period_ns,
    };
    int event = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

    if (event < 0 || ioctl(event, PERF_EVENT_IOC_SET_BPF, program) != 0)
        return -1;
    return ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
}

int main(int argc, char **argv)
{
    unsigned long hz = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
    int program;

    if (hz == 0) {
        fprintf(stderr, "usage: empty_clock HZ\n");
        return 2;
    }
    program = bpf_prog_load(BPF_PROG_TYPE_PERF_EVENT, "nothing", "GPL", nothing,
                            sizeof(nothing) / sizeof(nothing[0]), NULL);
    for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++) {
        if (attach(program, cpu, 1000000000 / hz) != 0) {
            perror("empty_clock: attach");
            return 1;
        }
    }
    puts("ready");
    (void)fflush(stdout);
    while (getchar() != EOF)
        continue;
    return 0;
}
