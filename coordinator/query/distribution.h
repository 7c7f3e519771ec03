/* distribution - tails of Student's t and of the binomial. Pure arithmetic; any thread. */
#ifndef COORDINATOR_QUERY_DISTRIBUTION_H
#define COORDINATOR_QUERY_DISTRIBUTION_H

/* Probability that |T| exceeds |t|. `degrees` of freedom: positive; INFINITY is the normal. */
double student_two_sided(double t, double degrees);
/* The value that |T| exceeds with probability 5 %. `degrees`: at least 1. */
double student_quantile_95(double degrees);
/* Two-sided probability, at most 1, of a split of a + b events as far from p : 1-p as this one when
 * each falls on side a with probability p. Counts need not be whole. */
double binomial_two_sided(double a, double b, double p);

#endif
