/* SPDX-License-Identifier: Apache-2.0 */
/* The build cache with nvcc. Where there is none, only what is said about that can be tested. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node_agent/build_toolchain.h"
#include "tests/support/fake_nvml.h"
#include "util/file.h"
#include "util/gpu.h"

#define HEAD "#include <pkb/candidate.h>\n#include <cuda_runtime.h>\n"
#define SOLUTION(body)                                                                                                           \
    "extern \"C\" int pkb_solution(const pkb_context *c, const pkb_tensor *in, pkb_tensor *out)\n{ " body " }\n"
#define GOOD                                                                                                                     \
    HEAD "__global__ void twice(float *x) { x[threadIdx.x] *= 2; }\n" SOLUTION(                                                  \
        "(void)in; twice<<<1, 32, 0, (cudaStream_t)c->stream>>>((float *)out[0].data); return cudaGetLastError() != "            \
        "cudaSuccess;")

struct workshop {
    char folder[64], cache[80], source[80];
    struct build_toolchain *t;
};

static struct fake_nvml *nvml;

static int set_up(void **state)
{
    struct workshop *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    strcpy(w->folder, "/tmp/pkb-test-build-cuda.XXXXXX");
    assert_non_null(mkdtemp(w->folder));
    (void)snprintf(w->cache, sizeof(w->cache), "%s/builds", w->folder);
    (void)snprintf(w->source, sizeof(w->source), "%s/source.cu", w->folder);
    assert_int_equal(setenv("PKB_CUDA_ARCHS", "80", 1), 0);
    w->t = build_toolchain_find("cu", NULL);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct workshop *w = *state;
    build_toolchain_destroy(w->t);
    assert_int_equal(pkb_remove_tree(w->folder, NULL), 0);
    (void)unsetenv("PKB_CUDA_ARCHS");
    free(w);
    return 0;
}

static struct workshop *with_nvcc(void **state)
{
    struct workshop *w = *state;
    if (!w->t) {
        print_message("no nvcc here\n");
        skip();
    }
    return w;
}

static void build(struct workshop *w, const char *text, struct build_result *r)
{
    char digest[PKB_DIGEST_HEX];
    struct pkb_error err = {""};
    assert_int_equal(pkb_file_write(w->source, text, strlen(text), NULL), 0);
    assert_int_equal(pkb_digest_buffer(text, strlen(text), digest, NULL), 0);
    if (build_candidate(w->cache, w->t, w->source, digest, r, &err) < 0)
        fail_msg("%s", err.text);
}

static char *read_log(const struct build_result *r)
{
    char *text;
    size_t size;
    assert_int_equal(pkb_file_read(r->log, 0, &text, &size, NULL), 0);
    return text;
}

static bool has_symbol(const char *object, const char *name)
{
    char *text;
    size_t size;
    assert_int_equal(pkb_file_read(object, 0, &text, &size, NULL), 0);
    bool found = memmem(text, size, name, strlen(name)) != NULL;
    free(text);
    return found;
}

static void test_a_good_source(void **state)
{
    struct workshop *w = with_nvcc(state);
    struct build_result r, again;
    build(w, GOOD, &r);
    if (r.status != BUILD_OK)
        fail_msg("%s", r.detail);
    char *log = read_log(&r);
    assert_non_null(strstr(log, "registers")); /* the assembler's report */
    free(log);
    assert_true(has_symbol(r.object, "pkb_solution"));
    assert_true(has_symbol(r.object, "libcudart.so")); /* shared with the backend */
    build(w, GOOD, &again);
    assert_true(again.cached);
    assert_string_equal(again.object, r.object);
}

static void test_machine_code_is_kept(void **state)
{
    struct workshop *w = with_nvcc(state);
    struct build_result r;
    char script[100], path[5000];
    struct stat st;
    (void)snprintf(script, sizeof(script), "%s/cuobjdump", w->folder);
    assert_int_equal(pkb_file_write(script, "#!/bin/sh\nwhile :; do echo \"$@\"; done\n", 38, NULL), 0);
    assert_int_equal(chmod(script, 0755), 0);
    free(w->t->disassembler);
    w->t->disassembler = strdup(script);
    build(w, GOOD, &r);
    assert_int_equal(r.status, BUILD_OK);
    (void)snprintf(path, sizeof(path), "%.*s/sass", (int)(strrchr(r.object, '/') - r.object), r.object);
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size > 0 && st.st_size <= 8 << 20);
    w->t->disassembler[1] = '!'; /* one that is not there is no fault of the source */
    build(w, GOOD "\n", &r);
    assert_int_equal(r.status, BUILD_OK);
}

