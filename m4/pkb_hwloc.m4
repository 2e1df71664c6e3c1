# hwloc describes CPUs for `pkb topo discover`: --with-hwloc=yes (must be there), no, or auto.

AC_DEFUN([PKB_CHECK_HWLOC], [
  AC_ARG_WITH([hwloc], [AS_HELP_STRING([--without-hwloc], [discover CPUs through sysfs alone])], [], [with_hwloc=auto])
  have_hwloc=no
  AS_IF([test "$with_hwloc" != no], [
    PKG_CHECK_MODULES([HWLOC], [hwloc >= 2.0], [have_hwloc=yes], [
      AS_IF([test "$with_hwloc" = yes], [AC_MSG_ERROR([hwloc was asked for but not found; apt-get install libhwloc-dev])])
    ])
  ])
  AM_CONDITIONAL([HAVE_HWLOC], [test "$have_hwloc" = yes])
])
