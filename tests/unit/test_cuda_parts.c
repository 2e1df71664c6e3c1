/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the CUDA backend that need no GPU: its settings, the layout of staging buffers, descriptors between processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/cuda/fds.h"
#include "runtime/cuda/settings.h"
#include "runtime/cuda/staging.h"
#include "tests/support/world.h"
#include "util/clock.h"

/* ---- settings ------------------------------------------------------------------------------------------------------ */

/* "NAME=value" entries that the settings are read from. */
static const char *const *environment;

static char *get(const char *name)
{
    size_t length = strlen(name);
    for (int i = 0; environment[i]; i++) {
        if (strncmp(environment[i], name, length) == 0 && environment[i][length] == '=')
            return (char *)(uintptr_t)(environment[i] + length + 1);
    }
    return NULL;
}

#define SECOND ((int64_t)1000000000)

static void test_settings(void **state)
{
    static const struct {
        const char *variables[4];
        struct cuda_settings want;
    } rows[] = {
        {{NULL}, {false, 300 * SECOND, -1, false, false}},
        {{"PKB_COMM=", "PKB_SYMM=", "PKB_COMM_TIMEOUT="}, {false, 300 * SECOND, -1, false, false}},
        {{"PKB_COMM=nccl", "PKB_COMM_TIMEOUT=1"}, {false, SECOND, -1, false, false}},
        {{"PKB_COMM=staged", "PKB_SYMM=fd"}, {true, 300 * SECOND, SYMM_FD, false, false}},
        {{"PKB_SYMM=fabric", "PKB_COMM_TIMEOUT=604800"}, {false, 604800 * SECOND, SYMM_FABRIC, false, false}},
        {{"PKB_SYMM=ipc", "PKB_NVLS=0"}, {false, 300 * SECOND, SYMM_IPC, false, true}},
        {{"PKB_NVLS=1"}, {false, 300 * SECOND, -1, true, false}},
        {{"PKB_NVLS=1", "NCCL_NVLS_ENABLE=2"}, {false, 300 * SECOND, -1, true, false}},
        {{"PKB_NVLS=1", "NCCL_NVLS_ENABLE=0"}, {false, 300 * SECOND, -1, false, false}},
        {{"PKB_NVLS=0", "NCCL_NVLS_ENABLE=1"}, {false, 300 * SECOND, -1, false, true}},
        {{"NCCL_NVLS_ENABLE=1"}, {false, 300 * SECOND, -1, false, false}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cuda_settings s;
        struct pkb_error err = {""};
        environment = rows[i].variables;
        assert_int_equal(cuda_settings_read(&s, get, &err), 0);
        assert_int_equal(s.staged, rows[i].want.staged);
        assert_int_equal(s.timeout_ns, rows[i].want.timeout_ns);
        assert_int_equal(s.symm, rows[i].want.symm);
        assert_int_equal(s.multicast, rows[i].want.multicast);
        assert_int_equal(s.forbid_nvls, rows[i].want.forbid_nvls);
    }
}

static void test_bad_settings(void **state)
{
    static const struct {
        const char *variable, *want;
    } rows[] = {
        {"PKB_COMM=pigeons", "PKB_COMM=pigeons: expected nccl or staged"},
        {"PKB_COMM=NCCL", "PKB_COMM=NCCL: expected nccl or staged"},
        {"PKB_COMM=staged ", "expected nccl or staged"},
        {"PKB_COMM_TIMEOUT=0", "expected seconds, 1 to 604800"},
        {"PKB_COMM_TIMEOUT=-5", "expected seconds"},
        {"PKB_COMM_TIMEOUT=604801", "expected seconds"},
        {"PKB_COMM_TIMEOUT=10s", "PKB_COMM_TIMEOUT=10s: expected seconds"},
        {"PKB_COMM_TIMEOUT=99999999999999999999", "expected seconds"},
        {"PKB_COMM_TIMEOUT=ten", "expected seconds"},
        {"PKB_SYMM=vmm", "PKB_SYMM=vmm: expected fd, fabric or ipc"},
        {"PKB_NVLS=yes", "PKB_NVLS=yes: expected 0 or 1"},
        {"PKB_NVLS=2", "expected 0 or 1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *const variables[] = {rows[i].variable, NULL};
        struct cuda_settings s;
        struct pkb_error err = {""};
        environment = variables;
        assert_int_equal(cuda_settings_read(&s, get, &err), -1);
        assert_non_null(strstr(err.text, rows[i].want));
    }
}

/* ---- staging ------------------------------------------------------------------------------------------------------- */

static void test_staging(void **state)
{
    static const size_t sizes[] = {0, 1, 256, 257, 0, 1000};
    size_t offsets[6], total = 1;
    (void)state;
    assert_int_equal(staging_lay_out(NULL, 0, NULL, &total, NULL), 0);
    assert_int_equal(total, 0);
    assert_int_equal(staging_lay_out(sizes, 6, offsets, &total, NULL), 0);
    for (size_t i = 0; i < 6; i++) {
        size_t end = i + 1 < 6 ? offsets[i + 1] : total;
        assert_int_equal(offsets[i] % STAGING_ALIGNMENT, 0);
        assert_true(offsets[i] + sizes[i] <= end);
    }
    assert_int_equal(total, 256 + 256 + 512 + 1024);
}

static void test_staging_overflow(void **state)
{
    static const size_t rows[][2] = {{SIZE_MAX, 0}, {0, SIZE_MAX}, {SIZE_MAX / 2, SIZE_MAX / 2}, {SIZE_MAX / 2 + 1, 1}};
    size_t offsets[2], total;
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct pkb_error err = {""};
        assert_int_equal(staging_lay_out(rows[i], 2, offsets, &total, &err), -1);
        assert_non_null(strstr(err.text, "2 messages are too large"));
    }
}

/* ---- descriptors --------------------------------------------------------------------------------------------------- */

#define RANKS 12 /* more than datagrams that some systems let wait at a socket */

/* A file with a number in it. */
static int numbered(int number)
{
    int fd = memfd_create("test", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, &number, sizeof(number)) != (ssize_t)sizeof(number)) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

static int number_in(int fd)
{
    int number = -1;
    return pread(fd, &number, sizeof(number), 0) == (ssize_t)sizeof(number) ? number : -1;
}

/* A letter without the receiver's cookie, with a descriptor in it. */
static int send_as_stranger(const struct fds_address *to, int fd)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    char letter[24] = {0};
    struct iovec part = {letter, sizeof(letter)};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct msghdr m = {
        .msg_name = &a, .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    memcpy(a.sun_path, to->name, to->size);
    m.msg_namelen = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + to->size);
    *c = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(c), &fd, sizeof(fd));
    ssize_t n = s >= 0 ? sendmsg(s, &m, 0) : -1;
    if (s >= 0)
        (void)close(s);
    return n < 0 ? -1 : 0;
}

