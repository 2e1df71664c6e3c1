/* SPDX-License-Identifier: Apache-2.0 */
/* What pkb doctor makes of the reports of a world. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "orchestrator/doctor.h"

#define REPORT(host, clock, folder, shm, gpus)                                                                                   \
    "{\"rank\":0,\"host\":\"" host "\",\"clock\":" clock ",\"folder\":\"" folder "\",\"shm_mb\":" shm ",\"gpus\":" gpus "}\n"

/* Two ranks on two nodes unless a row says otherwise. */
static const struct {
    const char *name;
    int ranks;
    bool gpus;
    const char *lines;
    int bad, notes;
    const char *says; /* in the text of some finding */
} rows[] = {
    {"all well", 2, true, REPORT("n1", "100.5", "", "9999", "1") REPORT("n2", "100.6", "", "9999", "1"), 0, 0, "n1 n2"},
    {"one node twice", 2, false, REPORT("n1", "100.5", "", "9999", "0") REPORT("n1", "900.5", "", "9999", "0"), 0, 0,
     "2 ranks by test on n1, "},
    {"a name within a name", 2, false, REPORT("n11", "1.5", "", "9999", "0") REPORT("n1", "1.5", "", "9999", "0"), 0, 0,
     "on n11 n1,"},
    {"clocks", 2, false, REPORT("n1", "100.5", "", "9999", "0") REPORT("n2", "104.0", "", "9999", "0"), 0, 1, "by 3.5 s"},
    {"little memory", 2, false, REPORT("n1", "1.5", "", "64", "0") REPORT("n2", "1.5", "", "9999", "0"), 0, 1, "n1 has 64 MiB"},
    {"no shared folder", 2, false, REPORT("n1", "1.5", "", "9999", "0") REPORT("n2", "1.5", "not shared", "9999", "0"), 1, 0,
     "n2: not shared"},
    {"GPUs are missing", 2, true, REPORT("n1", "1.5", "", "9999", "8") REPORT("n1", "1.5", "", "9999", "1"), 1, 0, "sees 1 GPUs"},
    {"a rank is missing", 2, false, REPORT("n1", "1.5", "", "9999", "0"), 1, 0, "1 of 2 ranks"},
    {"a rank too many", 1, false, REPORT("n1", "1.5", "", "9999", "0") REPORT("n1", "1.5", "", "9999", "0"), 1, 0,
     "2 of 1 ranks"},
    {"no line", 2, false, "", 1, 0, "0 of 2 ranks"},
    {"no JSON", 1, false, "module loaded\n" REPORT("n1", "1.5", "", "9999", "0"), 1, 0, "0 of 1 ranks"},
    {"no clock", 1, false, "{\"rank\":0,\"host\":\"n1\",\"folder\":\"\",\"shm_mb\":1,\"gpus\":0}\n", 1, 0, "0 of 1 ranks"},
};

static void reports(void **state)
{
    (void)state;
    static const struct launcher launcher = {.name = "test"};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static struct doctor d;
        struct doctor_world w = {.launcher = &launcher, .ranks = rows[i].ranks, .gpus = rows[i].gpus};
        int notes = 0;
        bool said = false;
        d = (struct doctor){.n = 0};
        doctor_judge_reports(&d, &w, rows[i].lines);
        for (size_t k = 0; k < d.n; k++) {
            notes += d.list[k].state == DOCTOR_NOTE;
            said = said || strstr(d.list[k].text, rows[i].says);
        }
        if (d.bad != rows[i].bad || notes != rows[i].notes || !said)
            fail_msg("%s: %d bad, %d notes, %s", rows[i].name, d.bad, notes, said ? "said" : "not said");
    }
}

static void too_many_findings(void **state)
{
    (void)state;
    static struct doctor d;
    for (int i = 0; i < 1000; i++)
        doctor_add(&d, DOCTOR_BAD, "test", "", "%d", i);
    assert_int_equal(d.bad, 1000);
    assert_true(d.n <= sizeof(d.list) / sizeof(d.list[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports),
        cmocka_unit_test(too_many_findings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
