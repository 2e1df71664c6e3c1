/* SPDX-License-Identifier: Apache-2.0 */
/* pkb topo: descriptions of machines. */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "orchestrator/command.h"
#include "topology/machine.h"
#include "topology/topology.h"
#include "util/suggest.h"

#define KEY_ROOT 256
#define KEY_HWLOC 257

#define N_ACTIONS 4
static const char *const actions[N_ACTIONS] = {"list", "show", "validate", "discover"};
enum action { LIST, SHOW, VALIDATE, DISCOVER };

struct choice {
    int action; /* -1: not given */
    const char *subject;
    const char *folder;
    const char *root, *hwloc_xml;
    const char *name;
    bool json;
};

static void parse_word(struct choice *c, const char *word, struct argp_state *state)
{
    if (c->action >= 0) {
        if (c->subject || c->action == LIST || c->action == DISCOVER)
            argp_error(state, "'%s' is too much", word);
        c->subject = word;
        return;
    }
    for (int i = 0; i < N_ACTIONS; i++)
        if (strcmp(word, actions[i]) == 0)
            c->action = i;
    if (c->action >= 0)
        return;
    const char *near = pkb_suggest(word, actions, N_ACTIONS);
    argp_error(state, "unknown '%s'%s%s%s", word, near ? "; did you mean '" : ": list, show, validate or discover",
               near ? near : "", near ? "'?" : "");
}

