# libslurm is needed by the plugin of the launcher `slurm` alone: --with-slurm[=DIR] (must be there), no, or auto.

AC_DEFUN([PKB_CHECK_SLURM], [
  AC_ARG_WITH([slurm], [AS_HELP_STRING([--with-slurm@<:@=DIR@:>@], [submit to Slurm; DIR holds include/slurm/slurm.h (default: if found)])],
    [], [with_slurm=auto])
  have_slurm=no
  SLURM_CFLAGS=
  SLURM_LIBS=-lslurm
  AS_CASE([$with_slurm], [yes|no|auto], [], [
    SLURM_CFLAGS="-I$with_slurm/include"
    SLURM_LIBS="-L$with_slurm/lib -L$with_slurm/lib64 -Wl,-rpath,$with_slurm/lib:$with_slurm/lib64 -lslurm"
  ])
  AS_IF([test "$with_slurm" != no], [
    pkb_cppflags=$CPPFLAGS pkb_libs=$LIBS
    CPPFLAGS="$CPPFLAGS $SLURM_CFLAGS" LIBS="$LIBS $SLURM_LIBS"
    AC_MSG_CHECKING([for libslurm])
    AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <slurm/slurm.h>]], [[slurm_init(0);]])], [have_slurm=yes])
    AC_MSG_RESULT([$have_slurm])
    AS_IF([test "$have_slurm" = yes], [
      AC_CHECK_MEMBERS([submit_response_msg_t.job_id], [], [], [[#include <slurm/slurm.h>]])
      AC_CHECK_DECLS([slurm_free_ctl_conf], [], [], [[#include <slurm/slurm.h>]])
    ])
    CPPFLAGS=$pkb_cppflags LIBS=$pkb_libs
    AS_IF([test "$have_slurm" = no && test "$with_slurm" != auto],
      [AC_MSG_ERROR([Slurm was asked for but slurm/slurm.h and libslurm (22.05 or later) were not found; apt-get install libslurm-dev])])
  ])
  AC_SUBST([SLURM_CFLAGS])
  AC_SUBST([SLURM_LIBS])
  AM_CONDITIONAL([HAVE_SLURM], [test "$have_slurm" = yes])
  AS_IF([test "$have_slurm" = yes], [pkb_launchers="local slurm"], [pkb_launchers=local])
])
