/* hop - a shared library to be called through the PLT and to call back. */
#ifndef WORKLOADS_ZOO_HOP_H
#define WORKLOADS_ZOO_HOP_H

/* Calls `callback` two frames further in: hop, hop_inner, callback. */
void hop(void (*callback)(void *), void *argument);

/* So short that calling it often is mostly the PLT's work. */
unsigned hop_short(unsigned x);

#endif
