/* SPDX-License-Identifier: Apache-2.0 */
/* The census: what counts as evidence of a mechanism, and what only looks like it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "results/census.h"

#define KERNEL "__global__ void k(void) {}\n"

struct row {
    const char *source;
    const char *expected; /* census_describe */
};

static void check_rows(const char *kind, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct census c = {0};
        struct pkb_error err;
        char text[128];
        assert_int_equal(census_source(rows[i].source, strlen(rows[i].source), kind, &c, &err), 0);
        census_describe(&c, text, sizeof(text));
        if (strcmp(text, rows[i].expected) != 0)
            fail_msg("row %zu (%s): '%s' instead of '%s' for\n%s", i, kind, text, rows[i].expected, rows[i].source);
    }
}

#define CHECK(kind, rows) check_rows(kind, rows, sizeof(rows) / sizeof(rows[0]))

static void mechanisms_of_cuda_are_found(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"", "host_only"},
        {KERNEL, "none"},
        {"cudaMemcpyAsync(a, b, n, cudaMemcpyDeviceToDevice, s);", "copy_engine, host_only"},
        {"cudaMemcpy(a, b, n, k);", "copy_engine, host_only"},
        {KERNEL "cudaMemcpyPeerAsync(a, 0, b, 1, n, s);", "copy_engine"},
        {KERNEL "cuMemcpyDtoDAsync_v2(a, b, n, s);", "copy_engine"},
        {KERNEL "cudaMemcpy2DAsync(a, 1, b, 1, 1, 1, k, s);", "copy_engine"},
        {KERNEL "float *p = (float *)symm.peers[q];", "peer"},
        {KERNEL "float *p = (float *)s->peers[q];", "peer"},
        {KERNEL "void *const *all = s -> peers;", "peer"},
        {"__device__ float f(float **peers) { return peers[1][0]; }", "peer"},
        {"asm volatile(\"ld.acquire.sys.global.u32 %0, [%1];\" : \"=r\"(v) : \"l\"(p));", "peer"},
        {"asm(\"st.relaxed.sys.u32 [%0], %1;\" :: \"l\"(p), \"r\"(v));", "peer"},
        {"__asm__ __volatile__(\"red.release.sys.global.add.u32 [%0], 1;\" :: \"l\"(p) : \"memory\");", "peer"},
        {KERNEL "cuTensorMapEncodeTiled(&map);", "tma"},
        {KERNEL "cuda::ptx::cp_async_bulk(a, b, c);", "tma"},
        {KERNEL "cute::SM90_TMA_LOAD_2D::copy(a);", "tma"},
        {"asm volatile(\"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];\" :: \"r\"(a));",
         "tma"},
        {"asm volatile(\"multimem.ld_reduce.relaxed.sys.global.add.f32 %0, [%1];\" : \"=f\"(v) : \"l\"(p));", "multimem"},
        {"asm volatile(\"multimem.\" \"st.relaxed.sys.global.f32 [%0], %1;\" :: \"l\"(p), \"f\"(v));", "multimem"},
        {"asm volatile(\"{ .reg .pred p;\\n\\tmultimem.red.release.sys.global.add.u32 [%0], 1; }\" :: \"l\"(p));", "multimem"},
        {KERNEL "float *all = (float *)symm.multicast;", "multimem"},
        {KERNEL "ncclAllReduce(a, b, n, ncclFloat, ncclSum, c, s);", "nccl"},
        {"ncclGroupStart(); ncclSend(a, n, t, 1, c, s); ncclGroupEnd();", "nccl, host_only"},
        {KERNEL "ncclSend(a, n, t, 1, c, s); cudaMemcpyAsync(a, b, n, k, s); x = symm.peers[1];", "copy_engine, peer, nccl"},
        {"memcpy(out, symm.peers[1], n);", "peer, host_only"},
        {"#define COPY cudaMemcpyAsync\nCOPY(a, b, n, k, s);", "copy_engine, host_only"},
        {"#define LOAD(p) \\\n    asm(\"multimem.ld_reduce.f32 %0, [%1];\" : \"=f\"(v) : \"l\"(p))\n" KERNEL "LOAD(p);",
         "multimem"},
        {"#define B A\n#define A ncclBcast\n" KERNEL "B(x);", "nccl"},
        {"#ifdef X\n#define A 1\n#else\n#define A ncclBcast\n#endif\n" KERNEL "A;", "nccl"},
        {"#if 0\nint x;\n#else\nncclBcast(x);\n#endif\n" KERNEL, "nccl"},
        {"int n = 1'000'000; ncclBcast(n); char c = 'x';" KERNEL, "nccl"},
        {"char q = '\"'; ncclBcast(q); char r = '\"';" KERNEL, "nccl"},
        {"char q = '\\''; ncclBcast(q); /* ' */" KERNEL, "nccl"},
        {"const char *s = \"\\\"\"; ncclBcast(s);" KERNEL, "nccl"},
        {"const char *s = \"// no comment\"; ncclBcast(s);" KERNEL, "nccl"},
        {"/* a \" quote */ ncclBcast(s); /* \" */" KERNEL, "nccl"},
        {"// a line \\\n that goes on\nncclBcast(s);" KERNEL, "nccl"},
        {"nccl\\\nBcast(s);" KERNEL, "nccl"},
        {"auto s = R\"x()\" )x\"; ncclBcast(s);" KERNEL, "nccl"},
        {"const char *s = \"not closed;\nncclBcast(s);" KERNEL, "nccl"},
        {"kernel<<<1, 1>>>(symm.peers[0]); cudaMemcpyAsync(a, symm.peers[1], n, k, s);" KERNEL, "copy_engine, peer"},
    };
    CHECK("cu", rows);
}