static int check_swap(struct fds *f, struct fds_swap *swap, struct pkb_error *err)
{
    int fds[RANKS], own = swap->rank % 3 == 1 ? -1 : numbered(swap->rank); /* some have nothing to give */
    int rc = fds_swap(f, swap, own, fds, err);
    for (int i = 0; i < swap->world && rc == 0; i++) {
        bool expected = swap->peer[i] && i % 3 != 1;
        if (expected != (fds[i] >= 0) || (expected && number_in(fds[i]) != i))
            rc = pkb_error_set(err, "descriptor %d of rank %d is wrong", fds[i], i);
    }
    for (int i = 0; i < swap->world; i++) {
        if (fds[i] >= 0)
            (void)close(fds[i]);
    }
    if (own >= 0)
        (void)close(own);
    return rc;
}

static int open_and_exchange(const struct rt_options *o, struct fds *f, struct fds_address *all, struct pkb_error *err)
{
    if (fds_open(f, err))
        return -1;
    return o->exchange(o->exchange_arg, &f->own, sizeof(f->own), all, err);
}

static int swap_rank(const struct rt_options *o, void *arg, struct pkb_error *err)
{
    struct fds f;
    struct fds_address all[RANKS];
    bool peer[RANKS];
    struct fds_swap swap = {.all = all, .peer = peer, .rank = o->rank, .world = o->world, .patience_ns = 20 * SECOND};
    (void)arg;
    int rc = open_and_exchange(o, &f, all, err);
    for (int i = 0; i < o->world; i++)
        peer[i] = i != o->rank && i != RANKS - 1 && o->rank != RANKS - 1; /* the last is on another node */
    if (rc == 0 && o->rank == 0)
        rc = send_as_stranger(&all[1], f.socket) ? pkb_error_errno(err, "stranger") : 0;
    for (int i = 0; i < 20 && rc == 0; i++, swap.serial++) {
        int unused = 0, met[RANKS];
        rc = check_swap(&f, &swap, err);
        rc = rc ? rc : o->exchange(o->exchange_arg, &unused, sizeof(unused), met, err);
    }
    fds_close(&f);
    return rc;
}

