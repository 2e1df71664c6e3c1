/* SPDX-License-Identifier: Apache-2.0 */
/* The build cache with the system's real compiler. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PKB_NO_EXPORTS
#include <pkb/candidate.h>

#include "node_agent/build.h"
#include "util/file.h"
#include "util/json.h"

#define GOOD                                                                                                                     \
    "#include <pkb/candidate.h>\n"                                                                                               \
    "int pkb_solution(const pkb_context *c, const pkb_tensor *in, pkb_tensor *out)\n"                                            \
    "{ (void)c; (void)in; (void)out; return 0; }\n"

struct workshop {
    char folder[64], cache[80], source[80];
    struct build_toolchain *t;
};

static int set_up(void **state)
{
    struct workshop *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    strcpy(w->folder, "/tmp/pkb-test-build.XXXXXX");
    assert_non_null(mkdtemp(w->folder));
    (void)snprintf(w->cache, sizeof(w->cache), "%s/builds", w->folder);
    (void)snprintf(w->source, sizeof(w->source), "%s/source.c", w->folder);
    w->t = build_toolchain_find("c", NULL);
    assert_non_null(w->t);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct workshop *w = *state;
    build_toolchain_destroy(w->t);
    assert_int_equal(pkb_remove_tree(w->folder, NULL), 0);
    free(w);
    return 0;
}

static void write_source(struct workshop *w, const char *text, char digest[PKB_DIGEST_HEX])
{
    assert_int_equal(pkb_file_write(w->source, text, strlen(text), NULL), 0);
    assert_int_equal(pkb_digest_buffer(text, strlen(text), digest, NULL), 0);
}

static int build(struct workshop *w, const char *text, struct build_result *r, struct pkb_error *err)
{
    char digest[PKB_DIGEST_HEX];
    write_source(w, text, digest);
    return build_candidate(w->cache, w->t, w->source, digest, r, err);
}

static int count_entries(const char *path, const char *prefix)
{
    int n = 0;
    DIR *folder = opendir(path);
    if (!folder)
        return 0;
    for (struct dirent *e = readdir(folder); e; e = readdir(folder))
        n += e->d_name[0] != '.' && strncmp(e->d_name, prefix, strlen(prefix)) == 0;
    (void)closedir(folder);
    return n;
}

static void test_a_good_source(void **state)
{
    struct workshop *w = *state;
    struct build_result r, again;
    struct pkb_error err = {""};
    if (build(w, GOOD, &r, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(r.status, BUILD_OK);
    assert_false(r.cached);
    assert_true(r.seconds > 0);
    void *object = dlopen(r.object, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(object);
    assert_non_null(dlsym(object, "pkb_solution"));
    assert_int_equal(*(const uint32_t *)dlsym(object, "pkb_abi_version"), PKB_ABI_VERSION);
    (void)dlclose(object);
    assert_int_equal(build(w, GOOD, &again, NULL), 0);
    assert_true(again.cached);
    assert_int_equal(again.status, BUILD_OK);
    assert_string_equal(again.object, r.object);
    assert_int_equal(count_entries(w->cache, ""), 1);
}

/* The entry holds its object, log and description, and no rest of the work. */
static void test_what_an_entry_consists_of(void **state)
{
    struct workshop *w = *state;
    struct build_result r;
    char digest[PKB_DIGEST_HEX], key[PKB_DIGEST_HEX], path[256];
    write_source(w, GOOD, digest);
    assert_int_equal(build_key(w->t, digest, key, NULL), 0);
    assert_int_equal(build_lookup(w->cache, key, &r, NULL), 0);
    assert_int_equal(r.status, BUILD_ABSENT);
    assert_int_equal(build_candidate(w->cache, w->t, w->source, digest, &r, NULL), 0);
    (void)snprintf(path, sizeof(path), "%s/%s", w->cache, key);
    assert_int_equal(count_entries(path, ""), 3);
    (void)snprintf(path, sizeof(path), "%s/%s/build.json", w->cache, key);
    json_t *value = pkb_json_read(path, NULL);
    assert_string_equal(json_string_value(json_object_get(value, "outcome")), "ok");
    assert_string_equal(json_string_value(json_object_get(value, "compiler")), w->t->version);
    assert_true(json_array_size(json_object_get(value, "command")) > 5);
    json_decref(value);
}

