/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "problems/problem.h"

/* The one list of all problems, by id. */
#define PROBLEMS(X)                                                                                                              \
    X(01)                                                                                                                        \
    X(02)                                                                                                                        \
    X(03)                                                                                                                        \
    X(04)                                                                                                                        \
    X(05)                                                                                                                        \
    X(06)                                                                                                                        \
    X(07)                                                                                                                        \
    X(08)                                                                                                                        \
    X(09)                                                                                                                        \
    X(10)                                                                                                                        \
    X(11)                                                                                                                        \
    X(12)                                                                                                                        \
    X(13)                                                                                                                        \
    X(14)                                                                                                                        \
    X(15)                                                                                                                        \
    X(16)                                                                                                                        \
    X(17)                                                                                                                        \
    X(18)                                                                                                                        \
    X(19)                                                                                                                        \
    X(20)                                                                                                                        \
    X(21)                                                                                                                        \
    X(22)                                                                                                                        \
    X(23)                                                                                                                        \
    X(24)                                                                                                                        \
    X(25)                                                                                                                        \
    X(26)                                                                                                                        \
    X(27)                                                                                                                        \
    X(28)                                                                                                                        \
    X(29)                                                                                                                        \
    X(30)                                                                                                                        \
    X(31)                                                                                                                        \
    X(32)                                                                                                                        \
    X(33)                                                                                                                        \
    X(34)                                                                                                                        \
    X(35)                                                                                                                        \
    X(36)                                                                                                                        \
    X(37)                                                                                                                        \
    X(38)                                                                                                                        \
    X(39)                                                                                                                        \
    X(40)                                                                                                                        \
    X(41)                                                                                                                        \
    X(42)                                                                                                                        \
    X(43)                                                                                                                        \
    X(44)                                                                                                                        \
    X(45)                                                                                                                        \
    X(46)                                                                                                                        \
    X(47)                                                                                                                        \
    X(48)                                                                                                                        \
    X(49)                                                                                                                        \
    X(50)                                                                                                                        \
    X(51)                                                                                                                        \
    X(52)                                                                                                                        \
    X(53)                                                                                                                        \
    X(54)                                                                                                                        \
    X(55)                                                                                                                        \
    X(56)                                                                                                                        \
    X(57)                                                                                                                        \
    X(58)                                                                                                                        \
    X(59)                                                                                                                        \
    X(60)                                                                                                                        \
    X(61)                                                                                                                        \
    X(62)                                                                                                                        \
    X(63)                                                                                                                        \
    X(64)                                                                                                                        \
    X(65)                                                                                                                        \
    X(66)                                                                                                                        \
    X(67)                                                                                                                        \
    X(68)                                                                                                                        \
    X(69)                                                                                                                        \
    X(70)                                                                                                                        \
    X(71)                                                                                                                        \
    X(72)                                                                                                                        \
    X(73)                                                                                                                        \
    X(74)                                                                                                                        \
    X(75)                                                                                                                        \
    X(76)                                                                                                                        \
    X(77)                                                                                                                        \
    X(78)                                                                                                                        \
    X(79)                                                                                                                        \
    X(80)                                                                                                                        \
    X(81)                                                                                                                        \
    X(82)                                                                                                                        \
    X(83)                                                                                                                        \
    X(84)                                                                                                                        \
    X(85)                                                                                                                        \
    X(86)                                                                                                                        \
    X(87)

#define DECLARE(n) extern const struct problem problem_##n;
#define ENTRY(n) &problem_##n,

PROBLEMS(DECLARE)

const struct problem *const problem_registry[] = {PROBLEMS(ENTRY) NULL};

const struct problem *problem_by_id(int id)
{
    for (const struct problem *const *p = problem_registry; *p; p++) {
        if ((*p)->id == id)
            return *p;
    }
    return NULL;
}

const struct problem *problem_by_name(const char *name)
{
    char *end;
    long id = strtol(name, &end, 10);
    if (end != name && *end == '\0' && name[0] >= '0' && name[0] <= '9')
        return id > 0 && id < 1000 ? problem_by_id((int)id) : NULL;
    for (const struct problem *const *p = problem_registry; *p; p++) {
        const char *full = (*p)->name;
        if (strcmp(full, name) == 0 || strcmp(strchr(full, '_') + 1, name) == 0)
            return *p;
    }
    return NULL;
}
