/* Asked of the kernel at each call: the agent's capabilities are those that it was started with. */
#include "agent/rights.h"

#include <linux/capability.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* glibc has no wrapper for capget(2). */
static bool have(unsigned capability)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{0}};

    if (syscall(SYS_capget, &header, data) != 0)
        return false;
    return (data[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability)) != 0;
}

const char *rights_degraded(void)
{
    if (have(CAP_SYS_PTRACE))
        return NULL;
    return "processes of other users cannot be read: their stacks have no names; CAP_SYS_PTRACE "
           "lets the agent read them";
}