static void test_sources_that_do_not_compile(void **state)
{
    struct workshop *w = with_nvcc(state);
    static const struct {
        const char *text, *detail;
    } rows[] = {
        {HEAD "int pkb_solution( {\n", "candidate.cu"},
        {HEAD "__global__ void k(float *x) { x[0] = undeclared; }\n", "undeclared"},
        {HEAD "__global__ int k() { return 0; }\n", "void"},
        {HEAD "__global__ void k() { asm(\"no.such.instruction;\"); }\n", "Unknown modifier"},
        {HEAD "void host(); __global__ void k() { host(); }\n", "host"},
        {HEAD "__global__ void k() { __shared__ float big[100000]; big[threadIdx.x] = 1; asm(\"\" :: \"f\"(big[0])); }\n",
         "shared"},
        {"#include <no_such_header.h>\n", "no_such_header.h"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct build_result r;
        build(w, rows[i].text, &r);
        assert_int_equal(r.status, BUILD_COMPILE_ERROR);
        if (!strstr(r.detail, rows[i].detail))
            fail_msg("row %zu: '%s' is not in '%s'", i, rows[i].detail, r.detail);
        assert_false(pkb_file_exists(r.object));
    }
}

static void test_time_limit(void **state)
{
    struct workshop *w = with_nvcc(state);
    struct build_result r;
    w->t->limit_seconds = 1;
    build(w, "#if __INCLUDE_LEVEL__ < 100\n#include __FILE__\n#include __FILE__\n#endif\n", &r);
    assert_int_equal(r.status, BUILD_COMPILE_ERROR);
    if (!strstr(r.detail, "limit of 1 s") && !strstr(r.detail, "signal"))
        fail_msg("%s", r.detail);
}

/* ---- what does not need nvcc ------------------------------------------------------------------------------------------- */

/* Flags -gencode, joined. */
static void join_archs(const struct build_toolchain *t, char *text, size_t size)
{
    text[0] = '\0';
    for (size_t i = 0; t->flags && t->flags[i]; i++) {
        const char *code = strncmp(t->flags[i], "-gencode=", 9) == 0 ? strstr(t->flags[i], ",code=") : NULL;
        if (code)
            (void)snprintf(text + strlen(text), size - strlen(text), "%s ", code + 6);
    }
}

static void test_lists_of_architectures(void **state)
{
    (void)state;
    static const struct {
        const char *list, *codes; /* NULL: malformed */
    } rows[] = {
        {"90a", "sm_90a "},   {"80,90a", "sm_80 sm_90a "},
        {"100f", "sm_100f "}, {"120,80", "sm_120 sm_80 "},
        {"", NULL},           {"9", NULL},
        {"sm_90", NULL},      {"80,", NULL},
        {",80", NULL},        {"80 90", NULL},
        {"90b", NULL},        {"80,80;rm", NULL},
        {"1000", NULL},       {"90aa", NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct build_toolchain *t = calloc(1, sizeof(*t));
        struct pkb_error err = {""};
        char codes[200];
        assert_non_null(t);
        int rc = toolchain_add_archs(t, rows[i].list, &err);
        if ((rc == 0) != (rows[i].codes != NULL))
            fail_msg("'%s': %d %s", rows[i].list, rc, err.text);
        join_archs(t, codes, sizeof(codes));
        if (rows[i].codes)
            assert_string_equal(codes, rows[i].codes);
        else
            assert_non_null(strstr(err.text, "PKB_CUDA_ARCHS"));
        build_toolchain_destroy(t);
    }
}

static void found_archs(char *codes, size_t size, char key[PKB_DIGEST_HEX])
{
    struct pkb_error err = {""};
    struct build_toolchain *t = build_toolchain_find("cu", &err);
    if (!t)
        fail_msg("%s", err.text);
    join_archs(t, codes, size);
    assert_int_equal(build_key(t, "aa", key, NULL), 0);
    build_toolchain_destroy(t);
}

/* The GPUs that are there, and no others, unless told otherwise. */
static void test_architectures_of_this_machine(void **state)
{
    (void)with_nvcc(state);
    char codes[200], keys[4][PKB_DIGEST_HEX];
    (void)unsetenv("PKB_CUDA_ARCHS");
    *nvml = (struct fake_nvml){.n = 3, .gpu = {{"GPU-a", 90}, {"GPU-b", 80}, {"GPU-c", 90}}};
    found_archs(codes, sizeof(codes), keys[0]);
    assert_string_equal(codes, "sm_80 sm_90a ");
    assert_int_equal(setenv("CUDA_VISIBLE_DEVICES", "2", 1), 0);
    found_archs(codes, sizeof(codes), keys[1]);
    assert_string_equal(codes, "sm_90a ");
    (void)unsetenv("CUDA_VISIBLE_DEVICES");
    nvml->n = 0;
    found_archs(codes, sizeof(codes), keys[2]);
    assert_non_null(strstr(codes, "sm_90a "));
    assert_non_null(strstr(codes, "compute_80 "));
    assert_int_equal(setenv("PKB_CUDA_ARCHS", "86", 1), 0);
    found_archs(codes, sizeof(codes), keys[3]);
    assert_string_equal(codes, "sm_86 ");
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(keys[i], keys[j]);
    assert_int_equal(nvml->open, 0);
}

static void test_compilers_that_are_not_there(void **state)
{
    static const struct {
        const char *variable, *value, *text;
    } rows[] = {
        {"PKB_NVCC", "/no/such/nvcc", "PKB_NVCC"},
        {"PKB_NVCC", "no-such-nvcc", "no-such-nvcc"},
        {"PKB_NVCC", "./nvcc", "absolute"},
        {"PKB_NVCC", "/bin/false", "/bin/false"},
        {"PKB_NVCC", "/bin/echo", "release"},
        {"PKB_CXX", "/no/such/c++", "PKB_CXX"},
        {"PKB_CUDA_ARCHS", "hopper", "PKB_CUDA_ARCHS"},
    };
    struct workshop *w = *state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pkb_error err;
        if (!w->t && strcmp(rows[i].variable, "PKB_NVCC") != 0)
            continue;
        assert_int_equal(setenv(rows[i].variable, rows[i].value, 1), 0);
        assert_null(build_toolchain_find("cu", &err));
        (void)unsetenv(rows[i].variable);
        if (!strstr(err.text, rows[i].text))
            fail_msg("'%s' is not in '%s'", rows[i].text, err.text);
    }
}

/* ---- visible GPUs ---------------------------------------------------------------------------------------------------------- */

static void test_visible_gpus(void **state)
{
    (void)state;
    static const struct {
        const char *visible, *uuids;
    } rows[] = {
        {NULL, "GPU-aaaa GPU-abbb GPU-cccc "},
        {"0,1,2", "GPU-aaaa GPU-abbb GPU-cccc "},
        {"2,0", "GPU-cccc GPU-aaaa "},
        {" 1 , 2", "GPU-abbb GPU-cccc "},
        {"GPU-c,GPU-aaaa", "GPU-cccc GPU-aaaa "},
        {"MIG-1234", "MIG-1234 "},
        {"", ""},
        {"-1", ""},
        {"1,-1,2", "GPU-abbb "}, /* nothing counts after a device that is not there */
        {"0,7,1", "GPU-aaaa "},
        {"GPU-a", ""}, /* two GPUs begin like this */
        {"GPU-", ""},
        {"none", ""},
        {"1,1", ""},
        {"MIG-none,0", ""},
        {"99999999999999999999", ""},
    };
    *nvml = (struct fake_nvml){.n = 3, .gpu = {{"GPU-aaaa", 90}, {"GPU-abbb", 80}, {"GPU-cccc", 90}}};
    struct nvml *n = nvml_open(NULL, NULL);
    assert_non_null(n);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct gpu_list list;
        char uuids[200] = "";
        assert_int_equal(gpu_list_visible(n, rows[i].visible, &list, NULL), 0);
        for (int k = 0; k < list.n; k++)
            (void)snprintf(uuids + strlen(uuids), sizeof(uuids) - strlen(uuids), "%s ", list.gpu[k].uuid);
        if (strcmp(uuids, rows[i].uuids) != 0)
            fail_msg("'%s' gives %s", rows[i].visible ? rows[i].visible : "(unset)", uuids);
    }
    nvml_close(n);
    nvml->init_result = 9;
    struct pkb_error err;
    assert_null(nvml_open(NULL, &err));
    assert_int_equal(gpu_count(), 0);
    assert_null(nvml_open("/no/such/library.so", &err));
    assert_non_null(strstr(err.text, "/no/such/library.so"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_good_source, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_machine_code_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sources_that_do_not_compile, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_time_limit, set_up, tear_down),
        cmocka_unit_test(test_lists_of_architectures),
        cmocka_unit_test_setup_teardown(test_architectures_of_this_machine, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_compilers_that_are_not_there, set_up, tear_down),
        cmocka_unit_test(test_visible_gpus),
    };
    (void)unsetenv("CUDA_VISIBLE_DEVICES");
    nvml = fake_nvml_load();
    if (!nvml)
        return 1;
    return cmocka_run_group_tests_name("build_cuda", tests, NULL, NULL);
}
