# Unit tests need cmocka: --with-cmocka=yes (must be there), no, or auto.

AC_DEFUN([PKB_CHECK_TESTS], [
  AC_ARG_WITH([cmocka], [AS_HELP_STRING([--without-cmocka], [do not build the unit tests])], [], [with_cmocka=auto])
  have_cmocka=no
  AS_IF([test "$with_cmocka" != no], [
    PKG_CHECK_MODULES([CMOCKA], [cmocka], [have_cmocka=yes], [
      AS_IF([test "$with_cmocka" = yes], [AC_MSG_ERROR([cmocka was asked for but not found; apt-get install libcmocka-dev])])
    ])
  ])
  AM_CONDITIONAL([HAVE_CMOCKA], [test "$have_cmocka" = yes])
])
