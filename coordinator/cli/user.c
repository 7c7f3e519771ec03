#include "coordinator/cli/user.h"

#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

const char *user_name(void)
{
    const char *behind_sudo = getenv("SUDO_USER");
    const struct passwd *user = getpwuid(geteuid());

    if (behind_sudo != NULL && behind_sudo[0] != '\0')
        return behind_sudo;
    return user != NULL ? user->pw_name : "unknown";
}