static void test_swap(void **state)
{
    static struct world_rank ranks[RANKS];
    struct world_spec spec = {.world = RANKS, .seconds = 30, .raw = swap_rank};
    struct pkb_error err = {""};
    (void)state;
    assert_int_equal(world_run_each(&spec, ranks, &err), 0);
    for (int i = 0; i < RANKS; i++) {
        assert_string_equal(ranks[i].text, "");
        assert_int_equal(ranks[i].rc, 0);
    }
}

/* A peer that is silent, or gone, ends the swap with an error. */
static int lonely_rank(const struct rt_options *o, void *arg, struct pkb_error *err)
{
    struct fds f;
    struct fds_address all[2];
    bool peer[] = {o->rank != 0, o->rank != 1};
    bool gone = *(const bool *)arg;
    int fds[2] = {0, 0}, unused = 0, both[2];
    struct fds_swap swap = {.all = all, .peer = peer, .rank = o->rank, .world = 2, .patience_ns = SECOND / 5};
    int rc = open_and_exchange(o, &f, all, err);
    if (rc == 0 && o->rank == 1 && gone)
        fds_close(&f);
    rc = rc ? rc : o->exchange(o->exchange_arg, &unused, sizeof(unused), both, err);
    if (rc == 0 && o->rank == 0) {
        struct pkb_error why = {""};
        if (fds_swap(&f, &swap, -1, fds, &why) == 0)
            rc = pkb_error_set(err, "the swap succeeded");
        else if (!strstr(why.text, gone ? "sending a descriptor to rank 1" : "no descriptors have come"))
            rc = pkb_error_set(err, "it said: %s", why.text);
        else if (fds[0] != -1 || fds[1] != -1)
            rc = pkb_error_set(err, "there are descriptors");
    }
    rc = rc ? rc : o->exchange(o->exchange_arg, &unused, sizeof(unused), both, err);
    fds_close(&f);
    return rc;
}

static void test_lonely_swap(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        bool gone = i == 1;
        struct world_rank ranks[2];
        struct world_spec spec = {.world = 2, .seconds = 20, .raw = lonely_rank, .arg = &gone};
        struct pkb_error err = {""};
        assert_int_equal(world_run_each(&spec, ranks, &err), 0);
        assert_string_equal(ranks[0].text, "");
        assert_string_equal(ranks[1].text, "");
    }
}

/* Without a GPU, or without the backend, opening says which it is. */
static void test_opening(void **state)
{
    struct rt_options o = {.world = 1};
    struct pkb_error err = {""};
    (void)state;
    struct rt *rt = rt_open("cuda", &o, &err);
    if (!rt) {
        assert_non_null(strstr(err.text, "opening backend cuda: "));
        assert_true(strstr(err.text, "not built with CUDA") || strstr(err.text, "cudaGetDeviceCount: "));
    }
    rt_close(rt);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings),         cmocka_unit_test(test_bad_settings), cmocka_unit_test(test_staging),
        cmocka_unit_test(test_staging_overflow), cmocka_unit_test(test_swap),         cmocka_unit_test(test_lonely_swap),
        cmocka_unit_test(test_opening),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
