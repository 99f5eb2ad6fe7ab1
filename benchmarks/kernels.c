/* The chain in hand-written C: Hertz, Ma-Liu, and a hysteresis dashpot, each in several forms.
 *
 * Scheme, front, and order of operations are the engine's, so that the results are bit-identical; the front is checked before each step.
 * Each form has two variants. "bare" stores only displacements and velocities, and all beads and contacts are equal. "keep" works like
 * the engine: it reads masses, gaps, and coefficients of each bead and contact from arrays, and stores for every contact the force of the
 * step, the largest force, and the largest overlap.
 *
 * Body 0 and the bodies after the last one are padding at rest, one metre away; contact k joins bodies k and k + 1. Arrays are padded to
 * complete vectors plus one more.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

#define OPEN 1e-60
#define VECTOR 8
#define INLINE static inline __attribute__((always_inline))

enum { HERTZ, MA_LIU, DASHPOT };

struct chain {
    long n_steps, front, last_contact, width;
    double dt, kick, inverse_mass, stiffness, damping, lowest_force; /* of all bodies, for the bare forms; kick is dt/m */
    double *u, *v, *a;
    const double *start, *kicks, *inverse_masses, *stiffnesses, *dampings;
    double *row, *peak, *reach;
    double *limit, *residual, *unloading; /* Ma-Liu's history; coefficients in the order of the law's file, then four guarded windows */
    const double *ma_liu;
};

/* -------------------------------------------------------------------------------- log, exp and pow of the laws, bit-identical */

/* granchain/contact/elementary.py explains each step. */
#define LARGEST 0x1.fffffffffffffp1023
#define SMALLEST 0x1p-1022
#define LN2_HIGH 0x1.62e42feep-1
#define LN2_LOW 1.9082149292705877e-10
#define NEAREST 0x1.8p52

INLINE uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

INLINE double double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* x = m 2^k, sqrt(1/2) <= m < sqrt 2. */
INLINE double parts(double x, double *k)
{
    const uint64_t root_of_half = 0x3fe6a09e667f3bcd, one = 0x3ffULL << 52;
    uint64_t bits = bits_of(x) + (one - root_of_half);
    *k = double_of(bits >> 52 | 0x433ULL << 52) - (0x1p52 + 1023.0);
    return double_of((bits & ((1ULL << 52) - 1)) + root_of_half);
}

INLINE double power_of_two(double n)
{
    return double_of(bits_of(n + (0x1p52 + 1023.0)) << 52);
}

INLINE double leading(double x)
{
    return double_of(bits_of(x) & ~0ULL << 27);
}

INLINE double log_series(double z)
{
    double w = z * z;
    double first = (2.0 / 5.0 + z * (2.0 / 7.0)) + w * (2.0 / 9.0 + z * (2.0 / 11.0));
    double second = (2.0 / 13.0 + z * (2.0 / 15.0)) + w * (2.0 / 17.0 + z * (2.0 / 19.0));
    return z * first + (z * (w * w)) * (second + (w * w) * (2.0 / 21.0));
}

INLINE double law_log(double x)
{
    double k, m = parts(x, &k), f = m - 1.0, s = f / (m + 1.0), square = 0.5 * f * f, z = s * s;
    double cube = s * z, before = square - ((s * square + cube * (2.0 / 3.0)) + k * LN2_LOW);
    double value = k * LN2_HIGH - ((before - cube * log_series(z)) - f);
    value = x >= SMALLEST ? value : x >= 0.0 ? -INFINITY : NAN;
    return x <= LARGEST ? value : x;
}