static void what_only_looks_like_it_does_not_count(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {KERNEL "// cudaMemcpyAsync(a, b)", "none"},
        {KERNEL "/* ncclAllReduce(\n multimem.st */", "none"},
        {KERNEL "/* // */ /* ncclBcast */", "none"},
        {KERNEL "// ncclBcast \\\n ncclBcast(x)\n", "none"},
        {KERNEL "printf(\"ncclAllReduce multimem.st cudaMemcpy\");", "none"},
        {KERNEL "auto s = R\"(ncclBcast(x))\";", "none"},
        {KERNEL "auto s = u8R\"ab(\" )\" ncclBcast )ab\";", "none"},
        {KERNEL "auto s = L\"ncclBcast\";", "none"},
        {KERNEL "char c = 'ncclBcast';", "none"},
        {KERNEL "my_cudaMemcpy(a); cudaMemcpyish(a); xncclAllReduce(); ncclAllReducer();", "none"},
        {KERNEL "cudaMemcpyKind k = cudaMemcpyDeviceToHost; cudaMemcpy3DParms p;", "none"},
        {KERNEL "cudamemcpy(a); CUDAMEMCPY(a); cudaMemset(a, 0, n);", "none"},
        {KERNEL "ncclComm_t c; ncclUniqueId id; ncclResult_t r = ncclSuccess; ncclCommInitRank(&c, 1, id, 0);", "none"},
        {KERNEL "#include <nccl.h>\n#include \"ncclAllReduce.h\"\n", "none"},
        {KERNEL "#pragma ncclAllReduce\n#error ncclAllReduce\n", "none"},
        {KERNEL "int n_peers = 3, peers_left[2]; float peersx[1];", "none"},
        {"__device__ void f(float *const *peers) {}", "none"},
        {KERNEL "int peers = world - 1; loop(peers);", "none"},
        {KERNEL "cudaMemcpyAsync(out, symm.peers[q], n, k, s);", "copy_engine"},
        {KERNEL "cudaMemcpyAsync(f(a, (b)), (char *)symm.peers[q] + 4, n, k, s);", "copy_engine"},
        {KERNEL "multicast(x); bool multicast = true;", "none"},
        {KERNEL "multimem_of_mine(x); int multimem; tma_load(x);", "none"},
        {KERNEL "cp.async.bulk;", "none"}, /* not in assembly */
        {"asm volatile(\"// multimem.st\\n add.f32 %0, %0, %1;\" : \"+f\"(a) : \"f\"(b));", "none"},
        {"asm volatile(\"/* multimem.st */ add.f32 %0, %0, %1;\" : \"+f\"(a) : \"f\"(b));", "none"},
        {"asm volatile(\"add.f32 %0, %0, %1;\" : \"+f\"(a) : \"f\"(b) : \"multimem.st\");", "none"},
        {"asm volatile(\"cp.async.ca.shared.global [%0], [%1], 16;\" :: \"r\"(a), \"l\"(b));", "none"},
        {"asm volatile(\"ld.global.gpu.u32 %0, [%1];\" : \"=r\"(a) : \"l\"(b));", "none"},
        {"asm volatile(\"membar.sys;\");", "none"},
        {KERNEL "asm_count(\"multimem.st\"); f(\"multimem.st\");", "none"},
        {KERNEL "int asm_ = 1; g(\"multimem.st\");", "none"},
        {"#define UNUSED(x) ncclBcast(x)\n" KERNEL, "none"},
        {"#define A ncclBcast\n#define B A\n" KERNEL, "none"},
        {"#define A B\n#define B A\n" KERNEL "A;", "none"},
        {"#define A \\\n  one(); \\\n  ncclBcast(x)\n" KERNEL, "none"},
        {"#if 0\nncclBcast(x);\n#endif\n" KERNEL, "none"},
        {"#if 0\n#ifdef X\n#else\nncclBcast(x);\n#endif\nncclBcast(y);\n#endif\n" KERNEL, "none"},
        {"#if 0 // off\ndon't; ncclBcast(x);\n#endif\n" KERNEL, "none"},
        {"#if 0\n#define A ncclBcast\n#endif\n" KERNEL "A;", "none"},
        {"#if 0\nncclBcast(x);" KERNEL, "host_only"}, /* nobody ends it */
        {"/* never closed ncclBcast(x);" KERNEL, "host_only"},
        {KERNEL "auto s = R\"(never closed ncclBcast(x);", "none"},
        {KERNEL "\\", "none"},
        {KERNEL "#", "none"},
        {KERNEL "#define", "none"},
        {KERNEL "asm(", "none"},
        {KERNEL "\xff\xfe \x01", "none"},
    };
    CHECK("cu", rows);
}

