/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/doctor.h"
#include "orchestrator/slurm/api.h"
#include "orchestrator/slurm/mpi.h"
#include "orchestrator/slurm/srun.h"

#define QUEUE_SECONDS 60 /* that the world may wait for its nodes */
#define WORLD_SECONDS 180

static void ignore(void *arg, const struct slurm_state *s)
{
    (void)arg;
    (void)s;
}

/* Nothing needs it: without it, times of jobs that slurmctld has forgotten are not known. */
static void check_accounting(struct doctor *d, const struct slurm_api *api)
{
    struct pkb_error err = {""};
    const uint32_t any = 1;
    int rc = api->past(&any, 1, 0, ignore, NULL, &err);
    if (rc < 0)
        doctor_add(d, DOCTOR_NOTE, "accounting", "is slurmdbd up (sacctmgr ping)? Runs do without; status and explain know less",
                   "%s", err.text);
    else
        doctor_add(d, DOCTOR_OK, "accounting", "", "%s",
                   rc == 0 ? "slurmdbd answers" : "there is no slurmdbd; jobs are known until slurmctld forgets them");
}

static bool check_controller(struct doctor *d)
{
    struct pkb_error err = {""};
    struct slurm_limits limits = {0};
    const struct slurm_api *api = slurm_api_load(&err);
    if (!api) {
        doctor_add(d, DOCTOR_BAD, "Slurm", "libslurm and slurm.conf are needed where jobs are submitted", "%s", err.text);
        return false;
    }
    if (api->limits(&limits, &err) < 0) {
        doctor_add(d, DOCTOR_BAD, "Slurm", "is slurmctld up (scontrol ping), and munged on this machine (munge -n | unmunge)?",
                   "%s", err.text);
        return false;
    }
    doctor_add(d, DOCTOR_OK, "Slurm", "", "slurmctld answers; MaxArraySize %u", limits.max_array);
    check_accounting(d, api);
    return true;
}

static bool check_pmix(struct doctor *d, const char *mpi)
{
    struct pkb_error err = {""};
    int rc = slurm_mpi_check(mpi, &err);
    if (rc == 0)
        doctor_add(d, DOCTOR_OK, "PMIx", "", "srun offers --mpi=%s", mpi);
    else
        doctor_add(d, DOCTOR_BAD, "PMIx", rc > 0 ? "install Slurm's client commands here" : "", "%s", err.text);
    return rc == 0;
}

static int add_option(struct words *w, const char *name, const char *value, struct pkb_error *err)
{
    return value ? words_add(w, err, "--%s=%s", name, value) : 0;
}

/* An allocation of its own, as an array task of the sweep would get it. */
static int allocation(const struct slurm_settings *s, int nodes, int ranks, bool gpus, struct words *w, struct pkb_error *err)
{
    const struct {
        const char *name, *value;
    } same[] = {{"partition", s->partition},   {"account", s->account},         {"qos", s->qos},        {"mpi", s->mpi},
                {"constraint", s->constraint}, {"reservation", s->reservation}, {"exclude", s->exclude}};
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
        if (add_option(w, same[i].name, same[i].value, err) < 0)
            return -1;
    if (words_add(w, err, "--nodes=%d", nodes) < 0 || words_add(w, err, "--ntasks-per-node=%d", ranks / nodes) < 0 ||
        words_add(w, err, "--time=5") < 0 || words_add(w, err, "--immediate=%d", QUEUE_SECONDS) < 0 ||
        words_add(w, err, "--job-name=pkb-doctor") < 0)
        return -1;
    if (gpus && words_add(w, err, "--gres=%s:%d", s->gpu ? s->gpu : "gpu", ranks / nodes) < 0)
        return -1;
    for (size_t i = 0; i < s->srun_options.n; i++)
        if (words_add(w, err, "%s", s->srun_options.list[i]) < 0)
            return -1;
    return 0;
}

void doctor_slurm(struct doctor *d, const struct slurm_settings *s, int nodes, const char *folder, bool gpus)
{
    struct pkb_error err = {""};
    struct words options = WORDS_NONE;
    struct launcher srun;
    if (!check_controller(d) || !check_pmix(d, s->mpi))
        return;
    int ranks = gpus ? nodes * s->ranks_per_node : nodes * 2;
    slurm_srun_launcher(&srun, &options);
    struct doctor_world w = {.launcher = &srun, .ranks = ranks, .folder = folder, .seconds = WORLD_SECONDS, .gpus = gpus};
    if (allocation(s, nodes, ranks, gpus, &options, &err) < 0)
        doctor_add(d, DOCTOR_BAD, "world", "", "%s", err.text);
    else
        doctor_start_world(d, &w);
    words_clear(&options);
}