INLINE double exp_of_two(double high, double low)
{
    double inside = high < 709.6 ? high : 709.6;
    inside = inside > -708.8 ? inside : -708.8;
    low = inside == high ? low : 0.0;
    double n = (inside * 1.4426950408889634 + NEAREST) - NEAREST;
    double r = (inside - n * LN2_HIGH) + (low - n * LN2_LOW), w = r * r, q = w * w;
    double first = (1.0 / 2.0 + r * (1.0 / 6.0)) + w * (1.0 / 24.0 + r * (1.0 / 120.0));
    double second = (1.0 / 720.0 + r * (1.0 / 5040.0)) + w * (1.0 / 40320.0 + r * (1.0 / 362880.0));
    double third = (1.0 / 3628800.0 + r * (1.0 / 39916800.0)) + w * (1.0 / 479001600.0 + r * (1.0 / 6227020800.0));
    return (1.0 + (r + w * ((first + q * second) + (q * q) * third))) * power_of_two(n);
}

INLINE double law_exp(double x)
{
    return x == x ? exp_of_two(x, 0.0) : x;
}

INLINE double law_power(double x, double y)
{
    double k, m = parts(x, &k), f = m - 1.0, inverse = 1.0 / (m + 1.0), s = f * inverse;
    double s_high = leading(s), m_high = leading(m);
    double s_low = ((f - s_high * (m_high + 1.0)) - s_high * (m - m_high)) * inverse;
    double z = s_high * s_high + s_low * (2.0 * s_high + s_low), cube = s_high * z;
    double near = 1.0 / 6.0 + z * (2.0 / 5.0), series = 1.0 / 6.0 + log_series(s * s);
    double whole = k * LN2_HIGH, first = 2.0 * s_high, high = whole + first;
    double rest = 0.5 * cube + ((first - (high - whole)) + k * LN2_LOW);
    double low = rest + ((cube + s_low * z) * series + s_low * (2.0 + 0.5 * z));
    high = x >= SMALLEST ? high : -LARGEST;
    high = x <= LARGEST ? high : LARGEST;
    double log_high = leading(high + (rest + cube * near)), log_low = (high - log_high) + low, y_high = leading(y);
    double value = exp_of_two(y_high * log_high, y * log_low + (y - y_high) * log_high);
    return x >= y - y ? value : NAN;
}

/* Apply the functions to n numbers, for the tests. */
void elementary(double *log_x, double *exp_x, double *power_x_y, const double *x, const double *y, long n)
{
    for (long i = 0; i < n; i++) {
        log_x[i] = law_log(x[i]);
        exp_x[i] = law_exp(x[i]);
        power_x_y[i] = law_power(x[i], y[i]);
    }
}

/* ------------------------------------------------------------------------------------------------------------ Ma and Liu */

static double loading(double d, const double *c)
{
    if (d < c[0])
        return c[2] * (d * sqrt(d));
    if (d < c[1])
        return d * (c[3] + c[4] * law_log(d / c[0])) + c[5];
    return c[6] + c[7] * (d - c[1]);
}

static double loading_work(double d, const double *c)
{
    if (d < c[0])
        return 0.4 * c[2] * (d * d * sqrt(d));
    if (d < c[1]) {
        double l = law_log(d / c[0]);
        return c[9] + (c[3] / 2.0 - c[4] / 4.0) * (d * d - c[0] * c[0]) + c[4] / 2.0 * (d * d) * l + c[5] * (d - c[0]);
    }
    return c[10] + c[6] * (d - c[1]) + c[7] / 2.0 * ((d - c[1]) * (d - c[1]));
}

static double opens_at(double d, double force, const double *c)
{
    double natural = 0.0;
    if (d >= c[1])
        natural = d - law_power(force / c[8], 2.0 / 3.0);
    else if (d >= c[0])
        natural = d - force / (c[2] * sqrt(d));
    natural = natural < 0.0 ? 0.0 : natural;
    for (const double *window = c + 11; window < c + 23; window += 3)
        if (window[0] < d && d < window[1]) {
            double opens = d - 2.5 * (loading_work(d, c) - window[2]) / force;
            return opens > 0.0 ? opens : 0.0;
        }
    return natural;
}

