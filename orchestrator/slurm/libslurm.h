/* SPDX-License-Identifier: Apache-2.0 */
/* slurm.h, and what differs between its versions (22.05 to 26.05), one shim per difference. For the sources of
 * plugins/launcher_slurm.so alone. */
#ifndef PKB_ORCHESTRATOR_SLURM_LIBSLURM_H
#define PKB_ORCHESTRATOR_SLURM_LIBSLURM_H

/* From 26.05 on jobs are named by slurm_step_id_t; with this their numbers will do, as before. */
#define SLURM_BACKWARD_COMPAT

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurmdb.h>

#include "config.h"

/* List and ListIterator; pointers to list_t and list_itr_t from 23.02 on. */
typedef __typeof__(slurm_list_create(NULL)) libslurm_list;
typedef __typeof__(slurm_list_iterator_create(NULL)) libslurm_each;

/* Exported, but in no header; the second name from 24.05 on. */
extern char *slurm_job_reason_string(uint32_t reason) __attribute__((weak));
extern char *slurm_job_state_reason_string(uint32_t reason) __attribute__((weak));

static inline const char *libslurm_reason(uint32_t reason)
{
    return slurm_job_state_reason_string ? slurm_job_state_reason_string(reason)
           : slurm_job_reason_string     ? slurm_job_reason_string(reason)
                                         : "";
}

static inline uint32_t libslurm_submitted(const submit_response_msg_t *answer)
{
#ifdef HAVE_SUBMIT_RESPONSE_MSG_T_JOB_ID
    return answer->job_id;
#else
    return answer->step_id.job_id; /* 25.11 */
#endif
}

static inline void libslurm_free_conf(slurm_conf_t *conf)
{
#if HAVE_DECL_SLURM_FREE_CTL_CONF
    slurm_free_ctl_conf(conf);
#else
    slurm_free_conf(conf);         /* 26.05 */
#endif
}

#endif
