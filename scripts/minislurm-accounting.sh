# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# What `minislurm start --accounting` adds: slurmdbd, and a MariaDB of its own. To be sourced by minislurm, whose variables it uses.

has_accounting() { grep -qx "$accounting" "$dir/settings" 2>/dev/null; }

require_accounting() {
    require_programs slurmdbd:slurmdbd mariadbd:mariadb-server-core mariadb-install-db:mariadb-server-core \
        my_print_defaults:mariadb-client-core
}

dbd_settings() {
    cat <<END
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
DbdHost=localhost
DbdPort=$((port + 2))
SlurmUser=root
LogFile=$dir/log/slurmdbd.log
PidFile=$dir/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm_acct
END
}

# Its socket is for root alone, and durability is not wanted.
start_mariadbd() {
    ! alive "$dir/db/pid" mariadbd || return 0
    mkdir -p -m 0700 "$dir/db"
    if [ ! -d "$dir/db/data/mysql" ]; then
        rm -rf "$dir/db/data"
        mariadb-install-db --no-defaults --datadir="$dir/db/data" --auth-root-authentication-method=normal --skip-test-db \
            --skip-name-resolve --user=root --innodb-log-file-size=8M >"$dir/log/mariadb-install.log" 2>&1 ||
            die "MariaDB's tables cannot be made; see $dir/log/mariadb-install.log"
    fi
    (cd / && exec setsid mariadbd --no-defaults --user=root --datadir="$dir/db/data" --socket="$MYSQL_UNIX_PORT" --skip-networking \
        --pid-file="$dir/db/pid" --innodb-log-file-size=8M --innodb-buffer-pool-size=64M --innodb-flush-log-at-trx-commit=0) \
        >"$dir/log/mariadbd.log" 2>&1 </dev/null &
    until_true 20 test -S "$MYSQL_UNIX_PORT" || die "mariadbd does not start; see $dir/log/mariadbd.log"
}

cluster_is_known() { sacctmgr -n -i show cluster minislurm format=cluster | grep -q minislurm || sacctmgr -i add cluster minislurm; }

start_slurmdbd() {
    has_accounting || return 0
    require_accounting
    start_mariadbd
    ! alive "$dir/slurmdbd.pid" slurmdbd || return 0
    (cd / && slurmdbd) >"$dir/log/slurmdbd.out" 2>&1 </dev/null || true
    until_true 10 alive "$dir/slurmdbd.pid" slurmdbd || {
        show_log "$dir/log/slurmdbd.log" 10
        die "slurmdbd does not start; see $dir/log/slurmdbd.log and slurmdbd.out"
    }
    until_true 20 cluster_is_known || die "slurmdbd does not take the cluster; see $dir/log/slurmdbd.log"
}
