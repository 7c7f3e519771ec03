/* distribution - both distributions are cases of the regularised incomplete beta function. */
#include "coordinator/query/distribution.h"

#include <math.h>

enum { FRACTION_TERMS_MAX = 500, NEWTON_STEPS_MAX = 20 };

static const double tiny = 1e-300;

static double away_from_zero(double x)
{
    return fabs(x) < tiny ? tiny : x;
}

/* The continued fraction of I_x(a, b) by Lentz's method (Abramowitz and Stegun 26.5.8). It
 * converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), h = d;

    for (int m = 1; m <= FRACTION_TERMS_MAX; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

        d = 1 / away_from_zero(1 + even * d);
        c = away_from_zero(1 + even / c);
        h *= d * c;
        d = 1 / away_from_zero(1 + odd * d);
        c = away_from_zero(1 + odd / c);
        h *= d * c;
        if (fabs(d * c - 1) < 1e-14)
            break;
    }
    return h;
}

static double log_gamma(double x)
{
    int sign;

    return lgamma_r(x, &sign); /* lgamma writes a global */
}

/* I_x(a, b) for positive a and b. */
static double incomplete_beta(double a, double b, double x)
{
    double front;

    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_two_sided(double t, double degrees)
{
    if (degrees > 1e6) /* the normal, to six digits */
        return erfc(fabs(t) / sqrt(2));
    return incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t));
}

static double student_density(double t, double degrees)
{
    double front = log_gamma((degrees + 1) / 2) - log_gamma(degrees / 2);

    return exp(front - (degrees + 1) / 2 * log1p(t * t / degrees)) / sqrt(degrees * M_PI);
}

/* Cornish and Fisher's expansion (Abramowitz and Stegun 26.7.5) is right to 4 digits from 4
 * degrees of freedom; below, Newton's steps from it. */
double student_quantile_95(double degrees)
{
    const double z = 1.959963984540054;
    double n = 1 / degrees, z3 = pow(z, 3), z5 = pow(z, 5), z7 = pow(z, 7), z9 = pow(z, 9);
    double t = z + n * (z3 + z) / 4 + n * n * (5 * z5 + 16 * z3 + 3 * z) / 96 +
               n * n * n * (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / 384 +
               pow(n, 4) * (79 * z9 + 776 * z7 + 1482 * z5 - 1920 * z3 - 945 * z) / 92160;

    for (int i = 0; degrees < 4 && i < NEWTON_STEPS_MAX; i++) {
        double miss = student_two_sided(t, degrees) - 0.05;

        t += miss / (2 * student_density(t, degrees));
        if (fabs(miss) < 1e-9)
            break;
    }
    return t;
}

double binomial_two_sided(double a, double b, double p)
{
    /* P(at least a of a + b) = I_p(a, b + 1), P(at most a) = I_(1-p)(b, a + 1). */
    double at_least = a > 0 ? incomplete_beta(a, b + 1, p) : 1;
    double at_most = b > 0 ? incomplete_beta(b, a + 1, 1 - p) : 1;

    return fmin(1, 2 * fmin(at_least, at_most));
}
