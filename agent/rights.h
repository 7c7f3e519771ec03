/* rights - what the agent may not do for want of a capability. What it cannot do without, it finds
 * out by trying: opening the sampler says so. */
#ifndef AGENT_RIGHTS_H
#define AGENT_RIGHTS_H

const char *rights_degraded(void); /* in words; NULL: nothing is amiss */

#endif
