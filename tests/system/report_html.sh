#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The HTML report in a real browser: no error on its console, nothing executed from names, tables that sort, plots with size. Skipped
# (77) without chromium; PKB_CHROMIUM names another one.
# shellcheck disable=SC2016,SC2154
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

browser=${PKB_CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
if [ -z "$browser" ]; then
    echo "chromium is not installed (scripts/install-packages extra)"
    exit 77
fi
if ! "$browser" --version >/dev/null 2>&1; then
    echo "$browser does not run (Ubuntu's package of it is an empty one)"
    exit 77
fi

# visit PAGE OPTION...: $out is the document after its scripts have run, $err what the browser said.
visit() {
    local page=$1
    shift
    run "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$tmp/profile" --enable-logging=stderr \
        --v=0 --virtual-time-budget=2000 "$@" --dump-dom "file://$page"
}

"$build/tests/unit/report_dump" "$tmp"

# The page itself.
visit "$tmp/report.html"
expect "the browser shows the report" 0 '</html>'
check "nothing on the console" bash -c '! grep -E "CONSOLE|Uncaught|Refused" "$0"' "$tmp/stderr"
check "every header of a table is a button" bash -c '[ "$(grep -o "<th scope=\"col\"" "$0" | wc -l)" -eq "$(grep -o "<button type=\"button\"" "$0" | wc -l)" ]' "$tmp/stdout"

# What people do with it: a script at its end clicks, looks, and writes what it saw into the document.
cat >"$tmp/probe.js" <<'PROBE'
const seen = [];
const table = document.getElementById('t-problems'), heads = Array.from(table.tHead.rows[0].cells);
const column = heads.findIndex(head => head.textContent.startsWith('speedup'));
const numbers = () => Array.from(table.tBodies[0].rows).map(row => row.cells[column].dataset.v).filter(v => v !== undefined).map(Number);
const sorted = (list, sign) => list.every((v, i) => i === 0 || sign * (v - list[i - 1]) >= 0);
heads[column].querySelector('button').click();
seen.push('ascending ' + (sorted(numbers(), 1) && heads[column].getAttribute('aria-sort') === 'ascending'));
heads[column].querySelector('button').click();
seen.push('descending ' + (sorted(numbers(), -1) && heads[column].getAttribute('aria-sort') === 'descending'));
seen.push('rows ' + table.tBodies[0].rows.length);
const plots = Array.from(document.querySelectorAll('svg'));
seen.push('plots ' + plots.every(svg => svg.getBoundingClientRect().height > 40 && svg.querySelector('title').textContent));
const inside = plots.every(svg => { const box = svg.getBoundingClientRect();
  return Array.from(svg.querySelectorAll('path.mark, rect')).every(part => { const b = part.getBoundingClientRect();
    return b.left >= box.left - 1 && b.right <= box.right + 1 && b.top >= box.top - 1 && b.bottom <= box.bottom + 1; }); });
seen.push('inside ' + inside);
seen.push('wide ' + (document.documentElement.scrollWidth > window.innerWidth));
const rgb = color => color.match(/\d+(\.\d+)?/g).slice(0, 3).map(Number);
const light = c => { const [r, g, b] = rgb(c).map(v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const back = light(getComputedStyle(document.body).backgroundColor);
const contrast = e => { const f = light(getComputedStyle(e).color); return (Math.max(f, back) + 0.05) / (Math.min(f, back) + 0.05); };
const texts = ['h1', '.soft', 'a', '.good', '.fair', '.bad', '.faint', 'caption .note'].map(s => document.querySelector(s)).filter(e => e);
seen.push('contrast ' + texts.every(e => contrast(e) >= 4.5));
seen.push('dark ' + matchMedia('(prefers-color-scheme: dark)').matches + (back < 0.2));
const note = document.createElement('pre');
note.textContent = seen.map(line => 'SEEN ' + line).join('\n');
document.body.append(note);
PROBE
{ sed 's/<\/body>//;s/<\/html>//' "$tmp/report.html" && printf '<script>\n' && cat "$tmp/probe.js" && printf '</script></body></html>\n'; } >"$tmp/probed.html"
visit "$tmp/probed.html" --window-size=1200,900
for what in 'ascending true' 'descending true' 'rows 30' 'plots true' 'inside true' 'wide false' 'contrast true' 'dark falsefalse'; do
    says "light: $what" "SEEN $what"
done
visit "$tmp/probed.html" --window-size=500,900 --blink-settings=preferredColorScheme=0
for what in 'wide false' 'contrast true' 'dark truetrue'; do
    says "dark, narrow: $what" "SEEN $what"
done
check "no name of a model was executed" bash -c '! grep -qF "<script>alert" "$0"' "$tmp/stdout"
finish
