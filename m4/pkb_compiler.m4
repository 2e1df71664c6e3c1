# Warnings and sanitizers.

AC_DEFUN([PKB_WARNINGS], [
  AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [make warnings errors])], [], [enable_werror=no])
  PKB_CFLAGS="-std=gnu11 -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wformat=2 -Wvla"
  AS_IF([test "$enable_werror" = yes], [PKB_CFLAGS="$PKB_CFLAGS -Werror"])
  # Static parts are linked into plugins as well as programs.
  PKB_CFLAGS="$PKB_CFLAGS -fPIC -fvisibility=hidden"
  AC_SUBST([PKB_CFLAGS])
])

AC_DEFUN([PKB_ARG_SANITIZERS], [
  AC_ARG_ENABLE([sanitizers], [AS_HELP_STRING([--enable-sanitizers], [build with the address and undefined-behaviour sanitizers])],
    [], [enable_sanitizers=no])
  have_sanitizers=0
  AS_IF([test "$enable_sanitizers" = yes], [
    have_sanitizers=1
    PKB_CFLAGS="$PKB_CFLAGS -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"
    PKB_LDFLAGS="-fsanitize=address,undefined"
  ])
  AC_SUBST([PKB_LDFLAGS])
  AC_DEFINE_UNQUOTED([PKB_SANITIZERS], [$have_sanitizers], [1 when built with sanitizers])
  AM_CONDITIONAL([SANITIZERS], [test "$enable_sanitizers" = yes])
])