/* Rare event, a contact on its virgin curve: shift the smooth branch so that it passes through the force. */
static __attribute__((noinline)) void renew(struct chain *s, long k, double d)
{
    double force = loading(d, s->ma_liu), opens = opens_at(d, force, s->ma_liu), x = d - opens;
    s->limit[k] = d;
    s->residual[k] = opens;
    s->unloading[k] = force / (x * sqrt(x));
}

/* ------------------------------------------------------------------------------------------------------------- plain C */

/* Tell the compiler that the arrays do not overlap. */
#define HERE                                                                                                                  \
    double *restrict u = s->u, *restrict v = s->v, *restrict a = s->a, *restrict row = s->row + 1; /* row[-1] = 0 */           \
    double *restrict peak = s->peak, *restrict reach = s->reach;                                                              \
    const double *restrict start = s->start, *restrict kicks = s->kicks, *restrict inverse_masses = s->inverse_masses;        \
    const double *restrict stiffnesses = law == MA_LIU ? s->unloading : s->stiffnesses, *restrict dampings = s->dampings;     \
    const double *restrict limit = s->limit, *restrict residual = s->residual;                                                \
    const double dt = s->dt, kick = s->kick, inverse_mass = s->inverse_mass, lowest = s->lowest_force;                        \
    const double stiffness = s->stiffness, damping = s->damping;                                                              \
    (void)a, (void)peak, (void)reach, (void)start, (void)kicks, (void)inverse_masses, (void)stiffnesses, (void)dampings;      \
    (void)limit, (void)residual, (void)kick, (void)inverse_mass, (void)lowest, (void)stiffness, (void)damping, (void)row

/* Overlap and force of contact k, and the motion of a body due to the forces at its sides. */
#define OVERLAP(k) (u[k] - u[(k) + 1] + (keep ? start[k] : 0.0))
#define RATE(k) (law == DASHPOT ? v[k] - v[(k) + 1] + half_dt * (a[k] - a[(k) + 1]) : 0.0)
#define FORCE(k, d, rate)                                                                                                     \
    force_of(law, d, rate, keep || law == MA_LIU ? stiffnesses[k] : stiffness, keep ? dampings[k] : damping,                  \
             law == MA_LIU ? residual[k] : 0.0, lowest)
#define MOVE(k, net, scale, drift)                                                                                            \
    if (law == DASHPOT) {                                                                                                     \
        a[k] = (keep ? inverse_masses[k] : inverse_mass) * (net);                                                             \
        v[k] += (scale) * (dt * a[k]);                                                                                        \
    } else {                                                                                                                  \
        v[k] += (scale) * ((keep ? kicks[k] : kick) * (net));                                                                 \
    }                                                                                                                         \
    u[k] += (drift) * v[k]

INLINE double force_of(int law, double d, double rate, double stiffness, double damping, double residual, double lowest)
{
    double x = law == MA_LIU ? d - residual : d;
    x = x > OPEN ? x : 0.0;
    double f = stiffness * (x * sqrt(x));
    if (law == DASHPOT) {
        f = f * (1.0 + damping * rate);
        f = f > lowest ? f : lowest;
    }
    return f;
}

/* Forces in one pass, with the rare events corrected after it; kick and drift in a second pass. */
INLINE void two_passes(struct chain *s, int law, int keep, long contacts, double half_dt, double scale, double drift)
{
    HERE;
    long events = 0;
#pragma GCC ivdep
    for (long k = 0; k < contacts; k++) {
        double d = OVERLAP(k), rate = RATE(k);
        row[k] = FORCE(k, d, rate);
        if (keep)
            reach[k] = d > reach[k] ? d : reach[k];
        if (law == MA_LIU)
            events += d > limit[k];
    }
    for (long k = contacts - 1; events > 0; k--) {
        double d = OVERLAP(k);
        if (d > s->limit[k]) {
            renew(s, k, d);
            row[k] = force_of(law, d, 0.0, s->unloading[k], 0.0, s->residual[k], 0.0);
            events--;
        }
    }
#pragma GCC ivdep
    for (long k = 0; k < contacts; k++) {
        if (keep)
            peak[k] = row[k] > peak[k] ? row[k] : peak[k];
        MOVE(k, row[k - 1] - row[k], scale, drift);
    }
}