static void check_words(struct choice *c, struct argp_state *state)
{
    if (c->action < 0)
        c->action = LIST;
    if (c->action == SHOW && !c->subject)
        argp_error(state, "'show' needs the name of a topology; 'pkb topo list' lists them");
    if (c->action == VALIDATE && !c->subject)
        argp_error(state, "'validate' needs a file");
    if (c->action != DISCOVER && (c->root || c->hwloc_xml || c->name))
        argp_error(state, "--root, --hwloc-xml and --name belong to 'discover'");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct choice *c = state->input;
    switch (key) {
    case 'd':
        c->folder = arg;
        return 0;
    case 'j':
        c->json = true;
        return 0;
    case 'n':
        c->name = arg;
        return 0;
    case KEY_ROOT:
        c->root = arg;
        return 0;
    case KEY_HWLOC:
        c->hwloc_xml = arg;
        return 0;
    case ARGP_KEY_ARG:
        parse_word(c, arg, state);
        return 0;
    case ARGP_KEY_END:
        check_words(c, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int print_json(json_t *value, struct pkb_error *err)
{
    int rc = value ? command_print_json(value, 1, err) : pkb_error_set(err, "out of memory");
    json_decref(value);
    return rc < 0 ? command_fail(PKB_EXIT_SYSTEM, err) : PKB_EXIT_OK;
}

static int print_topology(const struct topology *t, bool json, struct pkb_error *err)
{
    if (json)
        return print_json(topology_encode(t), err);
    if (topology_print(t, stdout) < 0) {
        pkb_error_errno(err, "cannot write to standard output");
        return command_fail(PKB_EXIT_SYSTEM, err);
    }
    return PKB_EXIT_OK;
}

/* ---- list ---------------------------------------------------------------------------------------------------------- */

/* One line, or one object in `list`. The host is named, not measured. */
static int list_one(const char *name, const struct choice *c, json_t *list, struct pkb_error *err)
{
    struct topology t = {.description = "CPUs of this machine, measured when they are asked for"};
    if (strcmp(name, TOPOLOGY_HOST) != 0 && topology_find(name, c->folder, &t, err) < 0)
        return -1;
    if (!c->json)
        printf("%-16s %s\n", name, t.description);
    else if (json_array_append_new(list, json_pack("{s:s, s:s}", "name", name, "description", t.description)) < 0)
        return pkb_error_set(err, "out of memory");
    return 0;
}

static int list(const struct choice *c, struct pkb_error *err)
{
    struct topology_names names;
    json_t *values = json_array();
    int code = PKB_EXIT_OK;
    if (!values || topology_list(c->folder, &names, err) < 0) {
        json_decref(values);
        return values ? command_fail(PKB_EXIT_USAGE, err) : PKB_EXIT_SYSTEM;
    }
    for (size_t i = 0; i < names.n; i++)
        if (list_one(names.names[i], c, values, err) < 0)
            code = command_fail(PKB_EXIT_USAGE, err); /* the others are listed all the same */
    topology_names_clear(&names);
    int printed = c->json ? print_json(json_incref(values), err) : PKB_EXIT_OK;
    json_decref(values);
    return printed != PKB_EXIT_OK ? printed : code;
}

/* ---- show, validate ------------------------------------------------------------------------------------------------ */

static int show(const struct choice *c, struct pkb_error *err)
{
    struct topology t;
    if (topology_find(c->subject, c->folder, &t, err) < 0)
        return command_fail(PKB_EXIT_USAGE, err);
    return print_topology(&t, c->json, err);
}

static int validate(const struct choice *c, struct pkb_error *err)
{
    struct topology t;
    if (topology_read(c->subject, &t, err) < 0)
        return command_fail(PKB_EXIT_USAGE, err);
    if (c->json)
        return print_json(topology_encode(&t), err);
    printf("%s: valid: %s, %d GPUs per node, %d link classes\n", c->subject, t.name, t.gpus_per_node, t.n_links);
    return PKB_EXIT_OK;
}

/* ---- discover ------------------------------------------------------------------------------------------------------ */

static int read_machine(const struct choice *c, struct machine *m, struct pkb_error *err)
{
    if (machine_read(c->root, m, err) < 0)
        return -1;
    /* The hwloc of a captured tree would describe the wrong machine, unless it was captured too. */
    if (c->hwloc_xml && machine_read_hwloc(c->hwloc_xml, m, err) < 0)
        return -1;
    if (!c->root && !c->hwloc_xml)
        (void)machine_read_hwloc(NULL, m, NULL); /* optional: sysfs has said the essential */
    if (!c->root)
        machine_read_driver(m);
    return 0;
}

/* Without GPUs the CPUs are the devices, but only this machine's can be measured. */
static int describe(const struct choice *c, const struct machine *m, struct topology *t, struct pkb_error *err)
{
    if (m->n_gpus > 0)
        return machine_topology(m, c->name ? c->name : "discovered", c->folder, t, err);
    if (c->root)
        return pkb_error_set(err, "there are no GPUs, and the CPUs of another machine cannot be measured");
    if (topology_measure_host(t, err) < 0)
        return -1;
    (void)snprintf(t->name, sizeof(t->name), "%s", c->name ? c->name : "discovered");
    (void)snprintf(t->description, sizeof(t->description),
                   "no GPUs; CPUs, measured: a device is one core, links are shared memory");
    return 0;
}

static int discover(const struct choice *c, struct pkb_error *err)
{
    struct machine m;
    struct topology t;
    if (read_machine(c, &m, err) < 0)
        return command_fail(PKB_EXIT_SYSTEM, err);
    int rc = describe(c, &m, &t, err);
    if (c->json) {
        json_t *v =
            json_pack("{s:o, s:o}", "machine", machine_encode(&m), "topology", rc < 0 ? json_null() : topology_encode(&t));
        int code = print_json(v, rc < 0 ? &(struct pkb_error){""} : err);
        return rc < 0 ? command_fail(PKB_EXIT_USAGE, err) : code;
    }
    machine_print(&m, "# ", stdout);
    return rc < 0 ? command_fail(PKB_EXIT_USAGE, err) : print_topology(&t, false, err);
}

static const struct argp_option options[] = {
    {"dir", 'd', "DIR", 0, "Look for topologies in DIR too, after pkb's own", 0},
    {"json", 'j', NULL, 0, "Print JSON", 0},
    {"name", 'n', "NAME", 0, "Name of the discovered topology (default: discovered)", 0},
    {"root", KEY_ROOT, "DIR", 0, "Discover the machine whose sys/ and proc/ were captured below DIR", 0},
    {"hwloc-xml", KEY_HWLOC, "FILE", 0, "Take CPUs from a topology that hwloc exported", 0},
    {0}};

static const struct argp argp = {options,
                                 parse,
                                 "[list]\nshow NAME\nvalidate FILE\ndiscover",
                                 "Descriptions of machines: peaks, memory, links. Rooflines are computed from them. 'show' "
                                 "prints one as YAML, 'validate' checks a "
                                 "file, 'discover' writes one for this machine.\v" PKB_EXIT_DOC,
                                 NULL,
                                 NULL,
                                 NULL};

int cmd_topo(int argc, char **argv)
{
    static int (*const run[N_ACTIONS])(const struct choice *c, struct pkb_error *err) = {list, show, validate, discover};
    struct choice c = {.action = -1};
    struct pkb_error err;
    argp_parse(&argp, argc, argv, 0, NULL, &c);
    return run[c.action](&c, &err);
}