static void python_is_read_as_python(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"import torch.distributed as dist\ndist.all_reduce(x)\n", "nccl, host_only"},
        {"import torch.distributed as td\ntd.all_to_all_single(x, y)\n", "nccl, host_only"},
        {"torch.distributed.broadcast(x, 0)\n", "nccl, host_only"},
        {"import triton\np = hdl.buffer_ptrs_dev\n", "peer"},
        {"import triton\ntl.inline_asm_elementwise(\"multimem.ld_reduce.f32 $0, [$1];\", \"=r,l\", [p])\n", "multimem"},
        {"import triton\ntl.inline_asm_elementwise(asm=\"\"\"\n multimem.st.f32 [$1], $0; \"\"\", constraints='=r,l')\n",
         "multimem"},
        {"import triton\nd = tl.make_tensor_descriptor(p, s, t, b)\n", "tma"},
        {"torch.ops.symm_mem.multimem_all_reduce_(x, 'sum', g)\n", "multimem, host_only"},
        {"src = r'''\n#include <x>\n__global__ void k(float **peers) { peers[0][0] = 1; }\n'''\nload(src)\n", "peer"},
        {"load(cuda_sources=[\"\"\"__global__ void k() { asm(\"multimem.st.f32 [%0], %1;\" :: \"l\"(p)); }\"\"\"])\n",
         "multimem"},
        {"src = '''__global__ void k(); // cudaMemcpyAsync(a)\n'''\n", "none"},
        {"# dist.all_reduce(x)\nimport triton\n", "none"},
        {"def f():\n    \"\"\"Like dist.all_reduce(x) in\n    __global__ void k(){cudaMemcpy(a);}\"\"\"\n    return 1\n",
         "host_only"},
        {"'''#include <x>\n__global__ void k() { cudaMemcpy(a); }'''\n", "host_only"},
        {"x = 'dist.all_reduce(x)'  # dist.all_reduce(x)\n", "host_only"},
        {"x = 'it\\'s' + \"dist.all_reduce(x)\" + f\"{dist}\"\n", "host_only"},
        {"my.all_reduce(x); all_reduce(x); dist.barrier(); dist.get_rank(); dist.all_reducer(x)\n", "host_only"},
        {"x = \"\"\"a\n\"quoted\" \\\"\"\" dist.all_reduce(x)\n\"\"\"\n", "host_only"},
        {"x = 'not closed dist.all_reduce(x)\ny = 1\n", "host_only"},
        {"x = '''never closed dist.all_reduce(x)\n", "host_only"},
        {"x = 'ends in a backslash\\", "host_only"},
        {"", "host_only"},
    };
    CHECK("py", rows);
}

static void evidence_names_word_and_line(void **state)
{
    (void)state;
    static const char source[] =
        "// cudaMemcpy\n/* two\nlines */\n#define M \\\n  1\n\nx = symm.peers[0];\ncudaMemcpyAsync(a);\ncudaMemcpy(b);\n";
    struct census c = {0};
    struct pkb_error err;
    assert_int_equal(census_source(source, strlen(source), "c", &c, &err), 0);
    assert_int_equal(c.found[MECHANISM_PEER].line, 7);
    assert_int_equal(c.found[MECHANISM_COPY_ENGINE].line, 8);
    assert_string_equal(c.found[MECHANISM_COPY_ENGINE].word, "cudaMemcpyAsync");
    assert_false(c.device_code);
    json_t *v = census_encode(&c);
    assert_non_null(v);
    char *text = json_dumps(v, JSON_COMPACT);
    assert_string_equal(text,
                        "{\"mechanisms\":[\"copy_engine\",\"peer\"],\"host_only\":true,\"evidence\":{\"copy_engine\":{\"word\":"
                        "\"cudaMemcpyAsync\",\"line\":8,\"in\":\"source\"},\"peer\":{\"word\":\"peers\",\"line\":7,\"in\":"
                        "\"source\"}}}");
    free(text);
    json_decref(v);
}