/* One pass; the force on a body's left side is carried in a scalar. Hertz and dashpot have no events. */
INLINE void carried(struct chain *s, int law, int keep, long contacts)
{
    HERE;
    const double half_dt = 0.5 * dt;
    double left = 0.0;
    for (long k = 0; k < contacts; k++) {
        double d = OVERLAP(k), rate = RATE(k), f = FORCE(k, d, rate);
        if (keep) {
            row[k] = f;
            peak[k] = f > peak[k] ? f : peak[k];
            reach[k] = d > reach[k] ? d : reach[k];
        }
        MOVE(k, left - f, 1.0, dt);
        left = f;
    }
}

/* ------------------------------------------------------------------------------------------------------- AVX-512 by hand */

#ifdef __AVX512F__

/* Square root if the mask is set, otherwise 0. With rsqrt14, of relative error below 2^-14: e = 1 - x y^2 is below 2^-13, y times the
 * first four terms of (1 - e)^(-1/2) is off by (35/128) e^4, below 2^-53, and one residual step rounds s as the square root does. */
INLINE __m512d root_of(__m512d x, __mmask8 where, int reciprocal)
{
    if (!reciprocal)
        return _mm512_maskz_sqrt_pd(where, x);
    const __m512d one = _mm512_set1_pd(1.0), half = _mm512_set1_pd(0.5);
    __m512d y = _mm512_maskz_rsqrt14_pd(where, x);
    __m512d e = _mm512_fnmadd_pd(_mm512_mul_pd(x, y), y, one);
    __m512d series = _mm512_fmadd_pd(_mm512_fmadd_pd(_mm512_set1_pd(0.3125), e, _mm512_set1_pd(0.375)), e, half);
    y = _mm512_fmadd_pd(_mm512_mul_pd(y, e), series, y);
    __m512d s = _mm512_mul_pd(x, y);
    return _mm512_fmadd_pd(_mm512_mul_pd(half, y), _mm512_fnmadd_pd(s, s, x), s);
}

/* Entries k + 1..k + 8 from two complete vectors, and the forces on the left from two complete vectors of forces. */
INLINE __m512d next_of(__m512d here, __m512d after)
{
    return _mm512_castsi512_pd(_mm512_alignr_epi64(_mm512_castpd_si512(after), _mm512_castpd_si512(here), 1));
}

INLINE __m512d left_of(__m512d before, __m512d here)
{
    return _mm512_castsi512_pd(_mm512_alignr_epi64(_mm512_castpd_si512(here), _mm512_castpd_si512(before), VECTOR - 1));
}

