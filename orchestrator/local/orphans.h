/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that a dead descendant left behind. The launcher is their "child subreaper" (prctl), so the kernel makes them its
 * children, even when they had left their process group or session. */
#ifndef PKB_ORCHESTRATOR_LOCAL_ORPHANS_H
#define PKB_ORCHESTRATOR_LOCAL_ORPHANS_H

/* Buries orphans that have ended. Children that the caller started stay unreaped if they have a pidfd to be waited for: call this
 * after those have been waited for; it stops at the first one that has ended since. */
void orphans_reap(void);

/* Kills and buries every child of this process until there is none (bounded). For the end, when no child is wanted any more. */
void orphans_kill(void);

#endif
