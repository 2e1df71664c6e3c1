# Where things are installed, what identifies a build, and the summary.

AC_DEFUN([PKB_DIRECTORIES], [
  AC_SUBST([pkblibexecdir], ['${libexecdir}/pkb'])
  AC_SUBST([pkbplugindir], ['${libdir}/pkb'])
  AC_SUBST([pkbsharedir], ['${datadir}/pkb'])
])

# Agents of another build must be noticed, and records say which build made them: build-id.h, which make keeps up to date.
AC_DEFUN([PKB_SET_BUILD_ID], [
  AC_ARG_VAR([PKB_BUILD_ID], [identity of this build, shown by pkb version; default: the git commit, or the version])
  AC_CONFIG_COMMANDS([build-id.h], [PKB_BUILD_ID="$PKB_BUILD_ID" sh "$srcdir/scripts/build-id" build-id.h "$srcdir" "$PACKAGE_VERSION"],
    [PKB_BUILD_ID="$PKB_BUILD_ID" PACKAGE_VERSION="$PACKAGE_VERSION"])
])

AC_DEFUN([PKB_SUMMARY], [
  AC_MSG_NOTICE([
  pkb AC_PACKAGE_VERSION
    prefix        $prefix
    compiler      $CC $CFLAGS
    backends      $pkb_backends
    launchers     $pkb_launchers
    hwloc         $have_hwloc
    unit tests    $have_cmocka
    sanitizers    $enable_sanitizers
    werror        $enable_werror])
])