INLINE void vectors(struct chain *s, int law, int keep, int reciprocal, long contacts)
{
    double *restrict u = s->u, *restrict v = s->v, *restrict a = s->a;
    const __m512d dt = _mm512_set1_pd(s->dt), half_dt = _mm512_set1_pd(0.5 * s->dt), open = _mm512_set1_pd(OPEN);
    const __m512d one = _mm512_set1_pd(1.0), lowest = _mm512_set1_pd(s->lowest_force);
    const __m512d all_stiffness = _mm512_set1_pd(s->stiffness), all_damping = _mm512_set1_pd(s->damping);
    const __m512d all_kick = _mm512_set1_pd(s->kick), all_inverse_mass = _mm512_set1_pd(s->inverse_mass);
    __m512d before = _mm512_setzero_pd(), here = _mm512_load_pd(u);
    __m512d v_here = _mm512_load_pd(v), a_here = _mm512_load_pd(a);
    for (long k = 0; k < contacts; k += VECTOR) {
        __m512d after = _mm512_load_pd(u + k + VECTOR), v_after = v_here, a_after = a_here;
        __m512d d = _mm512_sub_pd(here, next_of(here, after)), x;
        __m512d stiffness = keep && law != MA_LIU ? _mm512_load_pd(s->stiffnesses + k) : all_stiffness;
        if (keep)
            d = _mm512_add_pd(d, _mm512_load_pd(s->start + k));
        x = d;
        if (law == MA_LIU) {
            unsigned events = _mm512_cmp_pd_mask(d, _mm512_load_pd(s->limit + k), _CMP_GT_OQ);
            if (__builtin_expect(events != 0, 0)) {
                double overlap[VECTOR] __attribute__((aligned(64)));
                _mm512_store_pd(overlap, d);
                for (; events != 0; events &= events - 1)
                    renew(s, k + __builtin_ctz(events), overlap[__builtin_ctz(events)]);
            }
            x = _mm512_sub_pd(d, _mm512_load_pd(s->residual + k));
            stiffness = _mm512_load_pd(s->unloading + k);
        }
        __mmask8 closed = _mm512_cmp_pd_mask(x, open, _CMP_GT_OQ);
        x = _mm512_maskz_mov_pd(closed, x);
        __m512d f = _mm512_mul_pd(stiffness, _mm512_mul_pd(x, root_of(x, closed, reciprocal)));
        if (law == DASHPOT) {
            v_after = _mm512_load_pd(v + k + VECTOR);
            a_after = _mm512_load_pd(a + k + VECTOR);
            __m512d da = _mm512_sub_pd(a_here, next_of(a_here, a_after));
            __m512d rate = _mm512_add_pd(_mm512_sub_pd(v_here, next_of(v_here, v_after)), _mm512_mul_pd(half_dt, da));
            __m512d damping = keep ? _mm512_load_pd(s->dampings + k) : all_damping;
            f = _mm512_max_pd(_mm512_mul_pd(f, _mm512_add_pd(one, _mm512_mul_pd(damping, rate))), lowest);
        } else {
            v_here = _mm512_load_pd(v + k);
        }
        if (keep) {
            _mm512_storeu_pd(s->row + 1 + k, f);
            _mm512_store_pd(s->peak + k, _mm512_max_pd(f, _mm512_load_pd(s->peak + k)));
            _mm512_store_pd(s->reach + k, _mm512_max_pd(d, _mm512_load_pd(s->reach + k)));
        }
        __m512d net = _mm512_sub_pd(left_of(before, f), f);
        if (law == DASHPOT) {
            __m512d acceleration = _mm512_mul_pd(keep ? _mm512_load_pd(s->inverse_masses + k) : all_inverse_mass, net);
            _mm512_store_pd(a + k, acceleration);
            v_here = _mm512_add_pd(v_here, _mm512_mul_pd(dt, acceleration));
        } else {
            v_here = _mm512_add_pd(v_here, _mm512_mul_pd(keep ? _mm512_load_pd(s->kicks + k) : all_kick, net));
        }
        _mm512_store_pd(v + k, v_here);
        _mm512_store_pd(u + k, _mm512_add_pd(here, _mm512_mul_pd(dt, v_here)));
        before = f;
        here = after;
        v_here = v_after;
        a_here = a_after;
    }
}

#endif

/* ------------------------------------------------------------------------------------------------------------ time loop */

/* Number of contacts of the next step: up to the front, which moves by at most one, in complete vectors. */
static long contacts_of(struct chain *s)
{
    while (s->front < s->last_contact && s->u[s->front] - s->u[s->front + 1] + s->start[s->front] > OPEN)
        s->front++;
    long contacts = (s->front + 1 + VECTOR) / VECTOR * VECTOR;
    return contacts < s->width ? contacts : s->width;
}

