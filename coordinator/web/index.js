'use strict';
/* The overview: asks /api/v1 for status, sessions and agents every few seconds while it is looked
 * at, and links each session to its pictures. Changes nothing on the coordinator. */

const REFRESH_MS = 3000;
const SESSIONS_SHOWN = 50;
const EXPORTS = ['pprof', 'collapsed', 'speedscope'];
/* labels that have a column of their own, or say too little for the space */
const LABELS_ELSEWHERE = new Set(['host', 'version']);

const byId = (id) => document.getElementById(id);
const chosen = []; /* ids of at most two sessions to compare, in the order of choosing */

async function ask(path) {
    const answer = await fetch('/api/v1/' + path);
    const body = await answer.json();
    if (!answer.ok)
        throw new Error(body.error ? body.error.message : 'HTTP ' + answer.status);
    return body;
}

async function refresh() {
    try {
        const [status, sessions, agents] = await Promise.all([ask('status'), ask('sessions'), ask('agents')]);
        showSummary(status);
        fillTable('sessions', sessions.sessions.slice(0, SESSIONS_SHOWN).map(sessionRow));
        fillTable('agents', agents.agents.map(agentRow));
        document.documentElement.dataset.ready = 'true';
    } catch (e) {
        byId('summary').className = 'bad';
        byId('summary').textContent = 'The coordinator does not answer: ' + e.message;
    }
}

function showSummary(status) {
    const {agents, sessions, store, ingest} = status;
    byId('summary').className = store.disk_full ? 'bad' : 'soft';
    byId('summary').textContent = [
        store.disk_full ? 'the disk is full, chunks wait on their hosts' : 'version ' + status.version,
        `${agents.connected} of ${agents.known} agents connected`,
        `${sessions.running} of ${sessions.total} sessions running`,
        `${formatCount(ingest.samples)} samples since the start`,
        formatBytes(store.catalog_bytes + store.chunk_bytes) + ' stored',
    ].join(' · ');
}

function fillTable(id, rows) {
    const table = byId(id);
    table.tBodies[0].replaceChildren(...rows);
    table.hidden = rows.length === 0;
    table.parentElement.querySelector('.empty').hidden = rows.length > 0;
}

function rowOf(...cells) {
    const row = element('tr');
    row.append(...cells);
    return row;
}

const number = (text) => element('td', 'number', text);

function link(text, href) {
    const a = element('a', '', text);
    a.href = href;
    return a;
}

function sessionRow(s) {
    const id = encodeURIComponent(s.id);
    const open = element('td');
    open.append(link('flame', '/flame?session=' + id),
        ...EXPORTS.map((format) => link(format, `/api/v1/export?session=${id}&format=${format}`)));
    const refused = s.hosts.filter((h) => h.reason).map((h) => `${h.host}: ${h.reason}`);
    const hosts = number(String(s.hosts.length));
    if (refused.length > 0) {
        hosts.classList.add('warn');
        hosts.title = refused.join('\n');
    }
    return rowOf(compareCell(s.id), element('td', '', s.id),
        element('td', s.state === 'running' ? 'good' : 'soft', s.state), element('td', '', s.selector || '*'),
        hosts, number(String(s.hz)), number(formatCount(s.samples)),
        element('td', s.lost > 0 ? 'number warn' : 'number soft', formatCount(s.lost)),
        element('td', 'soft', formatMoment(s.created)), element('td', 'soft', s.owner || ''), open);
}

function compareCell(id) {
    const cell = element('td');
    const box = element('input');
    box.type = 'checkbox';
    box.checked = chosen.includes(id);
    box.setAttribute('aria-label', 'compare session ' + id);
    box.addEventListener('change', () => {
        const at = chosen.indexOf(id);
        if (at >= 0)
            chosen.splice(at, 1);
        else
            chosen.push(id);
        if (chosen.length > 2)
            chosen.shift();
        showCompare();
        refresh();
    });
    cell.append(box);
    return cell;
}

function showCompare() {
    const line = byId('compare');
    line.hidden = chosen.length === 0;
    line.querySelector('a').hidden = chosen.length < 2;
    line.querySelector('span').textContent = chosen.length < 2
        ? `Session ${chosen[0]} is A; choose another for B.`
        : `A is session ${chosen[0]}, B is session ${chosen[1]}.`;
    if (chosen.length === 2)
        line.querySelector('a').href =
            `/flame?a=${encodeURIComponent(chosen[0])}&b=${encodeURIComponent(chosen[1])}`;
}

function agentRow(a) {
    const runs = a.running.map((r) => `${r.event} ${r.hz} Hz${r.reason ? ': ' + r.reason : ''}`).join(', ');
    const labels = Object.entries(a.labels).filter(([key]) => !LABELS_ELSEWHERE.has(key))
        .map(([key, value]) => `${key}=${value}`).join(' ');
    const state = a.connected ? (a.degraded ? 'degraded' : 'connected') : 'away';
    const tone = {connected: 'good', degraded: 'warn', away: 'bad'}[state];
    const dropped = a.spool.dropped_chunks > 0;
    return rowOf(element('td', '', a.host), element('td', tone, state),
        element('td', runs ? '' : 'soft', runs || 'idle'), element('td', 'labels', labels),
        number(String(a.cpus)), number(formatBytes(a.cost.rss_bytes + a.cost.kernel_map_bytes)),
        element('td', dropped ? 'number warn' : 'number',
            formatCount(a.spool.chunks) + (dropped ? ` (${formatCount(a.spool.dropped_chunks)} dropped)` : '')),
        number(formatChange(Math.round(a.clock_offset_ms), formatCount) + ' ms'),
        element('td', 'soft', formatMoment(a.last_seen)));
}

setUpTheme(byId('theme'));
refresh();
setInterval(() => {
    if (!document.hidden)
        refresh();
}, REFRESH_MS);
