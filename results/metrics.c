/* SPDX-License-Identifier: Apache-2.0 */
#include "results/metrics.h"

#include <stdlib.h>
#include <string.h>

double metrics_pass_at_k(int64_t n, int64_t c, int64_t k)
{
    if (k < 1 || k > n || c < 0 || c > n)
        return -1;
    if (n - c < k)
        return 1;
    /* C(n-c, k) / C(n, k) = product over i = n-c+1..n of (1 - k / i): factors in 0..1 */
    double none = 1;
    for (int64_t i = n - c + 1; i <= n; i++)
        none *= (double)(i - k) / (double)i;
    return 1 - none;
}

double metrics_estimate(const struct metrics_at_k *m)
{
    return m->counted > 0 ? m->sum / (double)m->counted : -1;
}

int metrics_init(struct metrics *m, int k_max, double p, struct pkb_error *err)
{
    memset(m, 0, sizeof(*m));
    m->k_max = k_max;
    m->p = p;
    m->pass = calloc((size_t)k_max, sizeof(*m->pass));
    m->fast = calloc((size_t)k_max, sizeof(*m->fast));
    if (m->pass && m->fast)
        return 0;
    metrics_clear(m);
    return pkb_error_set(err, "out of memory for metrics up to k = %d", k_max);
}

void metrics_clear(struct metrics *m)
{
    if (!m)
        return;
    free(m->pass);
    free(m->fast);
    memset(m, 0, sizeof(*m));
}

static enum verdict is_correct(const struct metrics_sample *s, double p)
{
    (void)p;
    if (s->outcome < 0 || !outcome_is_final((enum outcome)s->outcome))
        return VERDICT_UNKNOWN;
    return s->outcome == OUTCOME_CORRECT ? VERDICT_YES : VERDICT_NO;
}

static enum verdict is_fast(const struct metrics_sample *s, double p)
{
    enum verdict v = is_correct(s, p);
    if (v != VERDICT_YES)
        return v;
    if (!s->timed)
        return VERDICT_UNKNOWN;
    return s->speedup > p ? VERDICT_YES : VERDICT_NO;
}

typedef enum verdict question_fn(const struct metrics_sample *s, double p);

/* The first k samples of the task decide the counts. */
static void count_first(struct metrics_at_k *at, int k, int n, bool good, bool unknown)
{
    if (good)
        at->solved++;
    else if (k > n)
        at->absent++;
    else if (unknown)
        at->undecided++;
    else
        at->failed++;
}

static void estimate(struct metrics_at_k *at, int k, int64_t known, int64_t good)
{
    at->latest = metrics_pass_at_k(known, good, k);
    if (known < k) {
        at->short_of_k++;
        return;
    }
    at->counted++;
    at->sum += at->latest;
}

static void ask(struct metrics_at_k *at, const struct metrics *m, question_fn *question, const struct metrics_sample *samples,
                int n)
{
    int64_t known = 0, good = 0;
    for (int i = 0; i < n; i++) {
        enum verdict v = question(&samples[i], m->p);
        known += v != VERDICT_UNKNOWN;
        good += v == VERDICT_YES;
    }
    bool any_good = false, any_unknown = false;
    for (int k = 1; k <= m->k_max; k++) {
        enum verdict v = k <= n ? question(&samples[k - 1], m->p) : VERDICT_NO;
        any_good = any_good || v == VERDICT_YES;
        any_unknown = any_unknown || v == VERDICT_UNKNOWN;
        count_first(&at[k - 1], k, n, any_good, any_unknown);
        estimate(&at[k - 1], k, known, good);
    }
}

void metrics_add_task(struct metrics *m, const struct metrics_sample *samples, int n)
{
    m->tasks++;
    if (n > m->samples)
        m->samples = n;
    for (int i = 0; i < n; i++) {
        const struct metrics_sample *s = &samples[i];
        bool known = is_correct(s, 0) != VERDICT_UNKNOWN;
        m->cells++;
        m->known += known;
        m->unknown += !known;
        if (s->outcome < 0)
            m->missing++;
        else
            m->outcome[s->outcome]++;
        m->untimed += s->outcome == OUTCOME_CORRECT && !s->timed;
    }
    ask(m->pass, m, is_correct, samples, n);
    ask(m->fast, m, is_fast, samples, n);
}
