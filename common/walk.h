/* walk - how the walk of a user stack ended. Every sample has one end and none is dropped for it.
 * Numbers are in the ring buffer, on the wire and in the store; never reuse one. BPF programs
 * include this too: no types but this enum. */
#ifndef COMMON_WALK_H
#define COMMON_WALK_H

/* number, NAME, text, what happened */
#define WALK_LIST(X)                                                               \
    X(0, NONE, "none", "there is no user stack: a kernel thread")                  \
    X(1, ROOT, "root", "reached the outermost frame")                              \
    X(2, TRUNCATED, "truncated", "deeper than the limit")                          \
    X(3, UNREADABLE, "unreadable", "the stack's memory could not be read")         \
    X(4, UNMAPPED, "unmapped", "led to an address that holds no code")             \
    X(5, UNSUPPORTED, "unsupported", "a rule that the unwind tables cannot hold")  \
    X(6, STUCK, "stuck", "the next frame lay no further out")                      \
    X(7, LOST, "lost", "code without an unwind table or a frame pointer to go by") \
    X(8, UNKNOWN, "unknown", "the process was not known yet and its stack not copied")

enum walk_end {
#define X(number, NAME, text, help) WALK_##NAME = (number),
    WALK_LIST(X)
#undef X
        WALK_ENDS
};

#endif