/* Half a kick at both ends. */
#define FORM(name, law, sweep)                                                            \
    void name(struct chain *s)                                                            \
    {                                                                                     \
        two_passes(s, law, 1, contacts_of(s), 0.0, 0.5, s->dt);                           \
        for (long step = 1; step < s->n_steps; step++) {                                  \
            long contacts = contacts_of(s);                                               \
            if (contacts % VECTOR != 0)                                                   \
                __builtin_unreachable();                                                  \
            sweep;                                                                        \
        }                                                                                 \
        two_passes(s, law, 1, contacts_of(s), 0.5 * s->dt, 0.5, 0.0);                     \
    }
#define PAIR(name, law, sweep_bare, sweep_keep) FORM(name##_bare, law, sweep_bare) FORM(name##_keep, law, sweep_keep)
#define TWO_PASSES(keep, law) two_passes(s, law, keep, contacts, 0.5 * s->dt, 1.0, s->dt)

PAIR(hertz_two_passes, HERTZ, TWO_PASSES(0, HERTZ), TWO_PASSES(1, HERTZ))
PAIR(ma_liu_two_passes, MA_LIU, TWO_PASSES(0, MA_LIU), TWO_PASSES(1, MA_LIU))
PAIR(dashpot_two_passes, DASHPOT, TWO_PASSES(0, DASHPOT), TWO_PASSES(1, DASHPOT))
PAIR(hertz_carried, HERTZ, carried(s, HERTZ, 0, contacts), carried(s, HERTZ, 1, contacts))
PAIR(dashpot_carried, DASHPOT, carried(s, DASHPOT, 0, contacts), carried(s, DASHPOT, 1, contacts))

