# The libraries that every build needs. Missing ones are named together, with the Debian packages that bring them.

AC_DEFUN([PKB_REQUIRE], [
  PKG_CHECK_MODULES([$1], [$2], [], [pkb_missing="$pkb_missing $3"])
])

AC_DEFUN([PKB_CHECK_LIBRARIES], [
  pkb_missing=
  PKB_REQUIRE([LUA], [lua5.4], [liblua5.4-dev])
  PKB_REQUIRE([YAML], [yaml-0.1], [libyaml-dev])
  PKB_REQUIRE([PMIX], [pmix >= 4.0], [libpmix-dev])
  PKB_REQUIRE([UCX], [ucx >= 1.12], [libucx-dev])
  PKB_REQUIRE([OPENBLAS], [openblas], [libopenblas-dev])
  PKB_REQUIRE([FFTW], [fftw3f], [libfftw3-dev])
  PKB_REQUIRE([JANSSON], [jansson >= 2.13], [libjansson-dev])
  PKB_REQUIRE([SQLITE], [sqlite3 >= 3.35], [libsqlite3-dev])
  PKB_REQUIRE([CRYPTO], [libcrypto >= 3.0], [libssl-dev])
  AS_IF([test -n "$pkb_missing"],
    [AC_MSG_ERROR([libraries are missing; on Debian or Ubuntu: apt-get install$pkb_missing])])
])
