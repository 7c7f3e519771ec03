/* workers - where work goes that would hold up the loop: threads of somebody else's. */
#ifndef COMMON_WORKERS_H
#define COMMON_WORKERS_H

struct work { /* the submitter's; alive until `done` */
    void (*run)(struct work *w); /* a worker thread */
    void (*done)(struct work *w); /* the loop thread, later */
};

struct workers {
    void (*submit)(void *arg, struct work *w); /* loop thread */
    void *arg;
};

#endif