static void machine_code_counts_by_instructions(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"        /*0010*/                   UBLKCP [UR4], [UR6], UR8 ;   /* 0x1 */\n", "tma"},
        {"        /*0010*/              @!UP0 UTMALDG.2D [UR4], [UR6] ;\n", "tma"},
        {"        /*0010*/              @P0  UTMASTG.3D [UR4], [UR6] ;\n", "tma"},
        {"\tcode for sm_90a\n        /*00f0*/  LDGMC.E.ADD.F32.STRONG.SYS R2, [R2.64] ;\n", "multimem"},
        {"        /*0010*/                   LDG.E.STRONG.SYS R2, [R2.64] ;\n", "none"}, /* volatile makes it too */
        {"        /*0010*/                   UBLKCPX R1 ;\n", "none"},
        {"        /*0010*/                   MOV R1, UBLKCP ;  /* UBLKCP */\n", "none"},
        {"\tFunction : UBLKCP\n.headerflags @\"UTMALDG\"\n", "host_only"},
        {"UBLKCP [UR4] ;\n", "host_only"},
        {"        /* 0x000fe200078e00ff */\n", "host_only"},
        {"        /*0010*/", "host_only"},
        {"        /*0010", "host_only"},
        {"        /*0010*/  @P0", "host_only"},
        {"", "host_only"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct census c = {0};
        char text[128];
        census_sass(rows[i].source, strlen(rows[i].source), &c);
        census_describe(&c, text, sizeof(text));
        if (strcmp(text, rows[i].expected) != 0)
            fail_msg("row %zu: '%s' instead of '%s' for\n%s", i, text, rows[i].expected, rows[i].source);
    }
}

/* Every beginning of a source is a source: nothing may be read behind its end. */
static void sources_may_end_anywhere(void **state)
{
    (void)state;
    static const char source[] =
        "#if 0\nx\n#endif\n#define A(x) \\\n f(\"a\\\"\") /* c */\nasm volatile(\"multimem.st\" \"x\\n\" :: \"l\"(p));\n"
        "auto s = R\"ab(x)ab\"; int n = 1'0e+5; char c = '\\''; // end\n'''__global__ \"\"\" ''' \"\"\"\\";
    for (size_t n = 0; n < sizeof(source); n++) {
        static const char *const kinds[] = {"c", "cu", "py"};
        for (size_t k = 0; k < 3; k++) {
            struct census c = {0};
            struct pkb_error err;
            char *copy = malloc(n ? n : 1); /* of exactly this size, for memory checkers */
            assert_non_null(copy);
            memcpy(copy, source, n);
            assert_int_equal(census_source(copy, n, kinds[k], &c, &err), 0);
            census_sass(copy, n, &c);
            free(copy);
        }
    }
}

static void large_sources_take_no_time(void **state)
{
    (void)state;
    enum { LINES = 20000 };
    char *text = malloc((size_t)LINES * 64), *p = text;
    struct census c = {0};
    struct pkb_error err;
    assert_non_null(text);
    for (int i = 0; i < LINES; i++) /* a chain of macros, whose end is used */
        p += sprintf(p, "#define M%d M%d + ncclNothing\n", i, i + 1);
    p += sprintf(p, "#define M%d ncclSend\nM0;\n", LINES);
    assert_int_equal(census_source(text, (size_t)(p - text), "cu", &c, &err), 0);
    assert_int_equal(c.found[MECHANISM_NCCL].line, LINES + 1);
    p = stpcpy(text, "asm(");
    for (int i = 0; i < 8 * LINES; i++) /* one string in many parts */
        p = stpcpy(p, "\"a;\" ");
    p = stpcpy(p, "\"multi\" \"mem.st\");");
    memset(&c, 0, sizeof(c));
    assert_int_equal(census_source(text, (size_t)(p - text), "cu", &c, &err), 0);
    assert_true(census_uses(&c, MECHANISM_MULTIMEM));
    assert_int_equal(census_source(text, CENSUS_MAX_SOURCE + 1, "cu", &c, &err), -1);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mechanisms_of_cuda_are_found),
        cmocka_unit_test(what_only_looks_like_it_does_not_count),
        cmocka_unit_test(python_is_read_as_python),
        cmocka_unit_test(evidence_names_word_and_line),
        cmocka_unit_test(machine_code_counts_by_instructions),
        cmocka_unit_test(sources_may_end_anywhere),
        cmocka_unit_test(large_sources_take_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
