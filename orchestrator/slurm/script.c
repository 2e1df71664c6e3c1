/* SPDX-License-Identifier: Apache-2.0 */
#include "orchestrator/slurm/script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For the shell and for sbatch's own reader alike. */
static void print_quoted(FILE *f, const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=./:,%@";
    if (*word && word[strspn(word, plain)] == '\0') {
        (void)fputs(word, f);
        return;
    }
    (void)fputc('\'', f);
    for (const char *p = word; *p; p++)
        (void)fputs(*p == '\'' ? "'\\''" : (char[]){*p, '\0'}, f);
    (void)fputc('\'', f);
}

static void print_text(FILE *f, const char *option, const char *value)
{
    if (!value)
        return;
    (void)fprintf(f, "#SBATCH --%s=", option);
    print_quoted(f, value);
    (void)fputc('\n', f);
}

static void print_number(FILE *f, const char *option, int value)
{
    if (value > 0)
        (void)fprintf(f, "#SBATCH --%s=%d\n", option, value);
}

static void print_options(FILE *f, const struct slurm_job *j)
{
    print_text(f, "job-name", j->name);
    print_text(f, "comment", j->comment);
    print_text(f, "array", j->array);
    print_text(f, "dependency", j->dependency);
    print_text(f, "partition", j->partition);
    print_text(f, "account", j->account);
    print_text(f, "qos", j->qos);
    print_text(f, "constraint", j->constraint);
    print_text(f, "reservation", j->reservation);
    print_text(f, "exclude", j->exclude);
    print_number(f, "nodes", j->nodes);
    print_number(f, "ntasks", j->ranks);
    print_number(f, "ntasks-per-node", j->ranks_per_node);
    print_number(f, "cpus-per-task", j->cpus_per_rank);
    print_number(f, "mem", j->memory_mb);
    if (j->gpu)
        (void)fprintf(f, "#SBATCH --gres=%s:%d\n", j->gpu, j->ranks_per_node);
    print_number(f, "time", j->minutes);
    if (j->signal_seconds > 0)
        (void)fprintf(f, "#SBATCH --signal=B:USR1@%d\n", j->signal_seconds);
    if (j->exclusive)
        (void)fputs("#SBATCH --exclusive\n", f);
    (void)fputs(j->requeue ? "#SBATCH --requeue\n" : "#SBATCH --no-requeue\n", f);
    (void)fputs("#SBATCH --open-mode=append\n", f);
    print_text(f, "chdir", j->work_dir);
    print_text(f, "output", j->output);
}

char *slurm_script_make(const struct slurm_job *job, const char *title, const struct words *prolog, const struct words *command,
                        struct pkb_error *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    if (!f) {
        pkb_error_errno(err, "batch script");
        return NULL;
    }
    (void)fprintf(f, "#!/bin/sh\n# %s\n# By hand: sbatch THIS-FILE\n", title);
    print_options(f, job);
    (void)fputc('\n', f);
    for (size_t i = 0; prolog && i < prolog->n; i++)
        (void)fprintf(f, "%s\n", prolog->list[i]);
    (void)fputs("exec", f);
    for (size_t i = 0; i < command->n; i++) {
        (void)fputc(' ', f);
        print_quoted(f, command->list[i]);
    }
    (void)fputc('\n', f);
    if (fclose(f) == 0)
        return text;
    pkb_error_errno(err, "batch script");
    free(text);
    return NULL;
}