#ifdef __AVX512F__
#define VECTORS(name, law)                                                                                                   \
    PAIR(name##_vectors_sqrt, law, vectors(s, law, 0, 0, contacts), vectors(s, law, 1, 0, contacts))                         \
    PAIR(name##_vectors_rsqrt, law, vectors(s, law, 0, 1, contacts), vectors(s, law, 1, 1, contacts))

VECTORS(hertz, HERTZ)
VECTORS(ma_liu, MA_LIU)
VECTORS(dashpot, DASHPOT)
#endif

/* ---------------------------------------------------------------------------------------------------------------- floor */

/* Only a square root of each of n numbers; the sum keeps them away from 1. */
void roots_sqrt(double *restrict x, long n, long passes)
{
    for (long pass = 0; pass < passes; pass++)
        for (long i = 0; i < n; i++)
            x[i] = sqrt(x[i] + 0.5);
}

#ifdef __AVX512F__
void roots_rsqrt(double *restrict x, long n, long passes)
{
    for (long pass = 0; pass < passes; pass++)
        for (long i = 0; i < n; i += VECTOR)
            _mm512_store_pd(x + i, root_of(_mm512_add_pd(_mm512_load_pd(x + i), _mm512_set1_pd(0.5)), 0xff, 1));
}

/* Compute the root of each number in both ways, for the tests. */
void root_by_rsqrt(const double *x, double *root, long n)
{
    for (long i = 0; i < n; i += VECTOR) {
        __m512d d = _mm512_loadu_pd(x + i);
        _mm512_storeu_pd(root + i, root_of(d, _mm512_cmp_pd_mask(d, _mm512_set1_pd(OPEN), _CMP_GT_OQ), 1));
    }
}
#endif

/* ---------------------------------------------------------------------------------------------------------- across chains */

#ifdef __AVX512F__

/* Groups of VECTOR chains with interleaved entries: column bead * VECTOR + index in the group; contact k's force in column k + 1. */
struct side {
    long groups, columns, n_steps, front, last_contact, width;
    double *u, *v, *row, *peak, *reach, *limit, *residual, *unloading;
    const double *start, *kicks, *stiffnesses, *dts, *ma_liu;
};

INLINE void renew_column(struct side *s, long k, double d)
{
    double force = loading(d, s->ma_liu), opens = opens_at(d, force, s->ma_liu), x = d - opens;
    s->limit[k] = d;
    s->residual[k] = opens;
    s->unloading[k] = force / (x * sqrt(x));
}

static __attribute__((noinline)) void renew_columns(struct side *s, long k, unsigned events, __m512d d)
{
    double overlap[VECTOR] __attribute__((aligned(64)));
    _mm512_store_pd(overlap, d);
    for (; events != 0; events &= events - 1)
        renew_column(s, k + __builtin_ctz(events), overlap[__builtin_ctz(events)]);
}

/* One step of a group; the neighbour and the left force stay in registers. */
INLINE void across_step(struct side *s, int law, long contacts, double scale, int drifts)
{
    const __m512d open = _mm512_set1_pd(OPEN), part = _mm512_set1_pd(scale), dt = _mm512_load_pd(s->dts);
    __m512d left = _mm512_setzero_pd(), here = _mm512_load_pd(s->u);
    for (long k = 0; k < contacts * VECTOR; k += VECTOR) {
        __m512d after = _mm512_load_pd(s->u + k + VECTOR);
        __m512d d = _mm512_add_pd(_mm512_sub_pd(here, after), _mm512_load_pd(s->start + k)), x = d;
        if (law == MA_LIU) {
            unsigned events = _mm512_cmp_pd_mask(d, _mm512_load_pd(s->limit + k), _CMP_GT_OQ);
            if (__builtin_expect(events != 0, 0))
                renew_columns(s, k, events, d);
            x = _mm512_sub_pd(d, _mm512_load_pd(s->residual + k));
        }
        __mmask8 closed = _mm512_cmp_pd_mask(x, open, _CMP_GT_OQ);
        x = _mm512_maskz_mov_pd(closed, x);
        __m512d stiffness = _mm512_load_pd((law == MA_LIU ? s->unloading : s->stiffnesses) + k);
        __m512d f = _mm512_mul_pd(stiffness, _mm512_mul_pd(x, _mm512_sqrt_pd(x)));
        _mm512_store_pd(s->row + k + VECTOR, f);
        _mm512_store_pd(s->peak + k, _mm512_max_pd(f, _mm512_load_pd(s->peak + k)));
        _mm512_store_pd(s->reach + k, _mm512_max_pd(d, _mm512_load_pd(s->reach + k)));
        __m512d kicked = _mm512_mul_pd(_mm512_load_pd(s->kicks + k), _mm512_sub_pd(left, f));
        __m512d v = _mm512_add_pd(_mm512_load_pd(s->v + k), _mm512_mul_pd(part, kicked));
        _mm512_store_pd(s->v + k, v);
        if (drifts)
            _mm512_store_pd(s->u + k, _mm512_add_pd(here, _mm512_mul_pd(dt, v)));
        left = f;
        here = after;
    }
}

/* Number of contacts of the next step, as for a single chain, up to the farthest front. */
INLINE long contacts_across(struct side *s)
{
    for (long place = 0; place < VECTOR; place++)
        while (s->front < s->last_contact &&
               s->u[s->front * VECTOR + place] - s->u[(s->front + 1) * VECTOR + place] + s->start[s->front * VECTOR + place] > OPEN)
            s->front++;
    long contacts = (s->front + 1 + VECTOR) / VECTOR * VECTOR;
    return contacts < s->width ? contacts : s->width;
}

INLINE void across(struct side *all, int law)
{
    for (long group = 0; group < all->groups; group++) {
        struct side here = *all, *s = &here;
        long at = group * all->columns;
        s->u += at, s->v += at, s->row += at, s->peak += at, s->reach += at, s->limit += at, s->residual += at, s->unloading += at;
        s->start += at, s->kicks += at, s->stiffnesses += at, s->dts += at;
        across_step(s, law, contacts_across(s), 0.5, 1);
        for (long step = 1; step < s->n_steps; step++)
            across_step(s, law, contacts_across(s), 1.0, 1);
        across_step(s, law, contacts_across(s), 0.5, 0);
    }
}

void hertz_across(struct side *s) { across(s, HERTZ); }
void ma_liu_across(struct side *s) { across(s, MA_LIU); }

#endif