static void test_sources_that_do_not_compile(void **state)
{
    struct workshop *w = *state;
    static const struct {
        const char *text, *detail;
    } rows[] = {
        {"int pkb_solution( {\n", "candidate.c:1:"},
        {"#include <pkb/no_such_header.h>\n", "no_such_header.h"},
        {"#error \"no \x01\xff way\"\n", "no ?? way"},
        {"\x7f\x45\x4c\x46\x02\x01\n", "error:"},
        {"int f(void) { return undeclared; }\n", "undeclared"},
        {"#include \"candidate.c\"\n", "error:"},
        {"__asm__(\"no such instruction\");\n", "no such instruction"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct build_result r, again;
        assert_int_equal(build(w, rows[i].text, &r, NULL), 0);
        assert_int_equal(r.status, BUILD_COMPILE_ERROR);
        if (!strstr(r.detail, rows[i].detail))
            fail_msg("'%s' is not in '%s'", rows[i].detail, r.detail);
        assert_false(pkb_file_exists(r.object));
        assert_true(pkb_file_exists(r.log));
        assert_int_equal(build(w, rows[i].text, &again, NULL), 0);
        assert_true(again.cached);
        assert_string_equal(again.detail, r.detail);
    }
    assert_int_equal(count_entries(w->cache, "tmp."), 0);
}

static void test_time_and_memory_limits(void **state)
{
    struct workshop *w = *state;
    struct build_result r;
    w->t->limit_seconds = 1;
    assert_int_equal(build(w, "#if __INCLUDE_LEVEL__ < 100\n#include __FILE__\n#include __FILE__\n#endif\n", &r, NULL), 0);
    assert_int_equal(r.status, BUILD_COMPILE_ERROR);
    if (!strstr(r.detail, "limit of 1 s") && !strstr(r.detail, "signal"))
        fail_msg("%s", r.detail);
    w->t->limit_seconds = 120;
    w->t->limit_memory_mb = 256;
    assert_int_equal(build(w,
                           "#define A 1,1,1,1,1,1,1,1,1,1,\n#define B A A A A A A A A A A\n#define C B B B B B B B B B B\n"
                           "#define D C C C C C C C C C C\n#define E D D D D D D D D D D\n#define F E E E E E E E E E E\n"
                           "int a[] = {F F F F F F F F F F};\n",
                           &r, NULL),
                     0);
    assert_int_equal(r.status, BUILD_COMPILE_ERROR);
    if (!strstr(r.detail, "memory") && !strstr(r.detail, "signal"))
        fail_msg("%s", r.detail);
}

static void test_a_flood_of_messages_is_cut_off(void **state)
{
    struct workshop *w = *state;
    struct build_result r;
    struct stat st;
    assert_int_equal(build(w,
                           "#pragma message(\"a message that is not short at all\")\n"
                           "#if __INCLUDE_LEVEL__ < 11\n#include __FILE__\n#include __FILE__\n#endif\n",
                           &r, NULL),
                     0);
    assert_int_equal(r.status, BUILD_OK);
    assert_int_equal(stat(r.log, &st), 0);
    assert_true(st.st_size > 60000 && st.st_size < 70000);
}

static void test_nothing_is_said_about_sources_that_cannot_be_judged(void **state)
{
    struct workshop *w = *state;
    struct build_result r;
    struct pkb_error err;
    char digest[PKB_DIGEST_HEX], file[100];
    write_source(w, GOOD, digest);
    assert_int_equal(pkb_file_write(w->source, GOOD " ", strlen(GOOD) + 1, NULL), 0);
    assert_int_equal(build_candidate(w->cache, w->t, w->source, digest, &r, &err), -1);
    assert_non_null(strstr(err.text, "changed after planning"));
    assert_int_equal(unlink(w->source), 0);
    assert_int_equal(build_candidate(w->cache, w->t, w->source, digest, &r, &err), -1);
    assert_non_null(strstr(err.text, "source.c"));
    assert_int_equal(build_candidate(w->cache, w->t, w->folder, digest, &r, &err), -1);
    write_source(w, GOOD, digest);
    (void)snprintf(file, sizeof(file), "%s/builds", w->source);
    assert_int_equal(build_candidate(file, w->t, w->source, digest, &r, &err), -1);
    free(w->t->compiler);
    w->t->compiler = strdup("/no/such/compiler");
    assert_int_equal(build_candidate(w->cache, w->t, w->source, digest, &r, &err), -1);
    assert_non_null(strstr(err.text, "/no/such/compiler"));
    assert_int_equal(count_entries(w->cache, ""), 0);
}

static void test_damaged_entries(void **state)
{
    struct workshop *w = *state;
    static const char *const rows[] = {
        "",
        "{",
        "[]",
        "{\"format\":2,\"outcome\":\"ok\",\"detail\":\"\",\"seconds\":1.0}",
        "{\"format\":1,\"outcome\":\"fine\",\"detail\":\"\",\"seconds\":1.0}",
        "{\"format\":1,\"outcome\":\"ok\",\"detail\":5,\"seconds\":1.0}",
        "{\"format\":1,\"outcome\":\"ok\",\"detail\":\"\",\"seconds\":1.0}", /* no object */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct build_result r;
        struct pkb_error err;
        char folder[100], path[120];
        (void)snprintf(folder, sizeof(folder), "%s/key%zu", w->cache, i);
        (void)snprintf(path, sizeof(path), "%s/build.json", folder);
        assert_int_equal(pkb_mkdirs(folder, NULL), 0);
        assert_int_equal(pkb_file_write(path, rows[i], strlen(rows[i]), NULL), 0);
        assert_int_equal(build_lookup(w->cache, strrchr(folder, '/') + 1, &r, &err), -1);
        assert_non_null(strstr(err.text, "is damaged"));
        assert_int_equal(r.status, BUILD_ABSENT);
    }
}

static void test_a_folder_without_a_description_is_replaced(void **state)
{
    struct workshop *w = *state;
    struct build_result r;
    char digest[PKB_DIGEST_HEX], key[PKB_DIGEST_HEX], path[256];
    write_source(w, GOOD, digest);
    assert_int_equal(build_key(w->t, digest, key, NULL), 0);
    (void)snprintf(path, sizeof(path), "%s/%s/rest", w->cache, key);
    assert_int_equal(pkb_mkdirs(path, NULL), 0);
    assert_int_equal(build_candidate(w->cache, w->t, w->source, digest, &r, NULL), 0);
    assert_int_equal(r.status, BUILD_OK);
    assert_false(pkb_file_exists(path));
}

static void test_folders_of_killed_builders(void **state)
{
    struct workshop *w = *state;
    struct build_result r;
    char old[120], fresh[120];
    const struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    (void)snprintf(old, sizeof(old), "%s/tmp.old", w->cache);
    (void)snprintf(fresh, sizeof(fresh), "%s/tmp.fresh", w->cache);
    assert_int_equal(pkb_mkdirs(old, NULL), 0);
    assert_int_equal(pkb_mkdirs(fresh, NULL), 0);
    assert_int_equal(utimensat(AT_FDCWD, old, long_ago, 0), 0);
    assert_int_equal(build(w, GOOD, &r, NULL), 0);
    assert_false(pkb_file_exists(old));
    assert_true(pkb_file_exists(fresh));
}

struct builder {
    struct workshop *w;
    const char *digest;
    struct build_result r;
    int rc;
};

static void *race(void *arg)
{
    struct builder *b = arg;
    b->rc = build_candidate(b->w->cache, b->w->t, b->w->source, b->digest, &b->r, NULL);
    return NULL;
}

static void test_builders_may_race(void **state)
{
    struct workshop *w = *state;
    char digest[PKB_DIGEST_HEX];
    struct builder builders[4];
    pthread_t threads[4];
    write_source(w, GOOD, digest);
    for (int i = 0; i < 4; i++) {
        builders[i] = (struct builder){.w = w, .digest = digest};
        assert_int_equal(pthread_create(&threads[i], NULL, race, &builders[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        (void)pthread_join(threads[i], NULL);
        assert_int_equal(builders[i].rc, 0);
        assert_int_equal(builders[i].r.status, BUILD_OK);
        assert_true(pkb_file_exists(builders[i].r.object));
    }
    assert_int_equal(count_entries(w->cache, ""), 1);
}

static void test_what_a_key_depends_on(void **state)
{
    struct workshop *w = *state;
    char keys[6][PKB_DIGEST_HEX];
    assert_int_equal(build_key(w->t, "aa", keys[0], NULL), 0);
    assert_int_equal(build_key(w->t, "ab", keys[1], NULL), 0);
    w->t->version[0] ^= 1;
    assert_int_equal(build_key(w->t, "aa", keys[2], NULL), 0);
    w->t->header[0] ^= 1;
    assert_int_equal(build_key(w->t, "aa", keys[3], NULL), 0);
    w->t->cpu[0] ^= 1;
    assert_int_equal(build_key(w->t, "aa", keys[4], NULL), 0);
    w->t->flags[0][1] ^= 1;
    assert_int_equal(build_key(w->t, "aa", keys[5], NULL), 0);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < i; j++)
            assert_string_not_equal(keys[i], keys[j]);
}

static void test_compilers_that_are_not_there(void **state)
{
    static const struct {
        const char *kind, *cc, *text;
    } rows[] = {
        {"py", NULL, "without Python"},    {"rs", NULL, "unknown"},           {"", NULL, "unknown"},
        {"c", "/no/such/cc", "PKB_CC"},    {"c", "no-such-cc", "no-such-cc"}, {"c", "./relative/cc", "absolute"},
        {"c", "/bin/false", "/bin/false"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pkb_error err;
        if (rows[i].cc)
            assert_int_equal(setenv("PKB_CC", rows[i].cc, 1), 0);
        assert_null(build_toolchain_find(rows[i].kind, &err));
        (void)unsetenv("PKB_CC");
        if (!strstr(err.text, rows[i].text))
            fail_msg("'%s' is not in '%s'", rows[i].text, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_good_source, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_an_entry_consists_of, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sources_that_do_not_compile, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_time_and_memory_limits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_flood_of_messages_is_cut_off, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nothing_is_said_about_sources_that_cannot_be_judged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_entries, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_folder_without_a_description_is_replaced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_folders_of_killed_builders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_builders_may_race, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_a_key_depends_on, set_up, tear_down),
        cmocka_unit_test(test_compilers_that_are_not_there),
    };
    return cmocka_run_group_tests_name("build", tests, NULL, NULL);
}
