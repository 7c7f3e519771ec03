'use strict';
/* Numbers as people read them; the pages share it. */

const grouped = new Intl.NumberFormat('en-US');

function formatCount(value) {
    return grouped.format(Math.round(value));
}

/* Cores, to a thousandth; a value below that is not rounded to nothing. */
function formatCores(value) {
    const size = Math.abs(value);
    if (size === 0)
        return '0';
    if (size >= 1000)
        return formatCount(value);
    if (size >= 10)
        return value.toFixed(2);
    if (size >= 0.001)
        return value.toFixed(3);
    return size >= 0.0001 ? value.toFixed(4) : '<0.0001';
}

function formatPercent(share) {
    const percent = share * 100;
    if (!Number.isFinite(percent))
        return '–';
    if (percent > 0 && percent < 0.01)
        return '<0.01%';
    return percent.toFixed(Math.abs(percent) < 9.995 ? 2 : 1) + '%';
}

/* CPU time: milliseconds up to ten seconds, then the larger units. */
function formatTime(ns) {
    const ms = ns / 1e6;
    const size = Math.abs(ms);
    if (size < 10)
        return ms.toFixed(2) + ' ms';
    if (size < 10000)
        return formatCount(ms) + ' ms';
    if (size < 600e3)
        return (ms / 1000).toFixed(1) + ' s';
    if (size < 36e6)
        return (ms / 60e3).toFixed(1) + ' min';
    return formatCount(ms / 3600e3) + ' h';
}

/* A number with its sign, by `format`. */
function formatChange(value, format) {
    if (value === 0)
        return '0';
    return (value > 0 ? '+' : '−') + format(Math.abs(value));
}

/* "2026-11-30T21:00:00.000Z" as "2026-11-30 21:00:00". */
function formatMoment(text) {
    return text ? text.slice(0, 19).replace('T', ' ') : '–';
}

function formatBytes(bytes) {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let unit = 0;
    while (bytes >= 1024 && unit < units.length - 1) {
        bytes /= 1024;
        unit++;
    }
    return (unit === 0 ? String(bytes) : bytes.toFixed(1)) + ' ' + units[unit];
}

/* An element with a class and a text: element('td', 'number', '12'). */
function element(tag, className, text) {
    const e = document.createElement(tag);
    if (className)
        e.className = className;
    if (text !== undefined)
        e.textContent = text;
    return e;
}

/* Light, dark, or as the system says; the choice is kept where storage is allowed. */
function setUpTheme(button) {
    const root = document.documentElement;
    const isDark = () => root.dataset.theme
        ? root.dataset.theme === 'dark'
        : matchMedia('(prefers-color-scheme: dark)').matches;
    const remember = (theme) => {
        try {
            localStorage.setItem('fleetprof-theme', theme);
        } catch {
            /* a page from a file may have no storage: the choice lasts as long as the page */
        }
    };
    try {
        const kept = localStorage.getItem('fleetprof-theme');
        if (kept)
            root.dataset.theme = kept;
    } catch {
        /* as above */
    }
    button.addEventListener('click', () => {
        root.dataset.theme = isDark() ? 'light' : 'dark';
        remember(root.dataset.theme);
        document.dispatchEvent(new Event('themechange'));
    });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () =>
        document.dispatchEvent(new Event('themechange')));
    return isDark;
}
