# SPDX-License-Identifier: Apache-2.0
# Compares records with a file of expected outcomes; prints "ok NAME" or "bad NAME: WHY" for each record of a cell, and for each
# candidate STORE/*/*/*.KIND without one whose problem has any.
#
#     awk -v store=STORE -v kind=c -v no_memory=OUTCOME -f outcomes.awk expected.txt records/*.jsonl
#
# no_memory: what takes the place of out_of_memory. The first line of expected.txt that fits a record counts.
function member(name,  text) {
    if (!match($0, "\"" name "\": *(\"[^\"]*\"|-?[0-9]+)"))
        return ""
    text = substr($0, RSTART, RLENGTH)
    sub(/^"[^"]*": */, "", text)
    gsub(/"/, "", text)
    return text
}
function fits(pattern, value) { return pattern == "*" || pattern == value }
function expected(model, problem, sample, device, world,  i) {
    for (i = 1; i <= n; i++)
        if (fits(row[i, 1], model) && fits(row[i, 2], problem) && fits(row[i, 3], sample) && fits(row[i, 5], device) &&
            fits(row[i, 6], world))
            return row[i, 4] == "out_of_memory" ? no_memory : row[i, 4]
    return "a line in expected.txt"
}
FILENAME ~ /expected.txt$/ {
    if (!/^#/ && NF == 6) {
        n++
        for (k = 1; k <= 6; k++)
            row[n, k] = $k
    }
    next
}
member("kind") == "cell" {
    name = member("model") "/" member("problem") "/" member("sample")
    want = expected(member("model"), member("problem"), member("sample"), member("device"), member("world"))
    seen[name] = swept[member("problem")] = 1
    place = sprintf("%s on %s ranks, %s", name, member("world"), member("shape"))
    if (member("outcome") == want)
        print "ok " place
    else
        printf "bad %s: expected %s, got %s: %s\n", place, want, member("outcome"), member("detail")
}
END {
    while (("cd " store " && ls */*/*." kind) | getline file > 0) {
        sub(/\.[a-z]*$/, "", file)
        split(file, part, "/")
        if (part[2] in swept && !(file in seen))
            printf "bad %s: no record\n", file
    }
}
