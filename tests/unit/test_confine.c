/* SPDX-License-Identifier: Apache-2.0 */
/* What a confined process can still do: util/confine.h. Each row in a child of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/folder.h"
#include "util/confine.h"

#define WORKED 0
#define FAILED 1
#define BROKEN 2 /* the test, not what it tests */

static char open_folder[160], closed_folder[160];

static const char *in(const char *folder, const char *name)
{
    static char paths[4][300];
    static int turn;
    char *path = paths[turn++ % 4];
    (void)snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

static int make_folders(void **state)
{
    if (test_folder_make(state) != 0)
        return -1;
    (void)snprintf(open_folder, sizeof(open_folder), "%s/open", test_folder);
    (void)snprintf(closed_folder, sizeof(closed_folder), "%s/closed", test_folder);
    if (mkdir(open_folder, 0700) < 0 || mkdir(closed_folder, 0700) < 0)
        return -1;
    for (int i = 0; i < 2; i++) {
        int fd = open(in(i ? open_folder : closed_folder, "there"), O_CREAT | O_WRONLY, 0600);
        if (fd < 0 || write(fd, "text", 4) != 4 || close(fd) < 0)
            return -1;
    }
    return symlink(closed_folder, in(open_folder, "link"));
}

/* ---- deeds: 0 or more when they work ----------------------------------------------------------------------------------- */

static int reads(void)
{
    return open(in(closed_folder, "there"), O_RDONLY);
}
static int writes(void)
{
    return open(in(open_folder, "there"), O_WRONLY | O_TRUNC);
}
static int makes(void)
{
    return open(in(open_folder, "new"), O_CREAT | O_WRONLY, 0600);
}
static int renames(void)
{
    return rename(in(open_folder, "there"), in(open_folder, "other"));
}
static int removes(void)
{
    return unlink(in(open_folder, "there"));
}
static int uses_null(void)
{
    return open("/dev/null", O_WRONLY);
}
static int starts(void)
{
    return system("exit 0") == 0 ? 0 : -1;
}
static int signals_itself(void)
{
    return kill(getpid(), SIGCONT);
}
static int has_descriptor(void)
{
    return (int)write(STDERR_FILENO, "", 0);
}

static int writes_elsewhere(void)
{
    return open(in(closed_folder, "there"), O_WRONLY);
}
static int appends_elsewhere(void)
{
    return open(in(closed_folder, "there"), O_WRONLY | O_APPEND);
}
static int makes_elsewhere(void)
{
    return open(in(closed_folder, "new"), O_CREAT | O_WRONLY, 0600);
}
static int removes_elsewhere(void)
{
    return unlink(in(closed_folder, "there"));
}
static int folder_elsewhere(void)
{
    return mkdir(in(closed_folder, "folder"), 0700);
}
static int moves_in(void)
{
    return rename(in(closed_folder, "there"), in(open_folder, "stolen"));
}
static int moves_out(void)
{
    return rename(in(open_folder, "there"), in(closed_folder, "there"));
}
static int links_in(void)
{
    return link(in(closed_folder, "there"), in(open_folder, "linked"));
}
static int through_a_link(void)
{
    return open(in(open_folder, "link/there"), O_WRONLY);
}
static int above(void)
{
    return open(in(open_folder, "../closed/there"), O_WRONLY);
}
static int a_device(void)
{
    return mknod(in(open_folder, "null"), S_IFCHR | 0600, 0);
}
static int by_a_child(void)
{
    return system("echo x 2>/dev/null >\"$CLOSED/there\"") == 0 ? 0 : -1;
}
static int again(void)
{
    /* A confined process can only be confined further. */
    const char *all[] = {"/"};
    struct pkb_error err;
    return confine_process(all, 1, &err) == 0 ? writes_elsewhere() : -1;
}
static int traces(void)
{
    return (int)ptrace(PTRACE_ATTACH, getppid(), NULL, NULL);
}
static int opens_memory(void)
{
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)getppid());
    return open(path, O_RDONLY);
}
static int signals(void)
{
    return kill(getppid(), SIGCONT);
}

/* ---- the test -------------------------------------------------------------------------------------------------------- */

static int try(int (*deed)(void), const char *const *folders, size_t n)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        struct pkb_error err;
        if (setenv("CLOSED", closed_folder, 1) < 0 || confine_process(folders, n, &err) != 0)
            _exit(BROKEN);
        _exit(deed() >= 0 ? WORKED : FAILED);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
        return BROKEN;
    return WEXITSTATUS(status);
}

static void test_deeds(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int (*deed)(void);
        int version; /* from which it is forbidden; 0: never */
    } rows[] = {
        {"reads", reads, 0},
        {"writes", writes, 0},
        {"makes", makes, 0},
        {"renames", renames, 0},
        {"removes", removes, 0},
        {"uses_null", uses_null, 0},
        {"starts", starts, 0},
        {"signals_itself", signals_itself, 0},
        {"has_descriptor", has_descriptor, 0},
        {"writes_elsewhere", writes_elsewhere, 1},
        {"appends_elsewhere", appends_elsewhere, 1},
        {"makes_elsewhere", makes_elsewhere, 1},
        {"removes_elsewhere", removes_elsewhere, 1},
        {"folder_elsewhere", folder_elsewhere, 1},
        {"moves_in", moves_in, 1},
        {"moves_out", moves_out, 1},
        {"links_in", links_in, 1},
        {"through_a_link", through_a_link, 1},
        {"above", above, 1},
        {"a_device", a_device, 1},
        {"by_a_child", by_a_child, 1},
        {"again", again, 1},
        {"traces", traces, 1},
        {"opens_memory", opens_memory, 1},
        {"signals", signals, 6},
    };
    int version = confine_version();
    const char *folders[] = {open_folder};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        void *none = NULL;
        int want = rows[i].version == 0 ? WORKED : FAILED;
        if (version == 0 || rows[i].version > version)
            continue;
        assert_int_equal(make_folders(&none), 0);
        int got = try(rows[i].deed, folders, 1);
        assert_int_equal(test_folder_remove(&none), 0);
        if (got != want)
            fail_msg("%s: %d instead of %d", rows[i].name, got, want);
    }
}

/* Folders that are none are left out; all else is as forbidden as before. */
static void test_no_folders(void **state)
{
    (void)state;
    const char *file = in(open_folder, "there");
    const char *const lists[][2] = {{"/nonsense", ""}, {file, "/nonsense/nonsense"}, {"", file}};
    if (confine_version() == 0)
        skip();
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        assert_int_equal(try(writes, lists[i], 2), FAILED);
        assert_int_equal(try(reads, lists[i], 2), WORKED);
    }
    assert_int_equal(try(writes, NULL, 0), FAILED);
    assert_int_equal(try(uses_null, NULL, 0), WORKED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deeds),
        cmocka_unit_test_setup_teardown(test_no_folders, make_folders, test_folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
