# Where things are installed, what identifies a build, and the summary.

AC_DEFUN([PKB_DIRECTORIES], [
  AC_SUBST([pkblibexecdir], ['${libexecdir}/pkb'])
  AC_SUBST([pkbplugindir], ['${libdir}/pkb'])
  AC_SUBST([pkbsharedir], ['${datadir}/pkb'])
])

# Agents of another build must be noticed: the id is the commit that was configured, the version outside a git checkout, or
# PKB_BUILD_ID of the environment (packagers).
AC_DEFUN([PKB_SET_BUILD_ID], [
  AC_ARG_VAR([PKB_BUILD_ID], [identity of this build, shown by pkb version; default: the git commit, or the version])
  AS_IF([test -z "$PKB_BUILD_ID"], [
    PKB_BUILD_ID=`cd "$srcdir" && git describe --always --dirty --abbrev=12 2>/dev/null`
    AS_IF([test -z "$PKB_BUILD_ID"], [PKB_BUILD_ID=AC_PACKAGE_VERSION])
  ])
  AC_DEFINE_UNQUOTED([PKB_BUILD_ID], ["$PKB_BUILD_ID"], [identity of this build])
])

AC_DEFUN([PKB_SUMMARY], [
  AC_MSG_NOTICE([
  pkb AC_PACKAGE_VERSION ($PKB_BUILD_ID)
    prefix        $prefix
    compiler      $CC $CFLAGS
    backends      $pkb_backends
    launchers     $pkb_launchers
    hwloc         $have_hwloc
    unit tests    $have_cmocka
    sanitizers    $enable_sanitizers
    werror        $enable_werror])
])
